"""What holds for every machine with AMD, Ascend or Intel cards, whatever is asked of it."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from torchinstall.catalog.catalog import Catalog
from torchinstall.catalog.load import load_catalog
from torchinstall.catalog.rows import CHOSEN_OFFLINE
from torchinstall.model.machine import AmdDriver, AscendDriver, Gpu, Machine, Os, Python
from torchinstall.model.request import Request, Wish
from torchinstall.model.version import numbers
from torchinstall.output.jsonout import dumps, plan_to_json
from torchinstall.output.language import localized
from torchinstall.resolve import npu, rocm
from torchinstall.resolve.decision import Question, decide
from torchinstall.resolve.explain import asked, explain
from torchinstall.resolve.resolve import resolve

CATALOG: Catalog = load_catalog()
GFX = ["gfx803", "gfx900", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx950", "gfx1010", "gfx1030", "gfx1031", "gfx1100",
       "gfx1102", "gfx1103", "gfx1151", "gfx1201", "gfx9999", "gfx"]  # fmt: skip
CANN = [None, "7.0.0", "8.0.RC3", "8.0.0", "8.2.RC1", "8.3.RC1", "8.5.0", "9.0.0", "9.1.0", "9.2.0", "10.1", "x"]
SOCS = [None, "910B3", "910_9391", "310P3", "950PR", "310B4", "910", "nobody knows"]

amd = st.builds(Gpu, vendor=st.just("amd"), gfx=st.sampled_from(GFX), name=st.sampled_from([None, "Radeon"]))
ascend = st.builds(Gpu, vendor=st.just("ascend"), soc=st.sampled_from(SOCS))
intel = st.builds(
    Gpu,
    vendor=st.just("intel"),
    pci_id=st.sampled_from([None, "8086:e20b", "8086:56a0", "8086:b080", "8086:9a49", "8086:ffff"]),
    integrated=st.sampled_from([None, True, False]),
)
stacks = st.builds(
    AmdDriver,
    rocm=st.sampled_from([None, "5.7", "6.4.1", "7.2.0", "7.14", "10.1"]),
    amdgpu=st.sampled_from([None, "6.12.12", "6.16.6"]),
    dkms=st.sampled_from([None, True, False]),
)
systems = st.builds(
    Os,
    name=st.sampled_from(["linux", "linux", "windows"]),
    glibc=st.sampled_from([None, "2.17", "2.28", "2.39"]),
    wsl=st.sampled_from([None, True]),
)
pythons = st.builds(
    Python, version=st.sampled_from([None, "3.8.1", "3.9.18", "3.10.14", "3.11.9", "3.12.4", "3.13.1", "3.14.0"])
)
requests_ = st.builds(
    Request,
    wishes=st.lists(
        st.builds(
            Wish,
            name=st.sampled_from(["torch", "torchvision", "torch-npu"]),
            specifier=st.sampled_from(["", "==2.9.*", ">=2.12", "<2.7", "==2.10.0.post7"]),
            text=st.just("wish"),
        ),
        max_size=2,
    ).map(tuple),
    variant=st.sampled_from([None, None, "rocm7.14", "rocm10.0.0", "npu", "xpu", "cpu"]),
)


def machines(cards: st.SearchStrategy[Gpu]) -> st.SearchStrategy[Machine]:
    return st.builds(
        Machine,
        os=systems,
        arch=st.sampled_from(["x86_64", "aarch64"]),
        python=pythons,
        gpus=st.lists(cards, min_size=1, max_size=3).map(tuple),
        amd=st.one_of(st.none(), stacks),
        ascend=st.builds(AscendDriver, cann=st.sampled_from(CANN), driver=st.sampled_from([None, "25.2.0", "x"])),
    )


usual = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@usual
@given(machines(st.one_of(amd, ascend, intel)), requests_)
def test_there_is_a_plan_for_everything_and_always_the_same(machine: Machine, request: Request) -> None:
    plan = resolve(machine, request, CATALOG)
    assert plan.outcome in {"install", "blocked", "undetermined"}
    assert (plan.outcome == "install") == bool(plan.packages)
    assert dumps(plan_to_json(plan)) == dumps(plan_to_json(resolve(machine, request, CATALOG)))
    brief = resolve(machine, request, CATALOG, brief=True)
    assert dumps(plan_to_json(brief, compact=True)) == dumps(plan_to_json(plan, compact=True))
    assert localized(plan, "zh").packages == plan.packages


@usual
@given(machines(amd), requests_)
def test_what_is_chosen_for_amd_has_code_that_works_on_every_card(machine: Machine, request: Request) -> None:
    decision = decide(Question(machine=machine, request=request, catalog=CATALOG))
    if decision.solution is None or decision.selection.backend != "rocm":
        return
    build = decision.solution.build
    known = [*CATALOG.builds(build.platform), *(row.build for row in CATALOG.amd_builds(build.platform))]
    row = next(b for b in known if (b.torch, b.variant) == (build.torch, build.variant))
    assert row.status in CHOSEN_OFFLINE or decision.selection.named
    for card in decision.selection.cards:
        assert rocm.runs_on(build, card.gpu.gfx or "", CATALOG)
    if machine.os.name == "windows" or machine.os.wsl:
        assert build.index


@usual
@given(machines(ascend), requests_)
def test_what_is_chosen_for_ascend_is_one_row_of_the_table(machine: Machine, request: Request) -> None:
    plan = resolve(machine, request, CATALOG)
    if plan.outcome != "install" or plan.variant != "npu":
        return
    pins = {pin.name: pin for pin in plan.packages}
    row = npu.row_of(pins["torch-npu"].version, plan.platform or "", CATALOG)
    assert row is not None
    assert row.torch == plan.torch
    assert pins["torch"].index == CATALOG.index_url("cpu")
    assert not row.partial
    assert not row.prerelease
    cann = machine.ascend.cann if machine.ascend else None
    if cann:
        assert npu.fits_cann(row, cann, CATALOG)
    if machine.python.version:
        major, minor = numbers(machine.python.version)[:2]
        assert f"cp{major}{minor}" in row.pythons


@usual
@given(machines(amd), amd)
def test_another_card_of_the_vendor_never_adds_a_candidate(machine: Machine, card: Gpu) -> None:
    def fitting(one: Machine) -> set[tuple[str, str]]:
        decision = decide(Question(machine=one, request=Request(), catalog=CATALOG))
        if decision.undetermined or decision.selection.backend != "rocm":
            return set()
        # AMD's own index comes in where PyTorch's wheels stop, which another card may bring about.
        return {(build.torch, build.variant) for build in decision.candidates.fitting() if not build.index}

    more = machine.replace(gpus=(*(machine.gpus or ()), card))
    before, after = fitting(machine), fitting(more)
    assert after <= before | {pair for pair in after if pair[1] == "rocm7.14"}


@usual
@given(machines(ascend), st.sampled_from(["8.5.0", "9.0.0", "9.1.0"]))
def test_a_newer_cann_of_the_window_loses_nothing(machine: Machine, cann: str) -> None:
    def fitting(version: str) -> set[str]:
        one = machine.replace(ascend=AscendDriver(cann=version), gpus=(Gpu(vendor="ascend", soc="910B3"),))
        found = decide(Question(machine=one, request=Request(), catalog=CATALOG)).candidates.fitting()
        return {build.torch for build in found}

    assert fitting(cann) <= fitting("9.2.0")


@usual
@given(machines(st.one_of(amd, ascend, intel)), st.sampled_from(["rocm7.2", "npu", "torch==2.9", "2.15.0", "cu130"]))
def test_every_explanation_agrees_with_the_decision(machine: Machine, what: str) -> None:
    question = Question(machine=machine, request=Request(), catalog=CATALOG)
    answer = explain(question, asked(what, CATALOG.joint))
    assert answer.possible == (answer.exit_code == 0)
    assert answer.why
    for way in answer.ways:
        assert way.torch
        assert way.reason.text
