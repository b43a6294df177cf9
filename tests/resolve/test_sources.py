"""Where wheels come from: what the sources were found to have decides with the catalogue (policy 10)."""

from __future__ import annotations

import pytest

from hand import GTX_1080_TI, RTX_4090, RTX_5090, linux, want
from torchinstall.catalog.catalog import Catalog
from torchinstall.errors import UsageError
from torchinstall.model.machine import Python
from torchinstall.model.request import Request
from torchinstall.model.sighting import DEFAULT, EXTRA, FIND_LINKS, MIRROR, PYTORCH, Listing, Sightings, WheelFile
from torchinstall.resolve.mirrors import meant, with_origin_hashes
from torchinstall.resolve.resolve import resolve


def wheel(version: str, *, name: str = "torch", python: str = "cp312", tag: str = "manylinux_2_28_x86_64") -> WheelFile:
    return WheelFile(
        filename=f"{name}-{version}-{python}-{python}-{tag}.whl",
        name=name,
        version=version,
        python=(python,),
        abi=(python,),
        platform=(tag,),
        url=f"http://127.0.0.1/{name}-{version}",
        sha256="ab" * 32,
        size=1000,
    )


def page(role: str, url: str, *wheels: WheelFile, variant: str | None = None, project: str = "torch") -> Listing:
    kind = "flat" if role == FIND_LINKS else "simple"
    return Listing(url=url, kind=kind, role=role, variant=variant, project=project, state="seen", wheels=wheels)


def lost(role: str, url: str, variant: str | None = None) -> Listing:
    return Listing(url=url, role=role, variant=variant, project="torch", state="unreachable", error="no answer")


CPU = linux()
PASCAL = linux(GTX_1080_TI, driver="580.95.05")


def seen(*listings: Listing) -> Sightings:
    return Sightings(listings=listings)


def test_a_seen_wheel_is_live_and_hashed(catalog: Catalog) -> None:
    url = catalog.index_url("cu126")
    plan = resolve(PASCAL, want("torch"), catalog, seen(page(PYTORCH, url, wheel("2.14.1+cu126"), variant="cu126")))
    assert plan.catalog.live
    assert plan.packages[0].sha256 == "ab" * 32
    assert plan.packages[0].index == url


def test_what_the_index_does_not_have_is_not_chosen(catalog: Catalog) -> None:
    url = catalog.index_url("cu126")
    plan = resolve(PASCAL, want("torch"), catalog, seen(page(PYTORCH, url, wheel("2.13.0+cu126"), variant="cu126")))
    assert (plan.torch, plan.catalog.live) == ("2.13.0", True)
    other_python = page(PYTORCH, url, wheel("2.14.1+cu126", python="cp311"), wheel("2.13.0+cu126"), variant="cu126")
    assert resolve(PASCAL, want("torch"), catalog, seen(other_python)).torch == "2.13.0"


def test_the_pythons_are_those_of_the_wheels_that_the_source_has(catalog: Catalog) -> None:
    """A folder holds what somebody put there, not all that was published."""
    anybody = PASCAL.replace(python=Python())
    published = resolve(anybody, want("torch"), catalog).pythons
    assert {"3.11", "3.12", "3.13"} <= set(published)

    def pythons(*wheels: WheelFile, companion: str | None = None, more: tuple[Listing, ...] = ()) -> tuple[str, ...]:
        down = lost(PYTORCH, catalog.index_url("cu126"), "cu126")
        request = want("torch", *([companion] if companion else []))
        plan = resolve(anybody, request, catalog, seen(page(FIND_LINKS, "/srv/wheels", *wheels), down, *more))
        assert plan.packages[0].index == "/srv/wheels"
        return plan.pythons

    here = wheel("2.14.1+cu126", python="cp311")
    assert pythons(here) == ("3.11",)
    assert pythons(here, wheel("2.14.1+cu126", python="cp313"), wheel("2.13.0+cu126")) == ("3.11", "3.13")
    assert pythons(here, wheel("2.14.1+cu126", tag="manylinux_2_28_aarch64")) == ("3.11",)
    free = here.replace(filename="free.whl", python=("cp314",), abi=("cp314t",))
    assert pythons(here, free) == ("3.11", "3.14t")
    assert pythons(here.replace(abi=("abi3",))) == published, "one wheel for many: which, only the row says"
    vision = page(FIND_LINKS, "/srv/wheels", wheel("0.29.1+cu126", name="torchvision"), project="torchvision")
    both = (here, wheel("2.14.1+cu126"))
    assert pythons(*both, companion="torchvision", more=(vision,)) == ("3.12",)


