"""Marketing names of cards: what people type, matched with what the lists call a product."""

from __future__ import annotations

from torchinstall.model.pattern import pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from torchinstall.model.card import Card

# Words that say nothing about which card it is.
_MAKERS = {"nvidia", "geforce", "tesla", "amd", "ati", "radeon", "intel", "corporation", "inc", "r", "tm"}
# "nvgpu" is how the driver of Tegra boards names itself.
_NOISE = frozenset(_MAKERS | {"graphics", "gpu", "generation", "with", "design", "edition", "nvgpu"})
# Product lines that people leave out: "4090", "7900 XTX", "B580", "MI300X".
_SERIES = frozenset({"rtx", "gtx", "gts", "gt", "rx", "arc", "instinct"})
# Board forms, memory, and the profiles of virtual GPUs ("GRID A100-10C"), which don't change the chip's code.
_FORM = pattern(r"\d+gb|pcie|sxm\d?|oem|oam|hbm\d?e?|gddr\d\w?|grid|\d{1,2}[abcq]")
CUT = "..."
"""How tools end a name that was too long for their table."""
# Words that name the maker for sure.
_VENDOR_WORDS = {
    "nvidia": ("nvidia", "geforce", "tesla", "quadro", "jetson"),
    "amd": ("amd", "ati", "radeon", "instinct", "ryzen"),
    "intel": ("intel",),
}
_WORD = pattern(r"[a-z0-9]+")
_PREFIXED = pattern(r"(rtx|gtx|gts|gt|rx|arc)(\d\w*)")
_SUFFIXED = pattern(r"(\d{3,4})(ti|super|tisuper|xtx|xt|gre|d)")


def words(text: str) -> list[str]:
    """Return the words of a name in one spelling: ``"RTX4090"`` and ``"rtx 4090"`` are alike."""
    found: list[str] = []
    for word in _WORD.findall(text.lower().replace("(r)", " ").replace("(tm)", " ")):
        prefixed = _PREFIXED.fullmatch(word)
        if prefixed:
            found.append(prefixed[1])
        number = prefixed[2] if prefixed else word
        suffixed = _SUFFIXED.fullmatch(number)
        if suffixed:
            found += [suffixed[1], *(["ti", "super"] if suffixed[2] == "tisuper" else [suffixed[2]])]
        elif number == "gb" and found and found[-1].isdigit():
            found[-1] += "gb"
        else:
            found.append("mobile" if number == "laptop" else number)
    return found


def find_by_name(text: str, cards: Iterable[Card]) -> tuple[Card, ...]:
    """Return the cards that ``text`` can mean, one a distinct name, the closest names first.

    The very name, with or without its product line, wins over names that contain
    all words of the text; so "GTX 1080" is that card and not the Ti, and
    "GTX 1080 Ti" is never a GTX 1080.
    """
    cut = text.rstrip().endswith(CUT)
    asked = words(text)
    # "RTX 6000 Ada Gene..." ends in the beginning of a word, "RTX 2080 ..." between two.
    begun = asked.pop() if cut and asked and not text.rstrip()[: -len(CUT)].endswith(" ") else ""
    vendors = {vendor for vendor, known in _VENDOR_WORDS.items() if any(word in known for word in asked)}
    wanted = frozenset(asked) - _NOISE
    entries = [
        (frozenset(words(card.name)) - _NOISE, card) for card in cards if len(vendors) != 1 or card.vendor in vendors
    ]
    if cut:
        longer = [
            entry
            for entry in entries
            if wanted <= entry[0] and any(word.startswith(begun) for word in words(entry[1].name))
        ]
        if longer:
            return _distinct(longer)
    found = _match(wanted, entries)
    if not found:
        bare = frozenset(word for word in wanted if not _FORM.fullmatch(word))
        found = _match(bare, entries) if bare != wanted else []
    return _distinct(found or _by_chip(asked, entries))


def significant(name: str) -> frozenset[str]:
    """Return the words of a name that say which card it is."""
    return frozenset(words(name)) - _NOISE


def _by_chip(asked: Sequence[str], entries: Sequence[tuple[frozenset[str], Card]]) -> list[tuple[frozenset[str], Card]]:
    """Return the cards of a chip or generation that goes by that name: "AD102", "Hopper", "Ponte Vecchio"."""
    if not asked:
        return []
    named = " ".join(asked)
    return [
        entry
        for entry in entries
        if any(" ".join(words(name)) == named for name in (entry[1].chip, entry[1].generation, entry[1].family) if name)
    ]


def _match(wanted: frozenset[str], entries: Sequence[tuple[frozenset[str], Card]]) -> list[tuple[frozenset[str], Card]]:
    if not wanted:
        return []
    # Who names no product line means any: "780M" is a GeForce GTX and a Radeon.
    left_out = frozenset() if wanted & _SERIES else _SERIES
    exact = [entry for entry in entries if entry[0] - left_out == wanted]
    if exact:
        return exact
    partial = [entry for entry in entries if wanted <= entry[0]]
    # "RX 6800/6800 XT / 6900 XT" is one PCI id for several products: taken only where nothing else fits.
    return [entry for entry in partial if "/" not in entry[1].name] or partial


def _distinct(found: Iterable[tuple[frozenset[str], Card]]) -> tuple[Card, ...]:
    """Keep one card for each name and code; its PCI id and chip only where there is no other."""
    kept: dict[tuple[object, ...], Card] = {}
    size: dict[tuple[object, ...], int] = {}
    for name, card in found:
        key = (name, card.vendor, card.compute_capability, card.gfx, card.family)
        size[key] = len(name)
        before = kept.get(key)
        if before is None:
            kept[key] = card
        elif card.pci_id != before.pci_id:
            kept[key] = before.replace(pci_id=None, chip=before.chip if before.chip == card.chip else None)
    return tuple(kept[key] for key in sorted(kept, key=lambda key: (size[key], kept[key].name, repr(key[1:]))))
