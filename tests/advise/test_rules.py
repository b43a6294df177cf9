"""The article's table row by row, and every rule since: a case that it speaks in, with its source."""

from __future__ import annotations

import pytest

from advise.conftest import Advise
from hand import GTX_1080, H100, M3, RTX_4090, RTX_5090, T4, V100, linux, mac, nvidia, windows
from torchinstall.catalog.catalog import Catalog
from torchinstall.model.advice import MUST_NOT, NO_HURRY, UP_TO_DATE, UPGRADE_NOW, WAIT
from torchinstall.model.machine import Gpu, Machine

A100 = nvidia("NVIDIA A100-SXM4-80GB", "8.0")
MI300X = Gpu(vendor="amd", name="AMD Instinct MI300X", gfx="gfx942")
B580 = Gpu(vendor="intel", name="Intel Arc B580", pci_id="8086:e20b", family="Battlemage")
ASCEND = Gpu(vendor="ascend", name="Ascend 910B3", soc="910B3")
OLD, NEW = "535.183.01", "580.95.05"

hopper = linux(H100, driver=NEW)
ampere = linux(A100, driver=NEW)
blackwell = linux(RTX_5090, driver=NEW)
pascal = linux(GTX_1080, driver=NEW)
volta = linux(V100, driver=NEW)
ascend = linux(ASCEND, arch="aarch64", python="3.11.9")
apple = mac("14.5", M3)
amd = linux(MI300X)
cpu = linux()

ARTICLE = [
    # Upgrade now
    ("new project", hopper, ("new_project",), UPGRADE_NOW, "S1"),
    ("new project, no card", cpu, ("new_project",), UPGRADE_NOW, "S1"),
    ("Blackwell", blackwell, (), UPGRADE_NOW, "S2"),
    ("MX export", hopper, ("mx_export",), UPGRADE_NOW, "S3"),
    ("compile reproducibility", ampere, ("compile_reproducibility",), UPGRADE_NOW, "S4"),
    # Worth it, no hurry
    ("A100, stable training", ampere, ("stable_training",), NO_HURRY, "S5"),
    ("H100, stable training", hopper, ("stable_training",), NO_HURRY, "S5"),
    # Wait
    ("Pascal", pascal, (), WAIT, "S6"),
    ("Volta", volta, (), WAIT, "S6"),
    ("customised ProcessGroup", hopper, ("custom_processgroup", "stable_training"), WAIT, "S7"),
    ("torch-npu", cpu, ("torch_npu",), WAIT, "S8"),
    # Apple silicon
    ("Apple silicon", apple, (), UPGRADE_NOW, "S9"),
]


@pytest.mark.parametrize(
    ("machine", "uses", "verdict", "rule"), [row[1:] for row in ARTICLE], ids=[r[0] for r in ARTICLE]
)
def test_the_table_of_the_article(
    ask: Advise, machine: Machine, uses: tuple[str, ...], verdict: str, rule: str
) -> None:
    judged = ask(machine, "2.12", uses).judged
    assert judged.verdict == verdict
    assert judged.reasons[0].rule == rule
    assert judged.reasons[0].origin == "article"
    assert judged.reasons[0].source


def test_the_strictest_row_of_the_article_wins(ask: Advise) -> None:
    judged = ask(pascal, "2.12", ("new_project", "mx_export")).judged
    assert judged.verdict == WAIT
    assert [one.rule for one in judged.reasons] == ["S6", "S1", "S3"]


@pytest.mark.parametrize(
    ("machine", "uses", "to", "words"),
    [
        (pascal, (), "2.12", ["2.11 is cu130", "cu126 is needed there too", "2.14.1"]),
        (pascal, (), "2.15", ["ends with 2.14.1"]),
        (hopper, ("custom_processgroup",), "2.12", ["stub", "opt-in in 2.15", "nccl2"]),
        (hopper, ("custom_processgroup",), "2.15", ["torchcomms itself is still opt-in"]),
        (blackwell, (), "2.12", ["every CUDA 13 wheel", "cu128"]),
        (apple, (), "2.12", ["macOS 14"]),
    ],
)
def test_what_later_releases_overtook_is_said(
    ask: Advise, machine: Machine, uses: tuple[str, ...], to: str, words: list[str]
) -> None:
    said = " ".join(one.correction for one in ask(machine, to, uses).judged.reasons)
    for word in words:
        assert word in said


def test_2_15_has_no_wheel_for_pascal(ask: Advise) -> None:
    advised = ask(pascal)
    assert advised.target == "2.15.0"
    assert advised.judged.verdict == MUST_NOT
    assert advised.judged.reasons[0].rule == "H01"
    assert advised.best is not None
    assert (advised.best.torch, advised.best.variant) == ("2.14.1", "cu126")


