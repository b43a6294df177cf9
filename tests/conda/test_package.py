"""The conda package: built from its recipe, installed and removed by rattler with its link scripts."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

rattler = pytest.importorskip("rattler", reason="the dependency group conda-test isn't installed")
rattler_build = pytest.importorskip("rattler_build", reason="the dependency group conda-test isn't installed")

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "e2e")]

import channel as tiny  # noqa: E402 - found by the line above
from world import World  # noqa: E402

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="the small Python of the test is a Linux one"),
]
ROOT = Path(__file__).resolve().parents[2]
UV = str(Path(sys.executable).with_name("uv"))


@pytest.fixture(scope="module")
def channel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A local channel with the package in it, built from the recipe."""
    folder = tmp_path_factory.mktemp("channel")
    wheels = tmp_path_factory.mktemp("wheels")
    build = [UV, "build", "--wheel", "--quiet", "--no-build-isolation", "--python", sys.executable]
    subprocess.run([*build, "--out-dir", str(wheels), str(ROOT)], check=True)
    own = next(wheels.glob("torchinstall-*.whl"))
    download = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary", ":all:", "--dest", str(wheels)]
    subprocess.run([*download, str(own)], check=True)
    tiny.make(folder)
    asyncio.run(rattler.index.index_fs(folder))
    os.environ["TORCHINSTALL_WHEELS"] = str(wheels)
    try:
        recipe = rattler_build.Stage0Recipe.from_file(ROOT / "scripts" / "conda" / "recipe.yaml")
        (built,) = recipe.run_build(output_dir=folder, channels=[folder.as_uri()], package_format="conda:1")
    finally:
        del os.environ["TORCHINSTALL_WHEELS"]
    assert Path(built.packages[0]).name.startswith("torchinstall-0.1.0-")
    asyncio.run(rattler.index.index_fs(folder))
    return folder


class Conda:
    """One prefix, and the world that its link scripts see."""

    def __init__(self, channel: Path, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        self.channel = channel
        self.world = world
        self.prefix = world.folder / "prefix"
        self.monkeypatch = monkeypatch
        self.cache = world.folder / "pkgs"
        for name, value in world.environ.items():
            monkeypatch.setenv(name, value)

    def change(self, *specs: str, **environ: str) -> None:
        """Let the prefix have these packages and no others."""
        for name, value in environ.items():
            self.monkeypatch.setenv(name, value)
        asyncio.run(self._change([*specs]))

    async def _change(self, specs: list[str]) -> None:
        records = await rattler.solve(
            sources=[rattler.Channel(self.channel.as_uri())], specs=specs, platforms=["linux-64", "noarch"]
        )
        await rattler.install(
            records, target_prefix=self.prefix, execute_link_scripts=True, show_progress=False, cache_dir=self.cache
        )

    @property
    def log(self) -> str:
        path = self.prefix / "var" / "log" / "torchinstall.log"
        return path.read_text("utf-8") if path.is_file() else ""

    def installed(self) -> dict[str, str]:
        listed = subprocess.run(
            [UV, "pip", "list", "--format", "json", "--python", str(self.prefix / "bin" / "python")],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        return {row["name"]: row["version"] for row in json.loads(listed.stdout)}

    def files(self) -> set[str]:
        kept = {"conda-meta"}
        return {
            str(path.relative_to(self.prefix))
            for path in self.prefix.rglob("*")
            if (path.is_file() or path.is_symlink()) and path.relative_to(self.prefix).parts[0] not in kept
        }


@pytest.fixture
def conda(channel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    world = World(tmp_path)
    yield Conda(channel, world, monkeypatch)
    world.close()


def test_it_comes_installs_and_goes_without_a_trace(conda: Conda) -> None:
    conda.change("python")
    before = conda.files()
    wanted = {"TORCHINSTALL_CONDA_REQUIREMENTS": "torch torchvision"}
    conda.change("python", "torchinstall", **wanted, TORCHINSTALL_CPU="1")
    installed = conda.installed()
    assert installed["torch"].endswith("+cpu"), conda.log
    assert installed["torchvision"].endswith("+cpu")
    assert "is installed" in conda.log
    tool = subprocess.run(
        [str(conda.prefix / "bin" / "torchinstall"), "verify", "--python", str(conda.prefix / "bin" / "python")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert tool.returncode == 0, tool.stdout + tool.stderr
    # Nothing went into the Python that the prefix's link points to.
    assert not list(Path(sys.base_prefix).glob("lib/python*/site-packages/torchvision"))
    conda.change("python")
    assert conda.files() - before == set()
    assert before - conda.files() == set()


def test_what_somebody_has_changed_since_stays(conda: Conda) -> None:
    conda.change("python", "torchinstall", TORCHINSTALL_CPU="1")
    world = conda.world
    place = ["--python", str(conda.prefix / "bin" / "python"), "--default-index", world.replica.url("cu126")]
    subprocess.run([UV, "pip", "install", "-q", *place, "torch==2.14.1+cu126"], check=True)
    conda.change("python")
    assert conda.installed()["torch"] == "2.14.1+cu126"


def test_no_network_is_no_failure(conda: Conda) -> None:
    conda.world.point_at("http://127.0.0.1:9/whl")
    conda.change("python", "torchinstall", TORCHINSTALL_CPU="1", UV_DEFAULT_INDEX="http://127.0.0.1:9/simple")
    assert "torch" not in conda.installed()
    assert "torch was not installed" in conda.log
    assert f"run: {conda.prefix}/bin/torchinstall" in conda.log
    assert (conda.prefix / "bin" / "torchinstall").is_file()


@pytest.mark.parametrize(
    ("override", "gpu", "said"),
    [
        ("12.8", "RTX 4090", "2.14.1+cu126"),
        ("13.0", "RTX 4090", "2.15.0"),
        ("", None, "+cpu"),
    ],
)
def test_conda_override_cuda(conda: Conda, override: str, gpu: str | None, said: str) -> None:
    more = {"TORCHINSTALL_GPU": gpu} if gpu else {}
    conda.change("python", "torchinstall", CONDA_OVERRIDE_CUDA=override, TORCHINSTALL_DRY_RUN="1", **more)
    assert said in conda.log
    assert "torch" not in conda.installed()


def test_nothing_beside_a_torch_of_conda(conda: Conda) -> None:
    meta = conda.prefix / "conda-meta"
    conda.change("python")
    link = ROOT / "scripts" / "conda" / "link.py"
    (meta / "pytorch-2.13.0-cuda129_py311_200.json").write_text("{}", "utf-8")
    done = subprocess.run([sys.executable, "-I", str(link), "post-link", str(conda.prefix)], check=False)
    assert done.returncode == 0
    assert "pytorch-2.13.0" in (conda.prefix / ".messages.txt").read_text("utf-8")
    assert "torch" not in conda.installed()


def test_a_prefix_without_python(tmp_path: Path) -> None:
    script = ROOT / "scripts" / "conda" / "post-link.sh"
    done = subprocess.run(["sh", str(script)], env={**os.environ, "PREFIX": str(tmp_path)}, check=False)
    assert done.returncode == 0
    assert "there is no Python" in (tmp_path / ".messages.txt").read_text("utf-8")
