"""Torch alone is chosen without resolvelib; on a whole grid of questions resolvelib chooses the same."""

from __future__ import annotations

import pytest

from torchinstall.catalog.catalog import Catalog
from torchinstall.model.machine import AmdDriver, Gpu, Machine, NvidiaDriver, Os, Python
from torchinstall.model.request import Request, Wish
from torchinstall.model.sighting import Sightings
from torchinstall.resolve.candidates import candidates
from torchinstall.resolve.cards import select
from torchinstall.resolve.decision import Fitting
from torchinstall.resolve.joint import TORCH, solve
from torchinstall.resolve.pages import offline
from torchinstall.resolve.provider import solved
from torchinstall.resolve.sources import IDEAL, OWN, REACHABLE, Sources
from torchinstall.resolve.target import target_of

REQUESTS = {
    "anything": (),
    "a line of releases": ("==2.6.*",),
    "a floor": (">=2.9",),
    "a ceiling": ("<2.5",),
    "two that meet": (">=2.5", "<2.9"),
    "two that don't": (">=2.9", "<2.5"),
    "what never was": ("==9.9",),
    "all but the newest": ("!=2.15.0", "!=2.14.1"),
}


def machines() -> list[Machine]:
    def one(gpu: Gpu | None, system: str = "linux", python: str = "3.12", **drivers: object) -> Machine:
        release = Os(name=system, glibc="2.35" if system == "linux" else None, version="14.4")
        arch = "arm64" if system == "macos" else "x86_64"
        return Machine(os=release, arch=arch, python=Python(version=python), gpus=(gpu,) if gpu else (), **drivers)

    found = [
        one(Gpu(vendor="nvidia", name="a card", compute_capability=cc), python=python,
            nvidia=NvidiaDriver(version=driver, state="ok"))
        for cc in ("5.2", "6.1", "7.0", "7.5", "8.6", "9.0", "12.0")
        for driver in ("470.42.01", "535.183.01", "570.86.15", "580.95.05")
        for python in ("3.9", "3.12")
    ]  # fmt: skip
    found += [one(Gpu(vendor="amd", gfx=gfx), amd=AmdDriver(rocm="7.2.0")) for gfx in ("gfx900", "gfx1100", "gfx942")]
    found += [one(None), one(None, "windows"), one(Gpu(vendor="apple", name="Apple M3"), "macos")]
    return [*found, one(Gpu(vendor="intel", pci_id="8086:e20b"))]


@pytest.mark.parametrize("specifiers", REQUESTS.values(), ids=REQUESTS)
@pytest.mark.parametrize("pre", [False, True])
def test_both_ways_choose_the_same(catalog: Catalog, specifiers: tuple[str, ...], pre: bool) -> None:
    wishes = tuple(Wish(name=TORCH, specifier=text, text=f"torch{text}", origin="a test") for text in specifiers)
    # One of two as a constraint: those bind in the same way.
    request = Request(wishes=wishes[:1], constraints=wishes[1:], pre=pre, offline=True)
    chosen = 0
    for machine in machines():
        target, selection = target_of(machine), select(machine, request, catalog)
        for sightings in (Sightings(), Sightings(listings=offline(catalog))):
            sources = Sources(sightings, target, catalog, None, None)
            fitting = Fitting(candidates(machine, request, selection, target, catalog, sources.seen))
            for mode in (IDEAL, OWN, REACHABLE):
                alone = solve(fitting, (), request, catalog, sources, mode)
                joint = solved(fitting, (), wishes, request, catalog, sources, mode)
                assert alone == joint, (machine, mode)
                chosen += alone is not None
    assert chosen > 20 or specifiers in {("==9.9",), (">=2.9", "<2.5")}


def test_every_wish_about_torch_binds(catalog: Catalog) -> None:
    """The choice itself looks at the wishes, also where no rule has sorted the builds out before."""
    machine = machines()[0]
    builds = catalog.builds("linux_x86_64")
    wish = Wish(name=TORCH, specifier="==2.6.*", text="torch==2.6.*", origin="a test")
    sources = Sources(Sightings(), target_of(machine), catalog, None, None)
    for request in (Request(wishes=(wish,)), Request(constraints=(wish,))):
        found = solve(builds, (), request, catalog, sources, IDEAL)
        assert found is not None
        assert found.build.torch.startswith("2.6.")
        assert found == solved(builds, (), (wish,), request, catalog, sources, IDEAL)
