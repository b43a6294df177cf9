"""Declared machines: what people type for a card, and what it means beside the cards that are there."""

from __future__ import annotations

import pytest

from hand import linux
from torchinstall.catalog.load import load_catalog
from torchinstall.errors import UsageError
from torchinstall.model.machine import Gpu, Jetson, Machine, NvidiaDriver, Os, Python
from torchinstall.model.machine_json import machine_from_json
from torchinstall.model.request import Request
from torchinstall.resolve.declare import Declaration, declared, gpu_from_text, python_version, with_jetpack
from torchinstall.resolve.resolve import resolve


@pytest.fixture(scope="module")
def catalog():
    return load_catalog()


@pytest.mark.parametrize(
    "python",
    [python_version("3.14t"), python_version("cpython3.14+freethreaded"), Python(version="3.14.2", free_threaded=True)],
)
def test_a_free_threaded_python_keeps_its_mark(catalog, python):
    machine = Machine(os=Os(name="linux", glibc="2.35"), arch="x86_64", gpus=(), python=python)
    assert resolve(machine, Request(), catalog).python == "3.14t"
    assert resolve(machine.replace(python=python.replace(free_threaded=None)), Request(), catalog).python == "3.14"


def test_a_machine_file_may_say_it_as_a_plan_does():
    told = machine_from_json({"python": {"version": "3.14t"}}).python
    assert (told.version, told.free_threaded) == ("3.14", True)
    assert machine_from_json({"python": {"version": "3.14"}}).python.free_threaded is None


def test_the_nearest_python_to_a_free_threaded_one_is_the_ordinary_one(catalog):
    machine = Machine(os=Os(name="linux", glibc="2.35"), arch="x86_64", gpus=(), python=python_version("3.12t"))
    plan = resolve(machine, Request(), catalog)
    assert plan.blocked.text.startswith("no cpu wheel of torch")
    assert "for Python 3.12t;" in plan.blocked.text
    assert [way.reason.params["python"] for way in plan.alternatives if way.reason.rule == "if-python"] == ["3.12"]


@pytest.mark.parametrize(
    ("text", "vendor", "code"),
    [
        ("4090", "nvidia", "8.9"),
        ("RTX4090", "nvidia", "8.9"),
        ("rtx-4090", "nvidia", "8.9"),
        ("rtx4090 laptop", "nvidia", "8.9"),
        ("RTX4090D", "nvidia", "8.9"),
        ("4070tisuper", "nvidia", "8.9"),
        ("NVIDIA GeForce GTX 1080 Ti", "nvidia", "6.1"),
        ("A100 80GB", "nvidia", "8.0"),
        ("NVIDIA A100-SXM4-80GB", "nvidia", "8.0"),
        ("GRID A100-10C", "nvidia", "8.0"),
        ("GH200", "nvidia", "9.0"),
        ("GB10", "nvidia", "12.1"),
        ("m40", "nvidia", "5.2"),
        ("Thor", "nvidia", "11.0"),
        ("Orin (nvgpu)", "nvidia", "8.7"),
        ("RTX 6000 Ada", "nvidia", "8.9"),
        ("Hopper", "nvidia", "9.0"),
        ("cc:12.0", "nvidia", "12.0"),
        ("sm_86", "nvidia", "8.6"),
        ("7900 XTX", "amd", "gfx1100"),
        ("7900xtx", "amd", "gfx1100"),
        ("9070xt", "amd", "gfx1201"),
        ("MI300X", "amd", "gfx942"),
        ("AMD Instinct MI300X OAM", "amd", "gfx942"),
        ("Ryzen AI Max+ 395", "amd", "gfx1151"),
        ("AI Max 395", "amd", "gfx1151"),
        ("GFX90A", "amd", "gfx90a"),
        ("Arc B580", "intel", "Battlemage"),
        ("arc-b580", "intel", "Battlemage"),
        ("Intel(R) Arc(TM) A770 Graphics", "intel", "Alchemist"),
        ("Ponte Vecchio", "intel", "Ponte Vecchio"),
        ("910B3", "ascend", "910B3"),
        ("Ascend910B4", "ascend", "910B4"),
        ("310P", "ascend", "310P"),
        ("M3 Max", "apple", "Apple M3 Max"),
        ("m1", "apple", "Apple M1"),
        ("apple", "apple", "Apple silicon"),
        ("MLU370", "cambricon", "MLU370"),
        ("MetaX C500", "metax", "MetaX C500"),
        ("NVIDIA RTX PRO 6000 Blac...", "nvidia", "12.0"),
        ("NVIDIA RTX 6000 Ada Gene...", "nvidia", "8.9"),
        ("NVIDIA GeForce RTX 2080 ...", "nvidia", "7.5"),
    ],
)
def test_names(catalog, text, vendor, code):
    gpu = gpu_from_text(text, catalog)
    assert gpu.vendor == vendor
    assert (gpu.compute_capability or gpu.gfx or gpu.family or gpu.soc or gpu.name) == code


@pytest.mark.parametrize("text", ["none", "NONE", " cpu "])
def test_no_card(catalog, text):
    assert gpu_from_text(text, catalog) is None


@pytest.mark.parametrize(
    ("text", "candidates"),
    [
        ("RTX 6000", ["Quadro RTX 6000 (7.5)", "RTX 6000 Ada Generation (8.9)"]),
        ("780M", ["Radeon 780M (gfx1103)", "GeForce GTX 780M (3.0)"]),
        ("GT 1030", ["GeForce GT 1030 (3.0)", "GeForce GT 1030 (6.1)"]),
    ],
)
def test_ambiguous_names_list_the_candidates(catalog, text, candidates):
    with pytest.raises(UsageError, match="means several cards") as caught:
        gpu_from_text(text, catalog)
    assert [name for name in candidates if name not in caught.value.what] == []


