"""What ``detect`` prints: one screen, with equal cards on one line and each fact's source on demand."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchinstall.catalog.load import load_catalog
from torchinstall.model.machine import AmdDriver, Gpu, Machine, NvidiaDriver, Os
from torchinstall.model.request import Request
from torchinstall.output.text import machine_lines, plan_lines
from torchinstall.probe.detect import detect
from torchinstall.probe.fake import fake_system
from torchinstall.resolve.resolve import resolve
from torchinstall.resolve.wishes import parse

MACHINES = Path(__file__).resolve().parent.parent / "machines"


def screen(machine, **options):
    return [f"{line.heading}|{line.text}" for line in machine_lines(machine, **options)]


def test_equal_cards_share_a_line():
    a, b = Gpu(vendor="nvidia", name="A", memory_mib=24564), Gpu(vendor="nvidia", name="B", memory_mib=512)
    lines = screen(Machine(os=Os(name="linux"), arch="x86_64", gpus=(a, a, a, b, a)))
    assert lines[1:] == ["|GPU 0-2: 3 x A (24 GiB)", "|GPU 3: B (512 MiB)", "|GPU 4: A (24 GiB)"]


def test_an_ailing_driver_is_said():
    machine = Machine(
        gpus=(Gpu(vendor="amd", gfx="gfx1100"),),
        nvidia=NvidiaDriver(version="470.57.02", cuda="11.4", libcuda="12.1", state="no-device"),
        amd=AmdDriver(rocm="7.2.0", state="no-device"),
    )
    text = "\n".join(screen(machine))
    assert "NVIDIA driver 470.57.02, no-device, announces CUDA 11.4, libcuda answers CUDA 12.1" in text
    assert "AMD: ROCm 7.2.0, amdgpu in-tree, no-device" in text


@pytest.mark.parametrize("name", ["rx7900xtx", "jetson-orin", "gtx1080-rtx4090", "windows-rtx4090-registry"])
def test_every_fact_is_shown_with_value_and_source(name, cards):
    machine = detect(fake_system(MACHINES / name), cards=cards)
    lines = screen(machine, verbose=True)
    for fact, source in machine.sources.items():
        shown = [line.partition("|")[2] for line in lines if line.partition("|")[2].startswith(f"{fact} = ")]
        assert len(shown) == 1, fact
        assert shown[0].endswith(f"   [{source}]")
        assert "= None" not in shown[0]


@pytest.mark.parametrize(
    "folder", sorted(path.parent for path in MACHINES.glob("*/expected.json")), ids=lambda f: f.name
)
def test_one_screen(folder, cards):
    if folder.name == "rtx4090-hung-smi":
        pytest.skip("takes its limit")
    assert len(screen(detect(fake_system(folder), cards=cards))) <= 20


@pytest.mark.parametrize(
    ("name", "word"), [("h100-mask-empty", "CUDA_VISIBLE_DEVICES"), ("rx6800-override", "HSA_OVERRIDE_GFX_VERSION")]
)
def test_what_the_plan_warns_of_is_not_noted_as_well(name, word, cards):
    """``detect`` says it in a note; where a plan follows, its warning is enough."""
    catalog = load_catalog()
    machine = detect(fake_system(MACHINES / name), cards=cards)
    plan = resolve(machine, Request(wishes=parse(["torch"], catalog.joint, origin="x").wishes), catalog)
    assert "\n".join(screen(machine)).count(f"{word}=") == 1
    both = [line.text for line in (*machine_lines(machine, plan=plan), *plan_lines(plan))]
    assert "\n".join(both).count(word) == 1