def test_an_unverified_row_counts_when_it_is_seen(catalog: Catalog) -> None:
    url = catalog.index_url("cpu")
    assert resolve(CPU, want("torch"), catalog).torch == "2.14.1"
    assert (
        resolve(CPU, want("torch"), catalog, seen(page(PYTORCH, url, wheel("2.15.0+cpu"), variant="cpu"))).torch
        == "2.15.0"
    )


def test_an_unadvertised_row_counts_when_it_is_seen(catalog: Catalog) -> None:
    machine = linux(RTX_5090, driver="570.86")
    found = page(PYTORCH, catalog.index_url("cu129"), wheel("2.13.0+cu129"), variant="cu129")
    plan = resolve(machine, want("torch"), catalog, seen(found))
    assert (plan.torch, plan.variant) == ("2.13.0", "cu129")


def test_a_row_that_only_its_name_brings_is_warned_of(catalog: Catalog) -> None:
    """Offline the user's word is all there is; what was seen, or is vouched for, needs no warning."""
    ada = linux(RTX_4090, driver="580.95.05")

    def rules(request: Request, *listings: Listing, installed: str = "") -> list[str]:
        machine = ada.replace(installed={"torch": installed}) if installed else ada
        return [why.rule for why in resolve(machine, request, catalog, seen(*listings)).warnings]

    named = want("torch==2.15.0", variant="cu130")
    found = resolve(ada, named, catalog)
    assert (found.torch, found.variant) == ("2.15.0", "cu130")
    assert [(why.rule, bool(why.source)) for why in found.warnings] == [("named-unverified", True)]
    assert "nobody has measured or listed the cu130 wheel of torch 2.15.0" in found.warnings[0].text
    assert rules(want("torch==2.15.0+cu130")) == ["named-unverified"]
    assert rules(want("torch==2.13.0", variant="cu129")) == ["named-unsure"]
    assert rules(want("torch==2.15.0", variant="cu132")) == []
    assert rules(named, installed="2.15.0+cu130") == [], "it is there"
    page_of_it = page(PYTORCH, catalog.index_url("cu130"), wheel("2.15.0+cu130"), variant="cu130")
    assert rules(named, page_of_it) == [], "it was seen"


def test_a_withdrawn_row_never_returns(catalog: Catalog) -> None:
    found = page(PYTORCH, catalog.index_url("cu126"), wheel("2.15.0+cu126"), wheel("2.14.1+cu126"), variant="cu126")
    assert resolve(PASCAL, want("torch"), catalog, seen(found)).torch == "2.14.1"


def test_an_unreachable_index_stops_and_names_what_can_be_had(catalog: Catalog) -> None:
    plan = resolve(PASCAL, want("torch"), catalog, seen(lost(PYTORCH, catalog.index_url("cu126"), "cu126")))
    assert plan.outcome == "install"
    assert (plan.torch, plan.variant) == ("2.14.1", "cu126")
    assert plan.unreachable is not None
    assert "no answer" in plan.unreachable.text


