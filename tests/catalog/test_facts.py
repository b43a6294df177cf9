"""Facts that decide what people get, spelled out one by one."""

from __future__ import annotations

import pytest

from torchinstall.catalog.catalog import Catalog
from torchinstall.catalog.rows import Build

X86, ARM, WIN, MAC = "linux_x86_64", "linux_aarch64", "win_amd64", "macos_arm64"


def build(catalog: Catalog, torch: str, variant: str, platform: str) -> Build | None:
    return next((b for b in catalog.builds(platform) if (b.torch, b.variant) == (torch, variant)), None)


def the(catalog: Catalog, torch: str, variant: str, platform: str) -> Build:
    found = build(catalog, torch, variant, platform)
    assert found is not None, (torch, variant, platform)
    return found


@pytest.mark.parametrize(
    ("torch", "platform", "variant"),
    [
        ("2.15.0", X86, "cu132"), ("2.15.0", ARM, "cu132"), ("2.15.0", WIN, "cpu"), ("2.15.0", MAC, "mps"),
        ("2.14.1", X86, "cu130"), ("2.11.0", ARM, "cu130"), ("2.10.0", ARM, "cpu"), ("2.10.0", X86, "cu128"),
        ("2.7.1", X86, "cu126"), ("2.6.0", X86, "cu124"), ("2.4.1", X86, "cu121"), ("2.0.1", X86, "cu117"),
        ("2.2.2", "macos_x86_64", "cpu"), ("2.3.0", "macos_x86_64", None), ("2.15.0", "win_arm64", None),
        ("1.13.1", X86, None),
    ],
)  # fmt: skip
def test_default_index(catalog: Catalog, torch: str, platform: str, variant: str | None) -> None:
    assert catalog.default_variant(torch, platform) == variant


@pytest.mark.parametrize(
    ("torch", "variant", "platform", "sass", "status"),
    [
        ("2.15.0", "cu132", X86, (75, 80, 86, 90, 100, 120), "measured"),
        ("2.15.0", "cu132", ARM, (80, 90, 100, 110, 120), "measured"),
        ("2.14.1", "cu126", X86, (50, 60, 70, 75, 80, 86, 90), "declared"),
        ("2.14.1", "cu126", WIN, (50, 60, 61, 70, 75, 80, 86, 90), "declared"),
        ("2.11.0", "cu128", X86, (75, 80, 86, 90, 100, 120), "declared"),
        ("2.10.0", "cu128", X86, (70, 75, 80, 86, 90, 100, 120), "measured"),
        ("2.0.1", "cu117", X86, (37, 50, 60, 70, 75, 80, 86), "measured"),
        ("2.7.1", "cu128", ARM, (90, 100, 120), "reported"),
    ],
)
def test_gpu_code(
    catalog: Catalog, torch: str, variant: str, platform: str, sass: tuple[int, ...], status: str
) -> None:
    arch = catalog.arch_list(the(catalog, torch, variant, platform))
    assert arch is not None
    assert (arch.sass, arch.status, arch.inherited_from) == (sass, status, None)


def test_windows_inherits_what_nobody_listed(catalog: Catalog) -> None:
    arch = catalog.arch_list(the(catalog, "2.8.0", "cu128", WIN))
    assert arch is not None
    assert (arch.platform, arch.inherited_from, arch.status) == (WIN, X86, "declared")
    assert arch.sass == (70, 75, 80, 86, 90, 100, 120)


def test_other_backends_have_no_arch_list(catalog: Catalog) -> None:
    assert catalog.arch_list(the(catalog, "2.14.1", "rocm7.2", X86)) is None
    assert catalog.arch_list(the(catalog, "2.14.1", "cpu", WIN)) is None


