"""Advice and resolver are of one mind: what one forbids, the other can't choose, on every machine of a grid."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import pytest

from hand import GTX_1080, H100, K80, M3, RTX_3090, RTX_4090, RTX_5090, T4, V100, linux, mac, want, windows
from torchinstall.advise.judge import Case, forbidden, judge
from torchinstall.app.advise import advise, case_of, requirements, uses_of
from torchinstall.app.base import App
from torchinstall.catalog.catalog import Catalog
from torchinstall.model.advice import MUST_NOT, WAIT, AdviceRule, Asking
from torchinstall.model.machine import Gpu, Machine
from torchinstall.model.options import Options
from torchinstall.model.plan import BLOCKED, INSTALL, Reason
from torchinstall.model.request import Request, Wish
from torchinstall.resolve.resolve import resolve
from torchinstall.resolve.wishes import parse

DRIVERS = ["450.80.02", "535.183.01", "575.57.08", "580.65.06", "580.95.05", "590.48.01", None]
CARDS = [(GTX_1080,), (V100,), (K80,), (T4,), (RTX_3090,), (RTX_4090,), (H100,), (RTX_5090,), (V100, RTX_5090)]
PYTHONS = ["3.9.19", "3.10.14", "3.12.4", "3.14.0"]
TARGETS = ["2.5.1", "2.6.0", "2.8.0", "2.10.0", "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0"]
USES = [(), ("torchtext",), ("torch_npu",), ("pinned_torchaudio",), ("new_project", "distributed_nccl")]


def grid() -> list[Machine]:
    machines = [
        linux(*cards, driver=driver, python=python)
        for cards, driver, python in itertools.product(CARDS, DRIVERS, PYTHONS)
    ]
    machines += [windows(RTX_4090, driver=driver) for driver in ("528.33", "580.88", "581.80")]
    machines += [linux(RTX_3090, driver="580.95.05", glibc=glibc) for glibc in ("2.17", "2.27", "2.28")]
    machines += [mac(version, M3, python=python) for version in ("12.7", "13.6", "14.5") for python in PYTHONS]
    machines += [
        mac("14.5", arch="x86_64"),
        linux(),
        linux(arch="aarch64"),
        linux(H100, driver="580.95.05", arch="aarch64"),
    ]
    machines += [
        linux(Gpu(vendor="amd", name="AMD Instinct MI300X", gfx="gfx942"), python=python) for python in PYTHONS
    ]
    machines += [linux(Gpu(vendor="ascend", name="Ascend 910B3", soc="910B3"), arch="aarch64", python="3.11.9")]
    machines += [linux(RTX_4090, state="missing"), linux(RTX_4090, driver="580.95.05", state="nouveau")]
    return machines


def constrained(catalog: Catalog, machine: Machine, specifier: str, uses: frozenset[str]) -> Request:
    rules = forbidden(catalog.advice.rules, uses, [release.torch for release in catalog.releases])
    limits = tuple(
        Wish(name="torch", specifier=",".join(f"!={version}" for version in versions), text=rule.id)
        for rule, versions in rules
    )
    wishes = parse(requirements(specifier, uses, machine, catalog), catalog.joint, origin="advise").wishes
    return Request(wishes=wishes, constraints=limits, upgrade=True)


def test_forbidden_is_what_cannot_be_chosen(catalog: Catalog) -> None:
    """Over the grid: must not exactly where the resolver has no choice, and never what it chooses by itself."""
    counts = {MUST_NOT: 0, WAIT: 0, INSTALL: 0}
    for machine in grid()[:: 1 if os.environ.get("WHOLE_GRID") else 5]:
        for named in USES[:1] if machine.gpus else USES:
            asking = Asking(uses=named)
            uses = frozenset(uses_of(asking, machine, catalog.advice, None))
            own = resolve(machine, constrained(catalog, machine, "", uses), catalog)
            for target in TARGETS:
                plan = resolve(machine, constrained(catalog, machine, f"=={target}", uses), catalog)
                case = case_of(machine, plan, catalog, to=target, installed=None).replace(uses=uses)
                verdict = judge(case, catalog.advice.rules).verdict
                where = (machine, target, named, verdict, plan.blocked)
                if verdict == MUST_NOT:
                    assert plan.outcome == BLOCKED, where
                    assert own.torch != target, where
                    counts[MUST_NOT] += 1
                if plan.outcome == BLOCKED:
                    assert verdict in {MUST_NOT, WAIT}, where
                    counts[WAIT] += verdict == WAIT
                if plan.outcome == INSTALL:
                    assert verdict != MUST_NOT, where
                    assert plan.torch == target
                    counts[INSTALL] += 1
    assert counts[MUST_NOT] > 150, counts
    assert counts[INSTALL] > 150, counts
    assert counts[WAIT] > 0, counts


def test_a_wait_for_want_of_sight_ends_when_the_variant_is_named(catalog: Catalog) -> None:
    """Blocked and yet not forbidden is only what the resolver would take on the user's word."""
    for machine in (windows(RTX_4090, driver="581.80"), windows(T4, driver="581.80")):
        plan = resolve(machine, want("torch==2.15.0"), catalog)
        assert plan.outcome == BLOCKED
        assert case_of(machine, plan, catalog, to="2.15.0", installed=None).blocked is not None
        assert resolve(machine, want("torch==2.15.0", variant="cu132"), catalog).outcome == INSTALL


def test_a_rule_alone_forbids_nothing() -> None:
    """A rule that the resolver doesn't bear out is no verdict: there is one set of facts."""
    rule = AdviceRule(
        id="Z", to=">=2.0", verdict=MUST_NOT, when={"vendor": ("nvidia",)}, text="no", status="declared", source="s",
        checked="2026-11-30",
    )  # fmt: skip
    case = Case(to="2.15.0", vendors=frozenset({"nvidia"}))
    assert judge(case, [rule]).verdict != MUST_NOT
    blocked = case.replace(blocked=Reason(rule="no-kernel", text="no code for it"))
    judged = judge(blocked, [rule])
    assert judged.verdict == MUST_NOT
    assert {one.rule for one in judged.reasons} == {"Z", "no-kernel"}


def test_the_resolver_has_a_reason_even_where_no_rule_knows_one() -> None:
    judged = judge(Case(to="2.15.0", blocked=Reason(rule="musl", text="no wheels for musl", source="s")), [])
    assert judged.verdict == MUST_NOT
    assert [(one.rule, one.text, one.source) for one in judged.reasons] == [("musl", "no wheels for musl", "s")]


@pytest.mark.parametrize(("uses", "best"), [(("torchtext",), "2.3.1"), (("pinned_torchaudio",), "2.11.0")])
def test_what_advice_forbids_is_kept_from_the_newest_too(uses: tuple[str, ...], best: str, tmp_path: Path) -> None:
    advised = advise(
        App(os.environ, tmp_path), Options(offline=True), Asking(to="2.12", uses=uses),
        '{"os": {"name": "linux", "glibc": "2.35"}, "arch": "x86_64", "python": {"version": "3.11.9"}, "gpus": []}',
    )  # fmt: skip
    assert advised.judged.verdict == MUST_NOT
    assert advised.best is not None
    assert advised.best.torch == best
