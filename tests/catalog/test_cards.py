"""Cards by PCI id, and what people call them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchinstall.catalog.catalog import Catalog
from torchinstall.catalog.load import load_catalog
from torchinstall.catalog.names import find_by_name, words
from torchinstall.model.card import Card


@pytest.mark.parametrize(
    ("pci_id", "name", "code"),
    [
        ("10de:2684", "GeForce RTX 4090", "8.9"), ("10DE:2B85", "GeForce RTX 5090", "12.0"),
        ("10de:1b80", "GeForce GTX 1080", "6.1"), ("10de:2b00", "Jetson AGX Thor", "11.0"),
        ("1002:74a1", "Instinct MI300X", "gfx942"), ("1002:1586", None, "gfx1151"),
        ("1002:744c", None, "gfx1100"), ("8086:e20b", "Intel Arc B580 Graphics", "Battlemage"),
    ],
)  # fmt: skip
def test_card(catalog: Catalog, pci_id: str, name: str | None, code: str) -> None:
    card = catalog.card(pci_id)
    assert card is not None
    assert code in (card.compute_capability, card.gfx, card.family)
    assert name in (None, card.name)
    assert card.pci_id == pci_id.lower()
    assert card.source


@pytest.mark.parametrize("pci_id", ["10de:ffff", "1af4:1050", "19e5:1711", "", "10de", "nonsense"])
def test_unknown_card(catalog: Catalog, pci_id: str) -> None:
    assert catalog.card(pci_id) is None


@pytest.mark.parametrize(
    ("pci_id", "integrated", "compute"),
    [
        ("1002:164e", True, False), ("1002:744c", False, True), ("1002:74a0", False, True), ("1002:150e", True, True),
        ("1002:1586", True, True), ("1002:15bf", True, False), ("1002:67df", False, True), ("10de:2684", None, True),
        ("8086:56a0", False, True), ("8086:e20b", False, True), ("8086:64a0", True, True), ("8086:7d55", True, True),
        ("8086:b080", True, True), ("8086:0bd5", False, True), ("8086:7d45", True, False), ("8086:7d67", True, False),
        ("8086:9a49", True, False), ("8086:46a6", True, False), ("8086:56c0", False, False), ("8086:4680", True, False),
    ],
)  # fmt: skip
def test_what_counts_as_an_accelerator(catalog: Catalog, pci_id: str, integrated: bool | None, compute: bool) -> None:
    card = catalog.card(pci_id)
    assert card is not None
    assert (card.integrated, card.compute) == (integrated, compute)


ONE = [
    ("4090", "8.9"), ("rtx4090", "8.9"), ("RTX 4090", "8.9"), ("GeForce RTX 4090", "8.9"),
    ("NVIDIA GeForce RTX 4090", "8.9"),
    ("A100", "8.0"), ("NVIDIA A100-SXM4-80GB", "8.0"), ("H100", "9.0"), ("H200", "9.0"), ("B200", "10.0"),
    ("B300", "10.3"),
    ("GTX 1080 Ti", "6.1"), ("GTX1080Ti", "6.1"), ("1080ti", "6.1"), ("V100", "7.0"), ("Tesla V100-SXM2-16GB", "7.0"),
    ("T4", "7.5"), ("Tesla T4", "7.5"), ("RTX 5090", "12.0"), ("RTX 5090 Laptop GPU", "12.0"), ("RTX 6000 Ada", "8.9"),
    ("RTX A6000", "8.6"), ("L4", "8.9"), ("L40S", "8.9"), ("GB10", "12.1"), ("DGX Spark", "12.1"), ("Tesla K80", "3.7"),
    ("RTX 4070 Ti SUPER", "8.9"), ("Jetson AGX Orin", "8.7"), ("RTX 3060 12 GB", "8.6"), ("TITAN V", "7.0"),
    ("7900 XTX", "gfx1100"), ("RX 7900XTX", "gfx1100"), ("Radeon RX 7900 XTX", "gfx1100"), ("9070 XT", "gfx1201"),
    ("RX 6800", "gfx1030"), ("RX 6700 XT", "gfx1031"), ("MI300X", "gfx942"), ("AMD Instinct MI300X", "gfx942"),
    ("Radeon VII", "gfx906"), ("8060S", "gfx1151"), ("Ryzen AI Max+ 395", "gfx1151"), ("Radeon 780M", "gfx1103"),
    ("Arc B580", "Battlemage"), ("arc-b580", "Battlemage"), ("Intel(R) Arc(TM) B580 Graphics", "Battlemage"),
    ("Arc A770", "Alchemist"), ("Max 1550", "Ponte Vecchio"), ("Arc 140V", "Lunar Lake"),
]  # fmt: skip


def codes(cards: tuple[Card, ...]) -> set[str]:
    return {card.compute_capability or card.gfx or card.family or "" for card in cards}


@pytest.mark.parametrize(("text", "code"), ONE)
def test_one_answer(catalog: Catalog, text: str, code: str) -> None:
    found = catalog.find_cards(text)
    assert codes(found) == {code}, [card.name for card in found]


@pytest.mark.parametrize(
    ("text", "several"),
    [
        ("GT 730", {"2.1", "3.0", "3.5"}),
        ("GTX 750 Ti", {"3.0", "5.0"}),
        ("RTX 6000", {"7.5", "8.9", "12.0"}),
    ],
)
def test_ambiguous_names_give_all(catalog: Catalog, text: str, several: set[str]) -> None:
    assert codes(catalog.find_cards(text)) == several


def test_forms_of_one_card(catalog: Catalog) -> None:
    found = catalog.find_cards("A100 80GB")
    assert len(found) > 1
    assert codes(found) == {"8.0"}
    assert len({card.name for card in found}) == len(found)


def test_ti_is_another_card(catalog: Catalog) -> None:
    assert [c.name for c in catalog.find_cards("GTX 1080 Ti")] == ["GeForce GTX 1080 Ti"]
    assert [c.name for c in catalog.find_cards("GTX 1080")] == ["GeForce GTX 1080"]


@pytest.mark.parametrize("text", ["", "foo", "RTX 9999", "RTX 580", "nvidia", "radeon", "GPU", "AMD RTX 4090", "?!"])
def test_no_answer(catalog: Catalog, text: str) -> None:
    assert catalog.find_cards(text) == ()


def test_the_maker_narrows(catalog: Catalog) -> None:
    assert codes(catalog.find_cards("Radeon 780M")) == {"gfx1103"}
    assert codes(catalog.find_cards("GeForce GTX 780M")) == {"3.0"}
    assert codes(catalog.find_cards("780M")) == {"gfx1103", "3.0"}


def test_several_ids_of_one_name_leave_the_id_open() -> None:
    twins = [Card(vendor="nvidia", name="RTX 1", pci_id=f"10de:000{i}", compute_capability="8.9") for i in (1, 2)]
    other = Card(vendor="nvidia", name="RTX 1", pci_id="10de:0003", compute_capability="7.5")
    found = find_by_name("rtx 1", [*twins, other])
    assert {(card.compute_capability, card.pci_id) for card in found} == {("8.9", None), ("7.5", "10de:0003")}


def test_words() -> None:
    assert words("RTX4070TiSUPER") == ["rtx", "4070", "ti", "super"]
    assert words("NVIDIA A100-SXM4-80GB") == ["nvidia", "a100", "sxm4", "80gb"]
    assert words("RTX 3060 Laptop GPU, 6 GB") == ["rtx", "3060", "mobile", "gpu", "6gb"]


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=40))
def test_any_text_has_an_answer(catalog: Catalog, text: str) -> None:
    found = catalog.find_cards(text)
    assert len({(c.vendor, c.name, c.compute_capability, c.gfx, c.family) for c in found}) == len(found)


def test_every_product_finds_itself(catalog: Catalog) -> None:
    lost = [
        card.name
        for vendor in ("nvidia", "amd", "intel")
        for part in catalog._cards(vendor)
        for card in part[::7]
        if card.compute is not False
        and "/" not in card.name
        and set(words(card.name)) - {"radeon", "graphics"}
        and not any(
            c.compute_capability == card.compute_capability and c.gfx == card.gfx for c in catalog.find_cards(card.name)
        )
    ]
    assert lost == []


@pytest.mark.parametrize(
    ("gfx", "target"), [("gfx1150", True), ("gfx1151", True), ("gfx1036", False), ("gfx1103", False), ("", False)]
)
def test_integrated_graphics_that_count(catalog: Catalog, gfx: str, target: bool) -> None:
    assert catalog.gfx_is_target(gfx) is target


def test_cards_of_other_makers() -> None:
    catalog = load_catalog()
    a3, hygon = catalog.card("19e5:d803"), catalog.card("1D94:6211")
    assert a3 is not None
    assert (a3.vendor, a3.soc) == ("ascend", "910C")
    assert hygon is not None
    assert (hygon.vendor, hygon.gfx, hygon.compute_capability) == ("hygon", None, None)
    assert catalog.card("1d94:0001") is None
    assert catalog.card("1234:1111") is None


def test_boards_by_their_soc() -> None:
    orin = load_catalog().card("tegra234")
    assert orin is not None
    assert (orin.compute_capability, orin.integrated) == ("8.7", True)
    assert load_catalog().card("tegra999") is None