@pytest.mark.parametrize(
    ("torch", "variant", "platform", "status"),
    [
        ("2.15.0", "cu126", X86, "withdrawn"), ("2.15.0", "cu126", WIN, "withdrawn"),
        ("2.15.0", "cu130", X86, "unverified"), ("2.15.0", "cu132", WIN, "unverified"),
        ("2.15.0", "cpu", X86, "unverified"), ("2.14.1", "cu126", X86, "published"),
        ("2.14.1", "cu126", WIN, "published"), ("2.14.1", "cu132", WIN, "declared"),
        ("2.14.1", "cu126", ARM, "declared"), ("2.14.1", "cu134", X86, "withdrawn"),
        ("2.14.0", "rocm7.2", X86, "published"), ("2.14.1", "rocm7.14", X86, "published"),
        ("2.13.0", "cu129", X86, "unadvertised"), ("2.12.1", "cu129", X86, "unadvertised"),
        ("2.12.0", "cu129", X86, None), ("2.14.1", "cu129", X86, None),
        ("2.13.0", "cu129", WIN, None), ("2.12.1", "cu129", WIN, None),
        ("2.9.0", "cu129", WIN, "unadvertised"), ("2.8.0", "cu129", WIN, "declared"),
        ("2.11.0", "cu128", X86, "declared"), ("2.11.0", "cu128", WIN, "declared"),
        ("2.12.0", "cu128", X86, None), ("2.12.0", "rocm7.1", X86, "declared"),
        ("2.6.0", "cu126", ARM, "published"), ("2.9.1", "rocm6.3", X86, "declared"),
        ("2.14.1", "cpu", "win_arm64", "unverified"), ("2.14.1", "rocm7.2", WIN, None),
    ],
)  # fmt: skip
def test_status(catalog: Catalog, torch: str, variant: str, platform: str, status: str | None) -> None:
    found = build(catalog, torch, variant, platform)
    assert (found.status if found else None) == status


def test_cuda_12_9_on_windows_was_only_in_2_8_and_2_9(catalog: Catalog) -> None:
    assert [b.torch for b in catalog.builds(WIN) if b.variant == "cu129"] == ["2.9.0", "2.8.0"]


def test_experimental(catalog: Catalog) -> None:
    marked = {(b.torch, b.variant) for r in catalog.releases for b in r.builds if b.experimental}
    assert marked == {("2.12.0", "cu132"), ("2.12.1", "cu132"), ("2.13.0", "cu132")}


def test_pythons(catalog: Catalog) -> None:
    assert catalog.pythons(the(catalog, "2.15.0", "cu132", X86)) == (
        "cp311", "cp312", "cp313", "cp314", "cp314t", "cp315", "cp315t",
    )  # fmt: skip
    older = the(catalog, "2.14.1", "cu126", X86)
    assert older.inherited
    assert catalog.pythons(older) == ("cp310", "cp311", "cp312", "cp313", "cp314", "cp314t")
    assert catalog.pythons(the(catalog, "2.5.1", "cu124", X86))[-1] == "cp313"
    assert catalog.pythons(the(catalog, "2.5.1", "cpu", WIN))[-1] == "cp312"


def test_macos_tags_differ_by_python(catalog: Catalog) -> None:
    tags = {w.platform: w.pythons for w in the(catalog, "2.10.0", "mps", MAC).wheels}
    assert tags == {
        "macosx_11_0_arm64": ("cp310", "cp311", "cp312", "cp313"),
        "macosx_14_0_arm64": ("cp313t", "cp314", "cp314t"),
    }


@pytest.mark.parametrize(
    ("variant", "tag"),
    [("cu124", "manylinux1_x86_64"), ("cu118", "manylinux1_x86_64"), ("cpu", "manylinux1_x86_64"),
     ("cu126", "manylinux_2_28_x86_64"), ("xpu", "manylinux_2_28_x86_64"), ("rocm6.2.4", "manylinux_2_28_x86_64")],
)  # fmt: skip
def test_glibc_of_2_6(catalog: Catalog, variant: str, tag: str) -> None:
    assert [w.platform for w in the(catalog, "2.6.0", variant, X86).wheels] == [tag]


