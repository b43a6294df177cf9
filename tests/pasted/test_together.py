"""Several tools in one text are one machine, and strange text is none."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchinstall.errors import MachineFileError
from torchinstall.model.machine import Gpu, Machine, NvidiaDriver
from torchinstall.model.machine_json import machine_to_json
from torchinstall.probe.pasted import read_pasted

CAPTURES = {path.name: path.read_text() for path in (Path(__file__).resolve().parent / "captures").iterdir()}


def nothing(_):
    return None


def test_table_and_list_are_the_same_cards(cards):
    text = (
        CAPTURES["smi-q-610.txt"]
        + "\n"
        + (
            "GPU 0: NVIDIA GeForce RTX 5090 (UUID: GPU-11111111-2222-3333-4444-555555555555)\n"
            "GPU 1: NVIDIA GeForce RTX 3090 (UUID: GPU-66666666-2222-3333-4444-555555555555)\n"
        )
    )
    (machine,) = read_pasted(text, cards=cards)
    assert [gpu.pci_id for gpu in machine.gpus] == ["10de:2b85", "10de:2204"]


def test_a_name_that_was_cut_is_completed(cards):
    table = CAPTURES["smi-table-610-windows.txt"]
    text = table + "\nGPU 0: NVIDIA GeForce RTX 5070 Ti (UUID: GPU-11111111-2222-3333-4444-555555555555)\n"
    (machine,) = read_pasted(text, cards=cards)
    assert [gpu.name for gpu in machine.gpus] == ["NVIDIA GeForce RTX 5070 Ti"]


def test_report_with_table_below(cards):
    (machine,) = read_pasted(CAPTURES["collect-env-linux.txt"] + CAPTURES["proc-version.txt"], cards=cards)
    assert len(machine.gpus) == 2
    assert machine.nvidia.version == "570.133.20"  # what was told first
    assert machine.nvidia.kernel_module == "open"
    assert machine.sources["drivers.nvidia.kernel_module"] == "procfs"


@pytest.mark.parametrize("name", ["smi.csv", "smi-q-610.txt", "smi-table-391.txt", "smi.xml", "lspci-names.txt"])
def test_what_was_printed_twice_counts_once(cards, name):
    (once,) = read_pasted(CAPTURES[name], cards=cards)
    (twice,) = read_pasted(CAPTURES[name] + CAPTURES[name], cards=cards)
    assert len(twice.gpus) == len(once.gpus)


def test_two_vendors_in_one_text(cards):
    (machine,) = read_pasted(CAPTURES["smi.csv"] + CAPTURES["rocminfo-override.txt"], cards=cards)
    assert [gpu.vendor for gpu in machine.gpus] == ["nvidia", "nvidia", "amd"]


def test_lspci_and_the_tool_agree_by_address(cards):
    lspci = "3b:00.0 3D controller [0302]: NVIDIA Corporation GV100GL [Tesla V100 PCIe 32GB] [10de:1db6] (rev a1)\n"
    (machine,) = read_pasted(CAPTURES["smi-list-mig.txt"][:0] + lspci + CAPTURES["smi-not-loaded.txt"], cards=cards)
    assert [gpu.pci_id for gpu in machine.gpus] == ["10de:1db6"]
    assert machine.nvidia.state == "not-loaded"


def test_machine_documents(cards):
    machine = Machine(gpus=(Gpu(vendor="nvidia", compute_capability="8.9"),), nvidia=NvidiaDriver(version="580.95.05"))
    text = json.dumps(machine_to_json(machine))
    assert read_pasted(text, cards=cards) == [machine]
    assert read_pasted(f"{text}\n{text}\n", cards=cards) == [machine, machine]
    assert read_pasted(json.dumps({"id": 7, "machine": json.loads(text)}), cards=cards) == [machine]
    with pytest.raises(MachineFileError, match="compute_capability"):
        read_pasted('{"gpus": [{"vendor": "nvidia", "compute_capability": 8.9}]}', cards=cards)


@pytest.mark.parametrize(
    "text",
    ["", "\n\n", "hello", "{}", "[]", "null", "[1, 2]", '{"a": {"b": 1}}', "No such file or directory", "\x00\x01",
     "GPU 0", "| 0 | 1 | 2 |", "Driver Version", "Name: gfx", "[" * 10000, '{"items": [[[]]]}', '{"nodes": [null]}',
     "nvidia\\.com\\/gpu\\.count=[0-9]+"],
)  # fmt: skip
def test_text_that_tells_of_no_machine(text):
    assert read_pasted(text, cards=nothing) == []


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_mutated_captures_never_raise(data):
    """Cut, doubled, mixed and garbled captures: facts or nothing, never an exception other than for a document."""
    text = CAPTURES[data.draw(st.sampled_from(sorted(CAPTURES)))]
    for _ in range(data.draw(st.integers(1, 4))):
        size = len(text)
        start = data.draw(st.integers(0, size))
        end = data.draw(st.integers(start, min(size, start + 400)))
        how = data.draw(st.sampled_from(["cut", "double", "mix", "garble", "lines"]))
        if how == "cut":
            text = text[:start] + text[end:]
        elif how == "double":
            text = text[:end] + text[start:]
        elif how == "mix":
            other = CAPTURES[data.draw(st.sampled_from(sorted(CAPTURES)))]
            text = text[:start] + other + text[end:]
        elif how == "garble":
            text = text[:start] + data.draw(st.text(max_size=20)) + text[end:]
        else:
            lines = text.splitlines(keepends=True)
            text = "".join(data.draw(st.permutations(lines[:12]))) + "".join(lines[12:])
    try:
        machines = read_pasted(text, cards=nothing)
    except MachineFileError:
        return
    for machine in machines:
        json.dumps(machine_to_json(machine))


@pytest.mark.parametrize(
    "piece",
    ["\n", " ", "0 \n", "NVIDIA ", "a.b/c=", "A b: NVRM version: ", "1.", "GPU 0: (UUID: ", "Device Name: Intel  ",
     "Version=1\n", "Agent 1\n", "GPU 00000000:01:00.0\nPyTorch version:", "00:00.0 VGA compatible controller: ",
     "| 0  A ", '<gpu id="0">', "[conda] a 1 ", "package_name=Ascend-cann-", "name='Intel"],
)  # fmt: skip
def test_hostile_text_costs_no_minutes(piece):
    start = time.monotonic()
    read_pasted(piece * (60_000 // len(piece)), cards=nothing)
    read_pasted("Device Name: Intel x" + piece * 2000 + "|", cards=nothing)
    assert time.monotonic() - start < 10  # a tenth of a second where nothing else runs