T13 = linux(T4, driver=NEW)
LATER: dict[str, tuple[Machine, str, dict[str, object], str]] = {
    "H01": (pascal, "2.15", {}, MUST_NOT),
    "H02": (pascal, "2.12", {"variant": "cu130"}, MUST_NOT),
    "H03": (linux(RTX_4090, driver=OLD), "2.15", {}, MUST_NOT),
    "H04": (linux(RTX_4090, driver=OLD), "2.12", {"variant": "cu130"}, MUST_NOT),
    "H05": (linux(RTX_4090, driver=NEW, python="3.10.14"), "2.15", {}, MUST_NOT),
    "H06": (linux(RTX_4090, driver=NEW, python="3.9.19"), "2.9", {}, MUST_NOT),
    "H07": (cpu.replace(python=cpu.python.replace(version="3.13.1", free_threaded=True)), "2.12.1", {}, MUST_NOT),
    "H08": (mac("15.1", M3, python="3.15.0"), "2.14", {}, MUST_NOT),
    "H09": (linux(RTX_4090, driver=NEW, glibc="2.17", python="3.11.9"), "2.7", {}, MUST_NOT),
    "H10": (mac("13.6", M3), "2.12", {}, MUST_NOT),
    "H11": (mac("14.5", arch="x86_64"), "2.12", {}, MUST_NOT),
    "H12": (ascend, "2.14.1", {}, MUST_NOT),
    "H13": (cpu.replace(installed={"torch": "2.5.1"}, installed_by={"torch": "conda"}), "2.12", {}, MUST_NOT),
    "H14": (cpu.replace(installed={"torchtext": "0.18.0"}), "2.12", {}, MUST_NOT),
    "H15": (hopper, "2.12", {"uses": ("pinned_torchaudio",)}, MUST_NOT),
    "E2.13-a": (hopper, "2.13", {"uses": ("new_project",)}, UPGRADE_NOW),
    "E2.13-b": (blackwell, "2.13", {}, UPGRADE_NOW),
    "E2.13-c": (T13, "2.13", {"uses": ("stable_training",)}, NO_HURRY),
    "E2.13-d": (pascal, "2.13", {}, NO_HURRY),
    "E2.13-e": (hopper, "2.13", {"uses": ("custom_processgroup",)}, NO_HURRY),
    "E2.13-f": (apple, "2.13", {}, UPGRADE_NOW),
    "E2.13-g": (amd, "2.13.0", {"uses": ("cpu_compile_in_ci",)}, WAIT),
    "E2.14-a": (cpu, "2.14", {"uses": ("new_project",)}, UPGRADE_NOW),
    "E2.14-b": (blackwell, "2.14", {}, UPGRADE_NOW),
    "E2.14-c": (hopper, "2.14", {"uses": ("stable_training",)}, NO_HURRY),
    "E2.14-d": (volta, "2.14", {}, NO_HURRY),
    "E2.14-e": (hopper, "2.14", {"uses": ("custom_processgroup",)}, NO_HURRY),
    "E2.14-f": (apple, "2.14", {}, UPGRADE_NOW),
    "E2.14-g": (amd, "2.14", {}, NO_HURRY),
    "E2.15-a": (hopper, "2.15", {"uses": ("new_project",)}, UPGRADE_NOW),
    "E2.15-b": (blackwell, "2.15", {}, UPGRADE_NOW),
    "E2.15-c": (hopper, "2.15", {"uses": ("stable_training",)}, NO_HURRY),
    "E2.15-d": (hopper, "2.15", {"uses": ("distributed_nccl",)}, WAIT),
    "E2.15-e": (apple, "2.15", {}, NO_HURRY),
    "E2.15-f": (amd, "2.15", {}, WAIT),
    "X02": (cpu, "2.7", {"installed": "2.6.0", "uses": ("compiled_extensions",)}, NO_HURRY),
    "X03": (cpu, "2.9", {"installed": "2.8.0", "uses": ("torchaudio",)}, NO_HURRY),
    "X04": (hopper, "2.12", {"installed": "2.10.0", "uses": ("compiled_extensions",)}, WAIT),
    "X05": (cpu, "2.14", {"installed": "2.13.0", "uses": ("torchscript",)}, NO_HURRY),
    "X06": (cpu, "2.12", {"installed": "2.5.1"}, UPGRADE_NOW),
    "X07": (cpu, "2.12", {"installed": "2.9.0", "uses": ("foreign_checkpoints",)}, UPGRADE_NOW),
}
TRAPS: dict[str, tuple[Machine, str, dict[str, object]]] = {
    "T01": (volta, "2.13", {}),
    "T02": (linux(RTX_4090, driver=OLD), "2.14", {}),
    "T03": (hopper, "2.15", {"uses": ("distributed_nccl",)}),
    "T04": (cpu, "2.15", {"uses": ("torchaudio",)}),
    "T05": (cpu, "2.12", {"installed": "2.9.1"}),
    "T06": (cpu, "2.14", {"installed": "2.12.0", "uses": ("torchscript",)}),
    "T07": (hopper, "2.14", {"installed": "2.10.0"}),
    "T08": (windows(RTX_4090, driver="581.80"), "2.12", {}),
}


