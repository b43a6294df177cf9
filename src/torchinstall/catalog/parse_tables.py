"""The other tables to rows: GPU code, driver floors, card generations, Tegra, macOS, indexes, cards."""

from __future__ import annotations

from torchinstall.catalog.row_reader import RowReader, broken, top
from torchinstall.catalog.rows import ArchList, Floor, Generation, Tegra
from torchinstall.model.card import Card
from torchinstall.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.model.cause import Cause

OPEN_MODULE = ("required", "impossible", "either")
VENDORS = ("nvidia", "amd", "intel")


class MpsFloor(Value):
    """The lowest macOS on which the MPS backend of some torch releases runs: ``torch_from`` up to ``torch_below``."""

    torch_from: str
    torch_below: str | None
    macos: str
    status: str
    source: str
    checked: str


class CudaTables(Value):
    """What cuda.json holds."""

    floors: dict[int, Floor]
    generations: tuple[Generation, ...]
    tegra: tuple[Tegra, ...]
    arm_hosts: tuple[str, ...] = ()


class Indexes(Value):
    """The base URL of the PyTorch index, and the path under it for each variant."""

    base: str
    paths: dict[str, str]


def parse_arch_lists(document: object, file: str) -> dict[tuple[str, str, str], ArchList]:
    """Return the lists of GPU code by torch, variant and platform."""
    lists: dict[tuple[str, str, str], ArchList] = {}
    for row in top(document, file).rows("arch_lists", ("torch", "variant", "platform")):
        key = (row.text("torch"), row.text("variant"), row.text("platform"))
        if key in lists:
            row.fail(f"{' '.join(key)} stands there twice")
        lists[key] = ArchList(
            torch=key[0],
            variant=key[1],
            platform=key[2],
            sass=row.integers("sass"),
            status=row.status(),
            source=row.source(),
            checked=row.text("checked"),
        )
    return lists


def parse_cuda(document: object, file: str) -> CudaTables:
    """Return driver floors by CUDA major, the generations of cards, the Tegra families, and what has an Arm host."""
    sheet = top(document, file)
    floors: dict[int, Floor] = {}
    for row in sheet.rows("floors", ()):
        major = row.integer("major")
        if major in floors:
            row.fail(f"CUDA {major} stands there twice")
        floors[major] = _floor(row, row)
    seen: set[str] = set()
    generations = []
    for row in sheet.rows("generations", ("name",)):
        generation = _generation(row)
        for capability in generation.compute_capabilities:
            if capability in seen:
                row.fail(f"compute capability {capability} stands there twice")
            seen.add(capability)
        generations.append(generation)
    tegra = tuple(_tegra(row) for row in sheet.rows("tegra", ("name",)))
    hosts = []
    for row in sheet.rows("arm_hosts", ("name",)) if "arm_hosts" in sheet.fields else ():
        row.source()  # named, or the row fails
        hosts.append(row.text("name"))
    return CudaTables(floors=floors, generations=tuple(generations), tegra=tegra, arm_hosts=tuple(hosts))


def _floor(row: RowReader, origin: RowReader) -> Floor:
    return Floor(
        linux=row.optional_text("linux"),
        windows=row.optional_text("windows"),
        source=origin.source(),
        status=origin.status(),
        checked=origin.text("checked"),
    )


def _generation(row: RowReader) -> Generation:
    floor = row.fields.get("floor")
    open_module = row.text("open_module")
    if open_module not in OPEN_MODULE:
        row.fail(f"'open_module' is {open_module!r}, not one of {', '.join(OPEN_MODULE)}")
    return Generation(
        name=row.text("name"),
        compute_capabilities=row.texts("compute_capabilities"),
        floor=None if floor is None else _floor(RowReader(floor, row.file, f"{row.where}, floor", {}), row),
        dropped_branch=row.optional_integer("dropped_branch"),
        last_branch=row.optional_integer("last_branch"),
        open_module=open_module,
        module_source=row.source("module_source") if "module_source" in row.fields else "",
        source=row.source(),
        status=row.status(),
        checked=row.text("checked"),
    )


def _tegra(row: RowReader) -> Tegra:
    return Tegra(
        name=row.text("name"),
        socs=row.texts("socs"),
        compute_capability=row.text("compute_capability"),
        sbsa_from_l4t=row.optional_text("sbsa_from_l4t"),
        sbsa_from_cuda=row.optional_text("sbsa_from_cuda"),
        advice=row.text("advice"),
        source=row.source(),
        status=row.status(),
        checked=row.text("checked"),
        own_code=row.flag("own_code"),
    )


