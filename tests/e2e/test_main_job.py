"""The main job, end to end: a fake machine, the real command line, the real uv, a replica of the indexes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest
from world import MACHINES, TAG, World, tree

from replica import Behaviour, Card, StubWheel

CARDS = {
    "gtx1080ti": Card("NVIDIA GeForce GTX 1080 Ti", (6, 1)),
    "gtx1080": Card("NVIDIA GeForce GTX 1080", (6, 1)),
    "rtx4090": Card("NVIDIA GeForce RTX 4090", (8, 9)),
    "v100": Card("Tesla V100-SXM2-16GB", (7, 0)),
    "rtx5090": Card("NVIDIA GeForce RTX 5090", (12, 0)),
}


def works(*names: str) -> Behaviour:
    return Behaviour("works-cuda", cards=tuple(CARDS[name] for name in names))


@pytest.mark.parametrize(
    ("machine", "cards", "torch", "torchvision"),
    [
        ("gtx1080ti-580-closed", ("gtx1080ti",), "2.14.1+cu126", "0.29.1+cu126"),
        ("rtx4090-580-open", ("rtx4090",), "2.15.0+cu132", "0.29.2+cu132"),
        ("rtx4090-535", ("rtx4090",), "2.14.1+cu126", "0.29.1+cu126"),
        ("gtx1080-rtx4090", ("gtx1080", "rtx4090"), "2.14.1+cu126", "0.29.1+cu126"),
        ("v100-rtx5090", ("rtx5090",), "2.15.0+cu132", "0.29.2+cu132"),
        ("cpu-only", (), "2.14.1+cpu", "0.29.1+cpu"),
    ],
)
def test_installs_the_right_pair(
    make_world, machine: str, cards: tuple[str, ...], torch: str, torchvision: str
) -> None:
    world: World = make_world(works(*cards) if cards else None)
    done = world.install(machine, "torch", "torchvision")
    assert done.returncode == 0, done.stdout + done.stderr
    assert world.versions()["torch"] == torch
    assert world.versions()["torchvision"] == torchvision
    assert "Verified" in done.stdout


def test_the_default_pair_of_the_release_before(make_world) -> None:
    world: World = make_world(works("rtx4090"))
    done = world.install("rtx4090-580-open", "torch==2.14.1", "torchvision")
    assert done.returncode == 0, done.stdout + done.stderr
    assert world.versions()["torch"] == "2.14.1+cu130"
    assert world.versions()["torchvision"] == "0.29.1+cu130"


def test_volta_beside_blackwell_by_declaration(make_world) -> None:
    """No kernel module drives both, but a fleet may have one kind of machine each and one environment for both."""
    world: World = make_world(works("v100", "rtx5090"))
    cards = ("--gpu", "V100", "--gpu", "RTX 5090", "--driver", "575.51.03")
    done = world.run("--venv", str(world.venv), *cards, "torch", "torchvision")
    assert done.returncode == 0, done.stdout + done.stderr
    assert world.versions()["torch"] == "2.10.0+cu128"
    assert world.versions()["torchvision"] == "0.25.0+cu128"


def test_the_plan_of_a_card_that_no_wheel_serves_with_the_other(world: World) -> None:
    done = world.run("plan", "--gpu", "GTX 1080", "--gpu", "RTX 5090", "--driver", "580.95.05", "--json", "torch")
    plan = json.loads(done.stdout)
    assert done.returncode == 3
    assert plan["outcome"] == "blocked"
    assert [(p["gpu"], p["torch"], p["variant"]) for p in plan["per_device"]] == [
        (0, "2.14.1", "cu126"),
        (1, "2.15.0", "cu132"),
    ]


def test_a_driver_that_dropped_the_card(world: World) -> None:
    done = world.run("plan", "--gpu", "GTX 1080 Ti", "--driver", "590.48.01", "torch")
    assert done.returncode == 3
    assert "no longer supports" in done.stdout
    assert "580" in done.stdout


def test_windows_is_planned_from_here(world: World) -> None:
    done = world.run(
        "plan", "--os", "windows", "--gpu", "RTX 5090", "--driver", "572.16", "--json", "torch", "--offline"
    )
    plan = json.loads(done.stdout)
    assert (plan["torch"], plan["variant"], plan["platform"]) == ("2.11.0", "cu128", "win_amd64")


def test_another_package_comes_from_the_default_index_in_the_same_call(make_world) -> None:
    world: World = make_world(works("gtx1080ti"))
    done = world.install("gtx1080ti-580-closed", "torch", "transformers")
    assert done.returncode == 0, done.stdout + done.stderr
    assert world.versions()["transformers"] == "4.60.0"
    assert world.versions()["torch"] == "2.14.1+cu126"


def test_a_wrong_build_is_replaced_though_its_version_looks_right(make_world, uv_binary: str) -> None:
    world: World = make_world(works("rtx4090"))
    cpu = StubWheel(name="torch", version="2.15.0", python=TAG, platform="manylinux_2_17_x86_64", variant="cpu")
    folder = world.folder / "wheels"
    world.replica.flat_dir(folder, cpu)
    subprocess.run([uv_binary, "venv", "-q", "--python", sys.executable, world.venv], check=True)
    place = ["--python", str(world.venv), "--no-index", "--find-links", str(folder)]
    subprocess.run([uv_binary, "pip", "install", "-q", *place, "torch"], check=True)
    assert world.versions()["torch"] == "2.15.0+cpu"
    done = world.install("rtx4090-580-open", "torch")
    assert done.returncode == 0, done.stdout + done.stderr
    assert world.versions()["torch"] == "2.15.0+cu132"


def test_what_works_stays_and_is_verified(make_world) -> None:
    world: World = make_world(works("rtx4090"))
    assert world.install("rtx4090-580-open", "torch==2.13.*").returncode == 0
    before = tree(world.venv)
    again = world.install("rtx4090-580-open", "torch")
    assert again.returncode == 0, again.stdout + again.stderr
    assert "Verified" in again.stdout
    assert tree(world.venv) == before
    upgraded = world.install("rtx4090-580-open", "torch", "--upgrade")
    assert upgraded.returncode == 0, upgraded.stdout + upgraded.stderr
    assert world.versions()["torch"] == "2.15.0+cu132"


@pytest.mark.parametrize(
    ("behaviour", "step", "cause"),
    [
        ("no-kernel-image", "kernel", "no-kernel-image"),
        ("segfault", "kernel", "crash"),
        ("hang", "kernel", "hang"),
        ("cpu-build", "versions", "cpu-build"),
    ],
)
def test_a_build_that_fails_its_proof_is_taken_back(make_world, behaviour: str, step: str, cause: str) -> None:
    world: World = make_world(Behaviour(behaviour, cards=(CARDS["rtx4090"],)))
    done = world.install("rtx4090-580-open", "torch", "--json", TORCHINSTALL_VERIFY_TIMEOUT="6")
    assert done.returncode == 6, done.stdout + done.stderr
    result = json.loads(done.stdout)
    assert result["restored"] is True
    assert result["verdict"]["outcome"] == "failed"
    assert result["verdict"]["cause"] == cause
    assert result["verdict"]["step"] == step
    assert not world.venv.exists(), "an environment that this run made is gone again"


def test_a_failed_upgrade_leaves_the_old_build_untouched(make_world) -> None:
    def acting(build):
        return Behaviour("segfault", cards=(CARDS["rtx4090"],)) if build.torch == "2.15.0" else works("rtx4090")

    world: World = make_world(acting)
    assert world.install("rtx4090-580-open", "torch==2.13.0", "torchvision").returncode == 0
    before = tree(world.venv)
    done = world.install("rtx4090-580-open", "torch", "torchvision", "--upgrade")
    assert done.returncode == 6, done.stdout + done.stderr
    assert "as it was" in done.stdout
    assert tree(world.venv) == before
    kept = world.install("rtx4090-580-open", "torch", "torchvision", "--upgrade", "--keep")
    assert kept.returncode == 6
    assert world.versions()["torch"] == "2.15.0+cu132"


def test_an_older_torch_is_not_put_in_unasked(make_world) -> None:
    """A Pascal card with 2.15.0: the right build is older, which only a yes or a version allows."""
    world: World = make_world(works("gtx1080ti"))
    assert world.install("rtx4090-580-open", "torch", "--no-verify").returncode == 0
    before = tree(world.venv)
    refused = world.install("gtx1080ti-580-closed", "torch")
    assert refused.returncode == 2, refused.stdout + refused.stderr
    assert "older" in refused.stderr
    assert tree(world.venv) == before
    done = world.install("gtx1080ti-580-closed", "torch", "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    assert world.versions()["torch"] == "2.14.1+cu126"


def test_an_unreachable_index_is_known_in_seconds(world: World) -> None:
    import time

    world.point_at("http://127.0.0.1:9/whl")
    began = time.monotonic()
    done = world.install("gtx1080ti-580-closed", "torch")
    assert done.returncode == 8, done.stdout + done.stderr
    assert "can't be reached" in done.stdout
    assert time.monotonic() - began < 10
    assert not world.venv.exists()


def test_a_folder_of_wheels_stands_in_for_an_unreachable_index(make_world) -> None:
    world: World = make_world()
    wheel = StubWheel(name="torch", version="2.13.0+cpu", python=TAG, platform="manylinux_2_17_x86_64")
    folder = world.folder / "wheels"
    world.replica.flat_dir(folder, wheel)
    world.point_at("http://127.0.0.1:9/whl")
    for variable in ("PIP_FIND_LINKS", "UV_FIND_LINKS"):
        done = world.install("cpu-only", "torch", **{variable: str(folder)})
        assert done.returncode == 0, done.stdout + done.stderr
        assert world.versions()["torch"] == "2.13.0+cpu"
        assert str(folder) in done.stdout
        shutil.rmtree(world.venv)


def test_settings_of_the_current_directory_do_not_leak(make_world) -> None:
    world: World = make_world(works("gtx1080ti"))
    (world.folder / "uv.toml").write_text('index-url = "http://127.0.0.1:9/nowhere"\n', "utf-8")
    (world.folder / "pyproject.toml").write_text(
        '[project]\nname="x"\nversion="0"\n[tool.uv]\nconstraint-dependencies = ["torch<2"]\n', "utf-8"
    )
    done = world.install("gtx1080ti-580-closed", "torch", UV_TORCH_BACKEND="cpu", UV_NO_CONFIG="0")
    assert done.returncode == 0, done.stdout + done.stderr
    assert world.versions()["torch"] == "2.14.1+cu126"


def test_dry_run_changes_nothing(make_world) -> None:
    world: World = make_world(works("rtx4090"))
    done = world.install("rtx4090-580-open", "torch", "--dry-run")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "+ torch 2.15.0" in done.stdout
    assert not world.venv.exists()


def test_a_declared_card_is_installed_for_with_yes(make_world) -> None:
    world: World = make_world(works("rtx4090"))
    words = ("--venv", str(world.venv), "--gpu", "GTX 1080 Ti", "torch")
    refused = world.run(*words)
    assert refused.returncode == 2
    assert "declared" in refused.stderr
    done = world.run(*words, "--driver", "580.95.05")
    assert done.returncode == 0, done.stdout + done.stderr
    assert world.versions()["torch"] == "2.14.1+cu126"


def test_verify_alone(make_world) -> None:
    world: World = make_world(works("rtx4090"))
    assert world.install("rtx4090-580-open", "torch", "torchvision").returncode == 0
    where = ("--venv", str(world.venv), "--sysroot", str(MACHINES / "rtx4090-580-open"))
    done = world.run("verify", *where)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(world.run("verify", *where, "--json").stdout)
    assert report["outcome"] == "proved"
    assert {step["name"] for step in report["steps"]} >= {"import", "kernel", "matmul"}


def test_json_is_one_document_on_stdout(make_world) -> None:
    world: World = make_world(works("rtx4090"))
    done = world.install("rtx4090-580-open", "torch", "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["outcome"], result["torch"], result["changed"]) == ("install", "2.15.0", True)
    assert result["verdict"]["outcome"] == "proved"
    assert "Choice" in done.stderr


def test_a_mirror_is_used_first(make_world) -> None:
    world: World = make_world(works("gtx1080ti"))
    base = world.replica.index_base
    world.point_at("http://127.0.0.1:9/whl")
    done = world.install("gtx1080ti-580-closed", "torch", "--mirror", base)
    assert done.returncode == 0, done.stdout + done.stderr
    assert world.versions()["torch"] == "2.14.1+cu126"


def test_a_lying_index_is_not_believed(make_world) -> None:
    """A page of garbage with status 200, and a wheel whose hash isn't the announced one."""
    world: World = make_world(works("gtx1080ti"))
    world.replica.fault("/whl/cu126/torch/", garbage=True)
    assert world.install("gtx1080ti-580-closed", "torch").returncode == 8
    world.replica.heal()
    world.replica.fault("/whl/cu126/torch/", wrong_hash=True)
    done = world.install("gtx1080ti-580-closed", "torch")
    assert done.returncode == 5, done.stdout + done.stderr
    assert not world.venv.exists()


def test_what_verify_tells_to_do_is_for_the_environment_that_was_named(make_world) -> None:
    world: World = make_world(Behaviour("no-kernel-image", cards=(Card("NVIDIA GeForce RTX 4090", (8, 9)),)))
    assert world.install("rtx4090-580-open", "torch", "--no-verify").returncode == 0
    done = world.install("rtx4090-580-open", command="verify")
    assert done.returncode == 6, done.stdout + done.stderr
    assert f"add --venv {world.venv} to these commands" in " ".join(done.stdout.split())