def test_the_users_own_folder_stands_in(catalog: Catalog) -> None:
    own = page(FIND_LINKS, "/srv/wheels", wheel("2.13.0+cpu"), wheel("2.12.1"))
    plan = resolve(CPU, want("torch"), catalog, seen(own, lost(PYTORCH, catalog.index_url("cpu"), "cpu")))
    assert plan.unreachable is None
    pin = plan.packages[0]
    assert (pin.version, pin.index, pin.kind) == ("2.13.0+cpu", "/srv/wheels", "flat")
    assert plan.fallback is not None
    assert "/srv/wheels" in plan.fallback.text
    # Who asks for an upgrade, and has that one already, is told why there is no newer.
    same = CPU.replace(installed={"torch": "2.13.0+cpu"})
    listings = seen(own, lost(PYTORCH, catalog.index_url("cpu"), "cpu"))
    kept = resolve(same, want("torch", upgrade=True), catalog, listings)
    assert (kept.outcome, kept.fallback) == ("satisfied", plan.fallback)
    assert resolve(same, want("torch"), catalog, listings).fallback is None
    # It does not stand in below what is installed.
    newer = CPU.replace(installed={"torch": "2.14.1+cu130"})
    assert resolve(
        newer, want("torch", upgrade=True), catalog, seen(own, lost(PYTORCH, catalog.index_url("cpu"), "cpu"))
    ).unreachable


def test_a_wheel_without_local_part_is_the_default_variant_not_cpu(catalog: Catalog) -> None:
    extra = page(EXTRA, "http://127.0.0.1/extra", wheel("2.14.1"))
    away = lost(PYTORCH, catalog.index_url("cpu"), "cpu")
    assert resolve(CPU, want("torch"), catalog, seen(extra, away)).unreachable is not None
    card = linux(RTX_4090, driver="580.95.05")
    plan = resolve(card, want("torch==2.14.1"), catalog, seen(extra, lost(DEFAULT, "http://127.0.0.1/simple")))
    assert (plan.variant, plan.packages[0].index) == ("cu130", "http://127.0.0.1/extra")


def test_only_the_patch_release_differs(catalog: Catalog) -> None:
    # The default index has 2.14.0 as cu130; the wanted 2.14.1 is named in a variant that can't be reached.
    card = linux(RTX_4090, driver="580.95.05", python="3.10.14")
    away = lost(DEFAULT, "http://127.0.0.1/simple")
    plan = resolve(card, want("torch"), catalog, seen(away))
    assert plan.unreachable is not None or plan.fallback is not None


def test_allow_older_takes_what_can_be_reached(catalog: Catalog) -> None:
    card = linux(RTX_4090, driver="580.95.05")
    away = lost(DEFAULT, "http://127.0.0.1/simple")
    stopped = resolve(card, want("torch"), catalog, seen(away))
    assert stopped.unreachable is not None
    assert stopped.alternatives
    taken = resolve(card, want("torch", allow_older=True), catalog, seen(away))
    assert taken.unreachable is None
    assert taken.fallback is not None
    assert taken.packages[0].index != "default"


def test_a_mirror_comes_first_and_the_origin_after_it(catalog: Catalog) -> None:
    mirror = page(MIRROR, "http://127.0.0.1/mirror/cu126", wheel("2.14.1+cu126"), variant="cu126")
    plan = resolve(PASCAL, want("torch"), catalog, seen(mirror))
    assert plan.packages[0].index == "http://127.0.0.1/mirror/cu126"
    behind = page(MIRROR, "http://127.0.0.1/mirror/cu126", wheel("2.12.0+cu126"), variant="cu126")
    origin = page(PYTORCH, catalog.index_url("cu126"), wheel("2.14.1+cu126"), variant="cu126")
    plan = resolve(PASCAL, want("torch"), catalog, seen(behind, origin))
    assert (plan.torch, plan.packages[0].index) == ("2.14.1", catalog.index_url("cu126"))


def test_a_mirror_that_was_named_and_does_not_answer_is_said_to_be_that(catalog: Catalog) -> None:
    silent = Listing(url="http://127.0.0.1/m/cu126", role=MIRROR, project="torch", state="unreachable", error="refused")
    looked = Sightings(listings=(silent,))
    plan = with_origin_hashes(resolve(PASCAL, want("torch"), catalog, looked), looked)
    assert [why.rule for why in plan.warnings if "refused" in why.text] == ["mirror-unreachable"]
    with pytest.raises(UsageError, match="isn't a web address"):
        meant("ftp://127.0.0.1/whl", catalog)
