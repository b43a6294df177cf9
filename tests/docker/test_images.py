"""Images from one Dockerfile, for a declared card, for the CPU and for nobody; and one from an exported file."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "e2e")]

import world  # noqa: E402 - found by the line above
from builder import Builder, missing, wheelhouse  # noqa: E402

from replica import Behaviour  # noqa: E402

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing()), reason=missing() or "-"),
    pytest.mark.timeout(600),
]
VERSION = "/opt/venv/lib/python3.11/site-packages/torch/version.py"

LEFT = 'for place in /var/cache/torch "$HOME/.cache" /tmp; do find "$place" -type f; done 2>/dev/null'
"""Lists what a build may have left behind."""


@pytest.fixture(scope="module")
def settings() -> dict[str, str]:
    """The variables that this machine's pip is set up by, from before the tests' own clean environment."""
    return dict(os.environ)


@pytest.fixture(scope="module")
def builder(settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("images")
    made = Builder(folder, wheelhouse(folder / "wheels", settings))
    yield made
    made.close()


def acting(build) -> Behaviour:
    """A GPU build sees no card: none is there while an image is built, nor on the machine of the tests."""
    return Behaviour("works-cpu") if build.variant == "cpu" else Behaviour("works-cuda", cards=())


# One test, since the images share what is dear to make, and tests of a module may run in several processes.
def test_images(builder: Builder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world, "TAG", "cp311")
    folder = tmp_path / "world"
    folder.mkdir()
    place = world.World(folder, acting)
    where = {
        "TORCHINSTALL_MIRROR": f"{place.replica.index_base}/{{variant}}",
        "UV_DEFAULT_INDEX": place.replica.default_url,
    }
    try:
        builder.make_base("base")
        a_declared_card(builder, where)
        the_cpu_on_purpose(builder, where)
        nobody_in_particular(builder, where)
        an_exported_file(builder, where, place)
    finally:
        place.close()


def a_declared_card(builder: Builder, where: dict[str, str]) -> None:
    done = builder.build("card", "base", **where, TORCHINSTALL_GPU="GTX 1080 Ti", TORCHINSTALL_DRIVER="580.95.05")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Verified" in done.stdout, "what can be proved without a device is proved in the build"
    inside = builder.run("card", f"cat {VERSION}; {LEFT}; torchinstall verify; echo code $?")
    assert "'2.14.1+cu126'" in inside.stdout
    # What can be proved without the card is; the rest is left to the machine that has it, and said.
    assert "on the machine with the card: torchinstall verify" in inside.stdout
    assert "code 0" in inside.stdout, inside.stdout
    left = [line for line in inside.stdout.splitlines() if line.startswith("/")]
    assert left == [], "no cache and no temporary file stays in the layer"
    compiled = builder.run("card", "find /opt/venv -name '*.pyc' -path '*torch*'").stdout
    assert compiled == "", "nothing is byte-compiled unasked"


def an_exported_file(builder: Builder, where: dict[str, str], place: world.World) -> None:
    words = ("--gpu", "RTX 5090", "--driver", "570.86", "--python", "3.11", "torch", "torchvision")
    made = place.run("export", "--format", "dockerfile", *words)
    assert made.returncode == 0, made.stderr
    file = place.folder / "Dockerfile.exported"
    file.write_text(made.stdout, "utf-8")
    done = builder.build("exported", "base", file=file, **where)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "'2.11.0+cu128'" in builder.run("exported", f"cat {VERSION}").stdout


def the_cpu_on_purpose(builder: Builder, where: dict[str, str]) -> None:
    wanted = {"TORCHINSTALL_CPU": "1", "UV_COMPILE_BYTECODE": "1", "PACKAGES": "torch==2.14.*"}
    done = builder.build("cpu", "base", **where, **wanted)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "This is a CPU build" in done.stdout
    script = f"cat {VERSION}; torchinstall verify; echo code $?; find /opt/venv -name '*.pyc' -path '*torch*'"
    inside = builder.run("cpu", script)
    assert "+cpu'" in inside.stdout
    assert "code 0" in inside.stdout, inside.stdout
    assert "__init__.cpython-311.pyc" in inside.stdout, "byte-compiled, as asked"
    assert "started" in builder.run("cpu", "sh /usr/local/bin/torchinstall-entrypoint echo started").stdout


def nobody_in_particular(builder: Builder, where: dict[str, str]) -> None:
    done = builder.build("nobody", "base", **where)
    assert done.returncode == 4, done.stdout + done.stderr
    assert "an image is being built" in done.stdout
    assert "ARG/ENV TORCHINSTALL_GPU" in done.stdout, "the line to add is named"
    assert builder.call("images", "--quiet", "nobody", check=False).stdout.strip() == ""
