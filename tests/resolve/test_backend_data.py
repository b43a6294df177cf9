"""What holds between the tables of the other backends and the releases."""

from __future__ import annotations

import re

from packaging.version import Version

from torchinstall.catalog.catalog import Catalog
from torchinstall.model.variant import backend, toolkit
from torchinstall.resolve.npu import cann_key


def test_every_rocm_that_is_chosen_offline_has_its_list_of_code(catalog: Catalog) -> None:
    variants = {b.variant for b in catalog.builds("linux_x86_64") if backend(b.variant) == "rocm"}
    sure = {
        v
        for v in variants
        if any(b.status in {"declared", "published"} and b.variant == v for b in catalog.builds("linux_x86_64"))
    }
    assert {toolkit(variant) for variant in sure} <= set(catalog.rocm.code)


def test_faults_and_conditions_speak_of_what_is_listed(catalog: Catalog) -> None:
    listed = {gfx for row in catalog.rocm.code.values() for gfx in row.gfx}
    assert {fault.gfx for fault in catalog.rocm.faults} <= listed
    none = {gfx for row in catalog.rocm.none for gfx in row.gfx}
    assert not none & listed
    assert not none & {gfx for row in catalog.rocm.builds for gfx in row.gfx}


def test_amds_builds_dont_share_a_name_with_pytorchs(catalog: Catalog) -> None:
    own = {(b.torch, b.variant) for b in catalog.builds("linux_x86_64")}
    assert not own & {(row.build.torch, row.build.variant) for row in catalog.rocm.builds}
    for row in catalog.rocm.builds:
        assert all(set(gfx) <= set(row.gfx) for _, gfx in row.families)
        assert ("{family}" in row.build.index) == bool(row.families)


def test_torch_npu_is_named_after_its_torch(catalog: Catalog) -> None:
    for row in catalog.ascend.rows:
        assert Version(row.torch_npu).base_version == row.torch, row.torch_npu
        assert Version(row.torch_npu).is_prerelease == row.prerelease
        assert row.cann is None or cann_key(row.cann) is not None
        assert all(wheel.platform.endswith(row.arch) for wheel in row.wheels)
    versions = [Version(row.torch_npu) for row in catalog.ascend.rows]
    assert versions == sorted(versions, reverse=True)


def test_every_released_torch_npu_has_its_cpu_build(catalog: Catalog) -> None:
    torches = {row.torch for row in catalog.ascend.rows if not row.prerelease}
    for platform in ("linux_x86_64", "linux_aarch64"):
        built = {build.torch for build in catalog.npu_builds(platform)}
        assert torches <= built
        assert all(build.variant == "npu" and not build.default for build in catalog.npu_builds(platform))
    assert catalog.npu_builds("win_amd64") == ()


def test_chips_have_one_family(catalog: Catalog) -> None:
    for name, family in [("910B3", "910B (A2)"), ("910B4-1", "910B (A2)"), ("910_9391", "910C (A3)"), ("310P3", "310P"),
                         ("310B4", "310B"), ("950PR", "950 (A5)"), ("910A", "910"), ("910", "910"), ("910B", "910")]:  # fmt: skip
        assert [s.family for s in catalog.ascend.socs if re.fullmatch(s.pattern, name, re.IGNORECASE)] == [family], name


def test_xpu_families_are_those_of_the_cards(catalog: Catalog) -> None:
    names = {row.family.lower() for row in catalog.xpu.families}
    cards = [*catalog._cards("intel")[0], *catalog._cards("intel")[1]]
    for card in cards:
        plain = (card.family or "").split(" (")[0].lower()
        if card.compute:
            assert plain in names, card.name


def test_jetpacks_stand_newest_first(catalog: Catalog) -> None:
    rows = [(Version(row.jetpack), Version(row.l4t)) for row in catalog.jetpacks]
    assert rows == sorted(rows, reverse=True)


def test_vendors_that_the_probe_names_are_explained(catalog: Catalog) -> None:
    from torchinstall.probe.pci import OTHERS

    known = {row.vendor for row in catalog.makers} | {alias for row in catalog.makers for alias in row.aliases}
    assert set(OTHERS.values()) <= known