def pairs(catalog: Catalog, name: str, torch: str, variant: str, platform: str) -> list[tuple[str, str]]:
    return [(c.version, c.status) for c in catalog.companions(name, the(catalog, torch, variant, platform))]


@pytest.mark.parametrize(
    ("name", "torch", "variant", "platform", "expected"),
    [
        ("torchvision", "2.15.0", "cu132", X86, [("0.29.2", "measured"), ("0.29.1", "measured")]),
        ("torchvision", "2.15.0", "cpu", X86, [("0.29.2", "unverified"), ("0.29.1", "declared")]),
        ("torchvision", "2.14.1", "cu126", X86, [("0.29.1", "declared")]),
        ("torchvision", "2.14.1", "cu126", WIN, [("0.29.1", "declared")]),
        ("torchvision", "2.14.0", "cu130", X86, [("0.29.0", "measured")]),
        ("torchvision", "2.6.0", "cu124", X86, [("0.21.0", "measured")]),
        ("torchaudio", "2.15.0", "cu132", X86, [("2.11.1", "measured")]),
        ("torchaudio", "2.15.0", "cpu", WIN, [("2.11.1", "measured"), ("2.11.0", "measured")]),
        ("torchaudio", "2.14.1", "cu130", X86, [("2.11.1", "measured"), ("2.11.0", "measured")]),
        ("torchaudio", "2.14.1", "cu126", X86, [("2.11.0", "published")]),
        ("torchaudio", "2.14.1", "cpu", X86, [("2.11.1", "unverified"), ("2.11.0", "declared")]),
        ("torchaudio", "2.14.1", "cu132", X86, [("2.11.1", "unverified")]),
        ("torchaudio", "2.14.1", "rocm7.14", X86, [("2.11.1", "unverified"), ("2.11.0", "unverified")]),
        ("torchaudio", "2.14.1", "mps", MAC, [("2.11.1", "measured"), ("2.11.0", "measured")]),
        ("torchaudio", "2.11.0", "cu128", WIN, [("2.11.0", "declared")]),
        ("torchaudio", "2.0.1", "cu118", X86, [("2.0.2", "declared")]),
        ("torchvision", "2.9.1", "cu130", ARM, [("0.24.1", "withdrawn")]),
        ("torchvision", "2.14.1", "cpu", "win_arm64", []),
        ("torchvision", "2.5.1", "xpu", WIN, []),
        ("torchtext", "2.15.0", "cu132", X86, []),
    ],
)
def test_companions(
    catalog: Catalog, name: str, torch: str, variant: str, platform: str, expected: list[tuple[str, str]]
) -> None:
    assert pairs(catalog, name, torch, variant, platform) == expected


def test_torchaudio_2_11_0_never_meets_another_cuda(catalog: Catalog) -> None:
    """Its import check raises unless torch has the very CUDA version that it was built with."""
    had = {(b.variant, b.platform) for r in catalog.releases if r.torch == "2.11.0" for b in r.builds}
    for release in catalog.releases:
        for row in release.companions:
            if (row.name, row.version) == ("torchaudio", "2.11.0") and release.torch != "2.11.0":
                cuda = [v for v in row.variants if v.startswith("cu")]
                assert all((v, p) in had for v in cuda for p in row.platforms), (release.torch, row)


def test_companions_pin_torch_until_the_stable_abi(catalog: Catalog) -> None:
    def pinned(name: str, torch: str) -> set[bool]:
        return {c.pins_torch for r in catalog.releases if r.torch == torch for c in r.companions if c.name == name}

    assert pinned("torchvision", "2.14.0") == {True}
    assert pinned("torchvision", "2.14.1") == {False}
    assert pinned("torchaudio", "2.10.0") == {True}
    assert pinned("torchaudio", "2.11.0") == {False}


@pytest.mark.parametrize(
    ("major", "linux", "windows"),
    [(11, "450.80.02", "452.39"), (12, "525.60.13", "528.33"), (13, "580.65.06", "580.88")],
)
def test_driver_floors(catalog: Catalog, major: int, linux: str, windows: str) -> None:
    floor = catalog.cuda_floor(major)
    assert floor is not None
    assert (floor.linux, floor.windows) == (linux, windows)


