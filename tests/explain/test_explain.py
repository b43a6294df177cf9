"""Explanations: the verdict, the rule that decides with its source, and ways out that hold when they are gone."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hand import GTX_1080, RTX_3090, RTX_4090, RTX_5090, linux, mac, want
from torchinstall.catalog.catalog import Catalog
from torchinstall.errors import RequirementError
from torchinstall.model.explanation import Explanation
from torchinstall.model.machine import AmdDriver, AscendDriver, Container, Gpu, Machine
from torchinstall.model.request import Request
from torchinstall.resolve.decision import Question, decide
from torchinstall.resolve.declare import Declaration, declared
from torchinstall.resolve.explain import asked, explain
from torchinstall.resolve.resolve import resolve

M2 = Gpu(vendor="apple", name="Apple M2", integrated=True)
NPU = Gpu(vendor="ascend", name="Ascend 910B3", soc="910B3")
VII = Gpu(vendor="amd", name="Radeon VII", gfx="gfx906")

PASCAL = linux(GTX_1080, driver="580.95.05")
ON_550 = linux(RTX_3090, driver="550.54.15")
BLACKWELL = linux(RTX_5090, driver="580.95.05")
VEGA = linux(VII).replace(amd=AmdDriver(rocm="7.2.0"))
ASCEND = linux(NPU, arch="aarch64", python="3.11.9").replace(ascend=AscendDriver(driver="25.2.0", cann="8.2.RC1"))


def explained(machine: Machine, what: str, catalog: Catalog, request: Request | None = None) -> Explanation:
    return explain(
        Question(machine=machine, request=request or want("torch"), catalog=catalog), asked(what, catalog.joint)
    )


GOLDEN = [
    (
        "what torch 2.15 itself advises to a Pascal card is wrong",
        PASCAL, "2.15.0+cu126",
        "2.15.0+cu126 isn't possible here",
        "torch 2.15.0 was never published as cu126 for linux_x86_64; it exists as: cu132, cu130, ",
        "torch 2.14.1 cu126, if the version isn't fixed (2.15.0+cu126)",
    ),
    (
        "cu130 on driver 550",
        ON_550, "cu130",
        "cu130 isn't possible here",
        "CUDA 13 wheels need an NVIDIA driver >= 580.65.06; here is 550.54.15",
        "torch 2.15.0 cu130, if the NVIDIA driver is updated to 580.65.06 or newer",
    ),
    (
        "torch 2.5 on a 5090",
        BLACKWELL, "torch==2.5",
        "torch==2.5 isn't possible here",
        "the cu124 wheels of torch 2.5.1 have no code for GeForce RTX 5090 (compute capability 12.0): only sm_50, sm_60, sm_70, sm_75, sm_80, sm_86, sm_90",
        "torch 2.15.0 cu132, if the version isn't fixed (torch==2.5)",
    ),
    (
        "Vega on ROCm 7",
        VEGA, "rocm7.2",
        "rocm7.2 isn't possible here",
        "rocm7.2 lists gfx906, but from ROCm 6.4 on its libraries have nothing for Radeon VII",
        "torch 2.9.1 rocm6.3, if the variant isn't fixed (rocm7.2)",
    ),
    (
        "910B with CANN 8.2 and torch 2.15",
        ASCEND, "torch==2.15",
        "torch==2.15 isn't possible here",
        "no released torch-npu belongs to torch 2.15.0; the newest is 2.14.0, for torch 2.14.0",
        "torch 2.6.0 npu, if the version isn't fixed (torch==2.15)",
    ),
    (
        "910B with CANN 8.2 and torch 2.14",
        ASCEND, "torch==2.14",
        "torch==2.14 isn't possible here",
        "torch-npu 2.14.0 (torch 2.14.0) needs CANN 8.5 to 9.2; here is 8.2.RC1",
        "torch 2.14.0 npu, if CANN 8.5 to 9.2 is installed",
    ),
    (
        "macOS 13",
        mac("13.6", M2), "torch==2.15",
        "torch==2.15 isn't possible here",
        "the wheel of torch 2.15.0 needs macOS >= 14.0; here is 13.6",
        "torch 2.15.0 mps, if macOS is updated to 14.0 or newer",
    ),
    (
        "Python 3.9",
        linux(RTX_4090, driver="580.95.05", python="3.9.18"), "2.15.0",
        "2.15.0 isn't possible here",
        "no cu132 wheel of torch 2.15.0 for Python 3.9; there are wheels for 3.11, 3.12, 3.13, 3.14, 3.14t, 3.15, 3.15t",
        "torch 2.15.0 cu132, if Python 3.11 is used",
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("machine", "what", "verdict", "why", "way"), [r[1:] for r in GOLDEN], ids=[r[0] for r in GOLDEN]
)
def test_golden(machine: Machine, what: str, verdict: str, why: str, way: str, catalog: Catalog) -> None:
    answer = explained(machine, what, catalog)
    assert not answer.possible
    assert answer.exit_code == 3
    assert answer.verdict.text == verdict
    # The list of other variants isn't spelled out: it grows with the data.
    assert answer.why[0].text.startswith(re.sub(r"cu132, cu130, $", "", why))
    first = answer.ways[0]
    assert f"torch {first.torch} {first.variant}, if {first.reason.text}" == way


def test_the_hint_of_the_release_is_corrected(catalog: Catalog) -> None:
    notes = " ".join(explained(PASCAL, "2.15.0+cu126", catalog).notes)
    assert "2.14.1" in notes
    assert "cu126" in notes


def test_every_fact_names_its_source(catalog: Catalog) -> None:
    for _, machine, what, *_ in GOLDEN:
        answer = explained(machine, what, catalog)
        assert any(why.source for why in answer.why), what


def test_what_is_chosen_is_said_to_be(catalog: Catalog) -> None:
    answer = explained(PASCAL, "cu126", catalog)
    assert (answer.possible, answer.exit_code) == (True, 0)
    assert answer.verdict.rule == "explain-chosen"
    assert (answer.torch, answer.variant) == answer.chosen == ("2.14.1", "cu126")
    assert "covers" in [why.rule for why in answer.why]


def test_what_is_possible_and_not_chosen_says_why(catalog: Catalog) -> None:
    answer = explained(linux(RTX_4090, driver="580.95.05"), "torch==2.12", catalog)
    assert answer.possible
    assert answer.verdict.rule == "explain-possible"
    assert (answer.torch, answer.chosen) == ("2.12.1", ("2.15.0", "cu132"))
    assert answer.why[0].rule == "not-newest"
    cpu = explained(linux(RTX_4090, driver="580.95.05"), "cpu", catalog)
    assert cpu.possible
    assert cpu.why[0].rule == "not-cpu"


def test_what_is_taken_only_by_name_says_so(catalog: Catalog) -> None:
    answer = explained(linux(RTX_4090, driver="580.95.05"), "2.15.0+cu130", catalog)
    assert (answer.verdict.rule, answer.why[0].rule) == ("explain-possible", "status")


def test_a_card_that_stands_in_the_way_is_named(catalog: Catalog) -> None:
    answer = explained(linux(GTX_1080, RTX_5090, driver="580.95.05"), "cu132", catalog)
    assert not answer.possible
    ways = {way.reason.rule: way for way in answer.ways}
    assert "RTX 5090" in ways["if-alone"].reason.text
    assert "CUDA_VISIBLE_DEVICES=1" in ways["if-alone"].reason.text


def test_a_driver_that_dropped_the_card(catalog: Catalog) -> None:
    answer = explained(linux(GTX_1080, driver="590.48.01"), "cu126", catalog)
    assert answer.why[0].rule == "blocked-dropped"
    assert answer.ways[0].reason.rule == "if-driver-branch"


def test_an_unknown_target_is_no_verdict(catalog: Catalog) -> None:
    answer = explained(linux(hpc="slurm"), "torch==2.12", catalog)
    assert (answer.possible, answer.exit_code) == (False, 4)
    assert answer.verdict.rule == "explain-unknown"


@pytest.mark.parametrize(
    ("what", "card"),
    [
        ("cu130", "RTX 4090"),
        ("2.15.0+cu132", "RTX 4090"),
        ("rocm7.2", "gfx1100"),
        ("xpu", "arc-b580"),
        ("npu", "910B3"),
    ],
)
def test_without_an_accelerator_nothing_runs_a_build_for_one(what: str, card: str, catalog: Catalog) -> None:
    bare = linux()
    answer = explained(bare, what, catalog)
    assert (answer.possible, answer.exit_code) == (False, 3)
    assert answer.why[0].rule == "no-accelerator"
    assert answer.chosen == ("2.14.1", "cpu")
    (way,) = answer.ways
    assert (way.torch, way.variant) == (answer.torch, answer.variant)
    assert f'--gpu "{card}"' in way.reason.text
    declaration = Declaration(gpus=(card,))
    assert explained(declared(bare, declaration, catalog), what, catalog).possible


def test_a_card_of_another_maker_doesn_t_make_it_possible(catalog: Catalog) -> None:
    answer = explained(linux(RTX_4090, driver="580.95.05"), "rocm7.2", catalog)
    assert (answer.possible, answer.exit_code, answer.why[0].rule) == (False, 3, "backend")
    assert "RTX 4090" in answer.why[0].text


def test_where_nobody_can_know_a_named_variant_is_possible(catalog: Catalog) -> None:
    build = linux(container=Container(kind="docker", build=True, evidence=("host name buildkitsandbox",)))
    answer = explained(build, "cu130", catalog)
    assert (answer.possible, answer.exit_code, answer.why[0].rule) == (True, 0, "image-build")


def test_a_companion_can_be_asked_about(catalog: Catalog) -> None:
    answer = explained(linux(RTX_4090, driver="580.95.05"), "torchvision==0.26.0", catalog)
    assert (answer.possible, answer.torch) == (True, "2.11.0")


@pytest.mark.parametrize("text", ["numpy", "", "==", "cu13x!"])
def test_what_cant_be_explained_is_told_apart(text: str, catalog: Catalog) -> None:
    with pytest.raises(RequirementError):
        asked(text, catalog.joint)


@pytest.mark.parametrize(
    ("text", "variant", "specifier"),
    [
        ("cu130", "cu130", None), ("rocm7.14", "rocm7.14", None), ("2.15.0", None, "==2.15.0"),
        ("2.15", None, "==2.15.*"), ("2.15.0+cu132", "cu132", "==2.15.0"), ("torch==2.6", None, "==2.6.*"),
        ("torch==2.6.0+cu124", "cu124", "==2.6.0"), ("torch>=2.6,<2.8", None, "<2.8,>=2.6"),
    ],
)  # fmt: skip
def test_reading_the_question(text: str, variant: str | None, specifier: str | None, catalog: Catalog) -> None:
    found = asked(text, catalog.joint)
    assert found.variant == variant
    assert [wish.specifier for wish in found.wishes] == ([] if specifier is None else [specifier])


def _driver(machine: Machine, version: str) -> Machine:
    assert machine.nvidia is not None
    return machine.replace(nvidia=machine.nvidia.replace(version=version, state="ok"))


@pytest.mark.parametrize("what", ["cu130", "cu132", "2.15.0", "torch==2.13"])
def test_ways_out_hold_when_they_are_gone(what: str, catalog: Catalog) -> None:
    """The driver and the Python that an explanation proposes are put in, and the thing is possible."""
    for machine in (ON_550, linux(RTX_5090, driver="570.86", python="3.9.1"), linux(GTX_1080, driver="470.256.02")):
        answer = explained(machine, what, catalog)
        for way in answer.ways:
            facts = way.reason.params
            if way.reason.rule == "if-driver":
                changed = _driver(machine, facts["minimum"])
            elif way.reason.rule == "if-python":
                changed = machine.replace(python=machine.python.replace(version=facts["python"]))
            else:
                continue
            assert explained(changed, what, catalog).possible, (what, way.reason.text)


def test_it_is_the_same_decision_as_the_plan(catalog: Catalog) -> None:
    for machine in (PASCAL, ON_550, BLACKWELL, VEGA, ASCEND, mac("13.6", M2)):
        plan = resolve(machine, want("torch"), catalog)
        answer = explained(machine, "torch>=2.0", catalog)
        assert answer.possible == (plan.outcome == "install")
        decision = decide(Question(machine=machine, request=want("torch"), catalog=catalog))
        assert (answer.torch, answer.variant) == (plan.torch, plan.variant)
        assert (decision.solution is not None) == answer.possible


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "torchinstall", "explain", *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_on_the_command_line(tmp_path: Path) -> None:
    done = run("cu130", "--gpu", "RTX 3090", "--driver", "550.54.15", "--os", "linux", "--python", "3.12")
    assert done.returncode == 3, done.stderr
    assert done.stdout.startswith("No ")
    assert "580.65.06" in done.stdout
    document = json.loads(
        run("cu126", "--gpu", "GTX 1080", "--driver", "580.95.05", "--os", "linux", "--python", "3.12", "--json").stdout
    )
    assert document["possible"] is True
    assert document["chosen"] == {"torch": "2.14.1", "variant": "cu126"}
    assert all(why["rule"] and why["text"] for why in document["why"])
    machine = tmp_path / "machine.json"
    machine.write_text(
        json.dumps({"os": {"name": "linux"}, "arch": "x86_64", "python": {"version": "3.12.1"},
                    "gpus": [{"vendor": "amd", "gfx": "gfx906"}]})
    )  # fmt: skip
    told = json.loads(run("rocm7.2", "--machine", str(machine), "--json").stdout)
    assert (told["possible"], told["why"][0]["rule"]) == (False, "rocm-libraries")
    assert told["chosen"] == {"torch": "2.9.1", "variant": "rocm6.3"}
    report = tmp_path / "smi.txt"
    report.write_text("GPU 0: NVIDIA GeForce GTX 1080 Ti (UUID: GPU-11111111-2222-3333-4444-555555555555)\n")
    smi = run("2.15.0", "--report", str(report), "--os", "linux", "--python", "3.12", "--json")
    assert json.loads(smi.stdout)["why"][0]["rule"] == "no-kernel", smi.stdout + smi.stderr
    assert run("cu130", "--machine", str(machine), "--report", str(report)).returncode == 2
    bad = run("--gpu", "none", "numpy")
    assert bad.returncode == 2
    assert "Traceback" not in bad.stderr
