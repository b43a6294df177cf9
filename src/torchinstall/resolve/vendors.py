"""The cards of AMD, Intel, Ascend and Apple, and the truth about the other makers."""

from __future__ import annotations

from torchinstall.model.sentences import reason
from torchinstall.resolve.selection import BACKEND_OF_VENDOR, FOREIGN_DRIVERS, Card, Selection, card_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.catalog.catalog import Catalog
    from torchinstall.model.machine import Gpu, Machine
    from torchinstall.model.plan import Reason

_OVERRIDE = "HSA_OVERRIDE_GFX_VERSION"
"""Makes ROCm take a card for another chip; reported, never set (it hangs machines)."""
_NO_STACK = frozenset({"missing", "not-loaded", "no-device"})
"""States of a vendor's stack in which none of its cards can be used."""


def other_cards(vendor: str, chosen: tuple[tuple[int, Gpu], ...], machine: Machine, catalog: Catalog) -> Selection:
    """Select the cards of AMD, Intel, Ascend or Apple; one of unknown code can't be decided for."""
    kind = BACKEND_OF_VENDOR[vendor]
    cards = []
    left: list[tuple[int, Reason]] = []
    for number, gpu in chosen:
        if gpu.driver in FOREIGN_DRIVERS and len(chosen) > 1:
            left.append((number, reason("left-driver", card=card_name(gpu), driver=gpu.driver)))
            continue
        known = with_gfx(gpu, catalog) if vendor == "amd" else gpu
        if vendor == "amd" and not known.gfx:
            return Selection(backend=kind, undetermined=reason("gfx-unknown", card=card_name(gpu)))
        cards.append(Card(number=number, gpu=known, name=card_name(gpu)))
    stack = {"amd": machine.amd, "intel": machine.intel, "ascend": machine.ascend}.get(vendor)
    state = stack.state if stack is not None else None
    blocked = None
    if state in _NO_STACK and not machine.declared and cards:
        blocked = reason(f"{vendor}-{state}", card=cards[0].name)
    warnings = tuple(why for _, why in left)
    override = machine.environment.get(_OVERRIDE, "").strip() if vendor == "amd" else ""
    if override:
        warnings += (reason("hsa-override", variable=_OVERRIDE, value=override),)
    return Selection(backend=kind, cards=tuple(cards), left_out=tuple(left), warnings=warnings, blocked=blocked)


def with_gfx(gpu: Gpu, catalog: Catalog) -> Gpu:
    """Return an AMD card with its gfx target: as told, by PCI id, or by a name that allows only one."""
    if gpu.gfx:
        return gpu.replace(gfx=gpu.gfx.lower().partition(":")[0])
    if gpu.pci_id and (card := catalog.card(gpu.pci_id.lower())) is not None and card.gfx:
        return gpu.replace(gfx=card.gfx)
    targets = {card.gfx for card in catalog.find_cards(gpu.name) if card.vendor == "amd"} if gpu.name else set()
    return gpu.replace(gfx=targets.pop()) if len(targets) == 1 else gpu


def unsupported(vendor: str, card: str, catalog: Catalog) -> Reason:
    """Return the truth about a maker whose PyTorch isn't PyTorch's own: whose it is, and where it is to be had."""
    plain = vendor.lower()
    maker = next((row for row in catalog.makers if plain == row.vendor or plain in row.aliases), None)
    if maker is None:
        return reason("vendor-unknown", card=card, vendor=vendor)
    facts = {"card": card, "vendor": maker.name, "advice": maker.advice, "advice_zh": maker.advice_zh}
    return reason("vendor-unsupported", source=maker.source, **facts)