@pytest.mark.parametrize("text", ["foo", "RTX 9999", "gfx", "cc:", "GTX 1080 Ti Super XT", "...", "HD Graphics"])
def test_unknown_names_say_what_to_write(catalog, text):
    with pytest.raises(UsageError) as caught:
        gpu_from_text(text, catalog)
    assert caught.value.todo


def seen(*names, driver="580.95.05"):
    gpus = tuple(
        Gpu(vendor="nvidia", name=name, compute_capability=capability, pci_id=pci) for name, capability, pci in names
    )
    return Machine(os=Os(name="linux"), arch="x86_64", gpus=gpus, nvidia=NvidiaDriver(version=driver, state="ok"))


MIXED = (
    ("NVIDIA GeForce RTX 3080", "8.6", "10de:2206"),
    ("NVIDIA GeForce RTX 3080 Ti", "8.6", "10de:2208"),
    ("NVIDIA GeForce RTX 5090", "12.0", "10de:2b85"),
)


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("5090", [False, False, None]),
        ("RTX 3080", [None, False, False]),  # the very name, and not the Ti
        ("3080 ti", [False, None, False]),
        ("cc:8.6", [None, None, False]),
    ],
)
def test_a_card_that_is_there_is_selected_and_keeps_its_driver(catalog, text, hidden):
    machine = declared(seen(*MIXED), Declaration(gpus=(text,)), catalog)
    assert [gpu.visible for gpu in machine.gpus] == hidden
    assert machine.declared is False
    assert machine.nvidia.version == "580.95.05"


def test_one_id_of_several_products_is_selected(catalog):
    gpu = Gpu(vendor="amd", name="Radeon RX 7900 XT/7900 XTX/7900 GRE/7900M", gfx="gfx1100")
    machine = declared(Machine(os=Os(name="linux"), gpus=(gpu,)), Declaration(gpus=("7900 XTX",)), catalog)
    assert machine.declared is False
    assert machine.gpus == (gpu,)


def test_a_card_that_is_not_there_is_another_machine(catalog):
    machine = declared(seen(*MIXED), Declaration(gpus=("H100",)), catalog)
    assert machine.declared is True
    assert [gpu.compute_capability for gpu in machine.gpus] == ["9.0"]
    assert machine.nvidia is None


@pytest.mark.parametrize(
    ("said", "field"),
    [
        (Declaration(drivers=("580",)), ("nvidia", "version", "580")),
        (Declaration(drivers=("nvidia=570.86.10",)), ("nvidia", "version", "570.86.10")),
        (Declaration(drivers=("cann=8.2.rc1",)), ("ascend", "cann", "8.2.rc1")),
        (Declaration(drivers=("rocm=7.2",)), ("amd", "rocm", "7.2")),
    ],
)
def test_drivers(catalog, said, field):
    part, name, value = field
    assert getattr(getattr(declared(Machine(), said, catalog), part), name) == value


@pytest.mark.parametrize("said", [{"drivers": ("new",)}, {"drivers": ("cuda=12",)}, {"os": "plan9"}, {"arch": "z80"}, {"glibc": "new"}])  # fmt: skip
def test_words_without_a_meaning(catalog, said):
    with pytest.raises(UsageError):
        declared(Machine(), Declaration(**said), catalog)


@pytest.mark.parametrize(
    ("l4t", "jetpack"), [("36.4.3", "6.2"), ("36.4.4", "6.2"), ("39.2.0", "7.2"), ("38.2.1", "7.0"), ("99.1", None)]
)
def test_boards_are_known_by_their_jetpack(catalog, l4t, jetpack):
    machine = with_jetpack(Machine(jetson=Jetson(l4t=l4t)), catalog)
    assert machine.jetson.jetpack == jetpack
    assert ("jetson.jetpack" in machine.sources) is (jetpack is not None)
    told = Machine(jetson=Jetson(l4t="36.4.3", jetpack="6.1"))
    assert with_jetpack(told, catalog) is told


def test_an_empty_name_is_no_wish_for_a_cpu_build(catalog):
    with pytest.raises(UsageError, match="names no card"):
        gpu_from_text("  ", catalog)


@pytest.mark.parametrize(("arch", "expected"), [(None, "arm64"), ("x86_64", "x86_64")])
def test_an_apple_gpu_implies_apples_architecture(catalog, arch, expected):
    said = Declaration(gpus=("M3",), os="macos-14", arch=arch)
    machine = declared(Machine(os=Os(name="linux"), arch="x86_64", gpus=()), said, catalog)
    assert machine.arch == expected


@pytest.mark.parametrize(
    ("names", "arch"),
    [
        (("GH200",), "aarch64"), (("GB200",), "aarch64"), (("GB10",), "aarch64"), (("DGX Spark",), "aarch64"),
        (("Jetson AGX Thor",), "aarch64"), (("H100",), "x86_64"), (("B200",), "x86_64"), (("GH200", "H100"), "x86_64"),
        (("none",), "x86_64"),
    ],
)  # fmt: skip
def test_what_comes_with_an_arm_processor_is_planned_for_one(catalog, names, arch) -> None:
    assert declared(linux(), Declaration(gpus=names), catalog).arch == arch


def test_an_architecture_that_is_said_counts(catalog) -> None:
    assert declared(linux(), Declaration(gpus=("GH200",), arch="x86_64"), catalog).arch == "x86_64"