@pytest.mark.parametrize("rule", LATER)
def test_every_later_rule_speaks_where_it_should(ask: Advise, rule: str) -> None:
    machine, to, more, verdict = LATER[rule]
    judged = ask(machine, to, **more).judged
    said = {one.rule: one for one in judged.reasons}
    assert rule in said, said
    assert said[rule].verdict == verdict
    assert judged.verdict == verdict
    assert said[rule].source


@pytest.mark.parametrize("rule", TRAPS)
def test_every_trap_is_named_and_changes_no_verdict(ask: Advise, rule: str) -> None:
    machine, to, more = TRAPS[rule]
    advised = ask(machine, to, **more)
    said = {one.rule: one for one in advised.judged.notes}
    assert rule in said, said
    assert said[rule].source
    assert rule not in {one.rule for one in advised.judged.reasons}


def test_no_rule_is_left_without_a_case(catalog: Catalog) -> None:
    tested = {row[4] for row in ARTICLE} | set(LATER) | set(TRAPS) | {"X01"}  # X01 is about code: test_scan has it
    assert {rule.id for rule in catalog.advice.rules} == tested


@pytest.mark.parametrize(
    ("rule", "machine", "to", "more"),
    [
        ("S2", hopper, "2.12", {}),
        ("S5", hopper, "2.12", {"uses": ("new_project",)}),
        ("S6", linux(T4, driver=NEW), "2.12", {}),
        ("S9", hopper, "2.12", {}),
        ("H01", linux(T4, driver=NEW), "2.15", {}),
        ("H03", linux(RTX_4090, driver="580.65.06"), "2.15", {}),
        ("H12", ascend, "2.14.0", {}),
        ("E2.13-g", amd, "2.14", {"uses": ("cpu_compile_in_ci",)}),
        ("X02", cpu, "2.7", {"installed": "2.7.0", "uses": ("compiled_extensions",)}),
        ("X04", linux(RTX_4090, driver=OLD), "2.12", {"installed": "2.10.0", "uses": ("compiled_extensions",)}),
        ("X06", cpu, "2.12", {"installed": "2.6.0"}),
        ("X06", cpu, "2.12", {}),
        ("T01", ampere, "2.13", {}),
        ("T08", hopper, "2.12", {}),
    ],
)
def test_a_rule_is_silent_beside_its_case(
    ask: Advise, rule: str, machine: Machine, to: str, more: dict[str, object]
) -> None:
    judged = ask(machine, to, **more).judged
    assert rule not in {one.rule for one in (*judged.reasons, *judged.notes)}


@pytest.mark.parametrize("machine", [amd, linux(B580), windows(RTX_4090, driver="581.80")])
def test_wheels_that_nobody_has_seen_are_a_reason_to_wait(ask: Advise, machine: Machine) -> None:
    judged = ask(machine, "2.15").judged
    assert judged.verdict == WAIT
    assert any(one.rule == "status" and "unverified" in one.text for one in judged.reasons)


def test_torch_npu_goes_with_its_own_torch(ask: Advise) -> None:
    advised = ask(ascend, "2.14")
    assert advised.target == "2.14.0"
    assert advised.judged.verdict != MUST_NOT
    assert ask(ascend, "latest").judged.verdict == MUST_NOT
    # Without the card the word is enough.
    assert ask(cpu, "2.12", ("torch_npu",)).target == "2.12.0"
    assert ask(cpu, "2.14.1", ("torch_npu",)).judged.reasons[0].rule == "H12"


def test_what_is_installed_is_nothing_to_do(ask: Advise) -> None:
    assert ask(cpu.replace(installed={"torch": "2.14.1+cpu"}), "2.14").judged.verdict == UP_TO_DATE
    newer = ask(cpu, "2.13", installed="2.14.1").judged
    assert newer.verdict == UP_TO_DATE
    assert "newer than 2.13.0" in newer.reasons[0].text


def test_nothing_to_say_is_no_hurry(ask: Advise) -> None:
    judged = ask(cpu, "2.14", installed="2.13.0").judged
    assert judged.verdict == NO_HURRY
    assert judged.reasons[0].rule == "none"


def test_uses_are_told_with_whence(ask: Advise) -> None:
    machine = cpu.replace(installed={"torch": "2.9.0", "flash-attn": "2.7.4"})
    uses = ask(machine, "2.12").uses
    assert uses["compiled_extensions"] == "installed: flash-attn 2.7.4"
    assert uses["stable_training"].startswith("assumed")
    assert ask(machine, "2.12", ("new_project",)).uses["new_project"] == "named with --uses"