def parse_mps_floors(document: object, file: str) -> tuple[MpsFloor, ...]:
    """Return the macOS floors of MPS."""
    return tuple(
        MpsFloor(
            torch_from=row.text("torch_from"),
            torch_below=row.optional_text("torch_below"),
            macos=row.text("macos"),
            status=row.status(),
            source=row.source(),
            checked=row.text("checked"),
        )
        for row in top(document, file).rows("mps_floors", ("torch_from",))
    )


def parse_indexes(document: object, file: str) -> Indexes:
    """Return where the PyTorch index is, and where in it each variant."""
    sheet = top(document, file)
    bases = [row.text("url") for row in sheet.rows("indexes", ("name",)) if row.text("name") == "pytorch"]
    if len(bases) != 1:
        sheet.fail("'indexes' must have exactly one row named pytorch")
    paths: dict[str, str] = {}
    for row in sheet.rows("variants", ("variant",)):
        variant = row.text("variant")
        if variant in paths:
            row.fail(f"{variant} stands there twice")
        paths[variant] = row.text("path")
    return Indexes(base=bases[0].rstrip("/"), paths=paths)


def parse_family(document: object, file: str) -> tuple[str, ...]:
    """Return the names of the torch family, torch first."""
    return tuple(row.text("name") for row in top(document, file).rows("packages", ("name",)))


def parse_cards(document: object, file: str, vendor: str) -> tuple[tuple[Card, ...], tuple[Card, ...]]:
    """Return the cards with a PCI id, and the products that are known by name alone."""
    sheet = top(document, file)
    cards: dict[str, Card] = {}
    for row in sheet.rows("cards", ("id", "name")):
        pci_id = row.text("id")
        if pci_id in cards:
            row.fail(f"{pci_id} stands there twice")
        cards[pci_id] = _card(row, vendor, pci_id)
    products = tuple(_card(row, vendor, None) for row in sheet.rows("products", ("name",)))
    return tuple(cards.values()), products


def parse_other_cards(document: object, file: str) -> dict[str, Card]:
    """Return the accelerators of makers that have no table of their own, by PCI id."""
    cards: dict[str, Card] = {}
    for row in top(document, file).rows("cards", ("id", "name")):
        row.status()
        pci_id = row.text("id")
        if pci_id in cards:
            row.fail(f"{pci_id} stands there twice")
        cards[pci_id] = Card(
            vendor=row.text("vendor"),
            name=row.text("name"),
            pci_id=pci_id,
            soc=row.optional_text("soc"),
            family=row.optional_text("family"),
            source=row.source(),
        )
    return cards


def parse_integrated_targets(document: object, file: str) -> frozenset[str]:
    """Return the gfx of the integrated AMD graphics that count as accelerators."""
    return frozenset(row.text("gfx") for row in top(document, file).rows("integrated_targets", ("gfx",)))


def parse_verify_causes(document: object, file: str) -> tuple[Cause, ...]:
    """Return the error texts that the verification recognises, in their order."""
    from torchinstall.model.cause import causes_from_document

    sheet = top(document, file)
    for row in sheet.rows("rows", ("id",)):
        row.status()
        row.source()
        for name in ("pattern", "outcome", "cause", "text", "checked"):
            row.text(name)
        for name in ("todo", "steps"):
            if name in row.fields:
                row.texts(name)
    try:
        return causes_from_document(sheet.fields)
    except (KeyError, TypeError) as error:
        raise broken(file, "rows", f"don't make causes: {error}") from error


def _card(row: RowReader, vendor: str, pci_id: str | None) -> Card:
    row.status()
    return Card(
        vendor=vendor,
        name=row.text("name"),
        pci_id=pci_id,
        chip=row.optional_text("chip"),
        generation=row.optional_text("generation"),
        compute_capability=row.text("compute_capability") if vendor == "nvidia" else None,
        gfx=row.text("gfx") if vendor == "amd" else None,
        family=row.text("family") if vendor == "intel" else None,
        integrated=row.optional_flag("integrated"),
        # Every NVIDIA chip of the list has CUDA.
        compute=True if vendor == "nvidia" else row.optional_flag("compute"),
        source=row.source(),
    )