def test_no_floor_for_other_majors(catalog: Catalog) -> None:
    assert catalog.cuda_floor(10) is None
    assert catalog.cuda_floor(14) is None


@pytest.mark.parametrize(
    ("capability", "name", "floor", "dropped", "open_module"),
    [
        ("2.1", "Fermi", None, 396, "impossible"), ("3.7", "Kepler", None, 495, "impossible"),
        ("5.2", "Maxwell", None, 590, "impossible"), ("6.1", "Pascal", None, 590, "impossible"),
        ("7.0", "Volta", None, 590, "impossible"), ("7.2", "Volta", None, 590, "impossible"),
        ("7.5", "Turing", "410.48", None, "either"), ("8.6", "Ampere", "455.23", None, "either"),
        ("8.9", "Ada", "520.61.05", None, "either"), ("9.0", "Hopper", "520.61.05", None, "either"),
        ("12.0", "Blackwell", "570.26", None, "required"), ("10.3", "Blackwell Ultra", "575.51.03", None, "required"),
        ("12.1", "Blackwell (GB10)", "575.51.03", None, "required"),
    ],
)  # fmt: skip
def test_generations(
    catalog: Catalog, capability: str, name: str, floor: str | None, dropped: int | None, open_module: str
) -> None:
    found = catalog.generation(capability)
    assert found is not None
    assert (found.name, found.floor and found.floor.linux, found.dropped_branch, found.open_module) == (
        name, floor, dropped, open_module,
    )  # fmt: skip


def test_unknown_generation(catalog: Catalog) -> None:
    assert catalog.generation("13.0") is None


@pytest.mark.parametrize(
    ("soc", "capability", "l4t", "cuda"),
    [
        ("tegra264", None, "38", "13.0"), (None, "11.0", "38", "13.0"), ("tegra234", None, "39.2", "13.2"),
        ("TEGRA234", "8.7", "39.2", "13.2"), ("tegra194", None, None, None), ("tegra210", None, None, None),
    ],
)  # fmt: skip
def test_tegra(catalog: Catalog, soc: str | None, capability: str | None, l4t: str | None, cuda: str | None) -> None:
    row = catalog.tegra(soc, capability)
    assert row is not None
    assert (row.sbsa_from_l4t, row.sbsa_from_cuda) == (l4t, cuda)
    assert "https://" in row.advice


def test_no_tegra(catalog: Catalog) -> None:
    assert catalog.tegra(None, "8.9") is None
    assert catalog.tegra(None, None) is None
    assert catalog.tegra("tegra999", None) is None


@pytest.mark.parametrize(
    ("variant", "url"),
    [("cu126", "cu126"), ("rocm7.14", "rocm7.14"), ("mps", "cpu"), ("cpu", "cpu"), ("cu999", "cu999")],
)
def test_index_urls(catalog: Catalog, variant: str, url: str) -> None:
    assert catalog.index_url(variant) == f"https://download.pytorch.org/whl/{url}"


def test_mps_floor_has_a_source(catalog: Catalog) -> None:
    floor = catalog.mps_floor("2.14.1")
    assert floor is not None
    assert floor[0] == "14.0"
    assert "pytorch/pytorch" in floor[1]
    assert catalog.mps_floor("1.11.0") is None


def test_family(catalog: Catalog) -> None:
    assert catalog.family[:3] == ("torch", "torchvision", "torchaudio")
    assert {"triton", "xformers", "torchao", "torchcodec"} <= set(catalog.family)
    assert "numpy" not in catalog.family


def test_date(catalog: Catalog) -> None:
    assert catalog.date == "2026-11-30"


def test_warnings_for_people(catalog: Catalog) -> None:
    release = catalog.release("2.15.0")
    assert release is not None
    assert any("2.14.1" in warning for warning in release.warnings)
