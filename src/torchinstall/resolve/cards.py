"""Which accelerators count: the visible cards of the chosen vendor that the running driver drives.

Policy 3 and 5 of the decision: all usable cards count, what is left out is said, a card without a
working driver is never answered with a CPU build.
"""

from __future__ import annotations

from torchinstall.model.machine import MACOS, Gpu, Machine, NvidiaDriver
from torchinstall.model.plan import Reason
from torchinstall.model.sentences import reason
from torchinstall.model.variant import CPU, NPU, backend
from torchinstall.model.version import driver_at_least, numbers
from torchinstall.resolve.facts import is_empty_mask, useless_masks
from torchinstall.resolve.selection import BACKEND_OF_VENDOR, FOREIGN_DRIVERS, Card, Selection, card_name
from torchinstall.resolve.vendors import other_cards, unsupported, with_gfx

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.catalog.catalog import Catalog
    from torchinstall.catalog.rows import Floor
    from torchinstall.model.request import Request

MASKS = {"nvidia": "CUDA_VISIBLE_DEVICES", "amd": "HIP_VISIBLE_DEVICES", "intel": "ZE_AFFINITY_MASK"}
"""How to use one card of a vendor alone."""
_BROKEN = {
    "missing": "driver-missing",
    "nouveau": "driver-nouveau",
    "not-loaded": "driver-not-loaded",
    "library-mismatch": "driver-library-mismatch",
    "no-device": "driver-no-device",
}
_LOST = frozenset({"library-mismatch", "no-device"})
"""States that only a machine with a card gets into, though no card is listed."""
_UNBOUND = "none"
"""A card that was seen with no kernel driver bound to it."""
_WRONG_MODULE = {"required": "closed", "impossible": "open"}
"""Which flavour of NVIDIA's kernel module doesn't drive a generation (its need of the open module, by name)."""
TORCH_NPU = "torch-npu"


def is_windows_driver(machine: Machine) -> bool:
    """Tell whether driver numbers are those of Windows: there, and in WSL2, where the driver is the host's."""
    return machine.os.name == "windows" or bool(machine.os.wsl)


def select(machine: Machine, request: Request, catalog: Catalog) -> Selection:
    """Return what must be served; total: every machine gets a selection, if only a reason why there is none."""
    named = wanted_variant(request)
    if named == CPU:
        return Selection(backend="cpu", named=True, why=(reason("cpu-asked"),))
    if named is None and (unknown := _unknowable(machine)):
        return Selection(backend="", undetermined=unknown)
    if machine.gpus is None and named is None:
        return Selection(backend="", undetermined=reason("gpus-unknown"))
    gpus = tuple(enumerate(machine.gpus or ()))
    usable, left, warnings = _compute_targets(gpus, machine, catalog)
    vendors = list(dict.fromkeys(gpu.vendor for _, gpu in usable))
    if named is not None:
        vendor = next((v for v, b in BACKEND_OF_VENDOR.items() if b == backend(named)), "")
        if vendor not in vendors:
            found = _without_card(named, gpus, usable, machine, catalog)
            return found.replace(left_out=() if found.cards else left, warnings=warnings)
        vendors = [vendor]
    lost = machine.nvidia.state if machine.nvidia is not None and not gpus else None
    if lost in _LOST:
        return Selection(backend="cuda", blocked=reason(_BROKEN[lost], card="an NVIDIA card", driver=""))
    if vendors == ["apple"] and machine.os.name not in {None, MACOS}:
        return Selection(backend="", blocked=reason("apple-elsewhere", os=machine.os.name))
    if not vendors:
        if left and any(gpu.vendor == "nvidia" for _, gpu in gpus):
            # Every card is masked by name: the user's choice leaves nothing to plan for.
            return Selection(backend="", left_out=left, warnings=warnings, blocked=left[0][1])
        return Selection(backend="cpu", left_out=left, warnings=warnings, why=(reason("cpu-machine"),))
    vendor, more = _one_vendor(vendors, usable, machine)
    warnings += more
    chosen = tuple((number, gpu) for number, gpu in usable if gpu.vendor == vendor)
    selection = _of_vendor(vendor, chosen, machine, catalog, named=named is not None)
    return selection.replace(
        left_out=left + selection.left_out,
        warnings=warnings + selection.warnings,
        named=named is not None,
    )


def _of_vendor(
    vendor: str, chosen: tuple[tuple[int, Gpu], ...], machine: Machine, catalog: Catalog, *, named: bool
) -> Selection:
    strange = next((gpu for _, gpu in chosen if vendor == "intel" and not known_intel(gpu, catalog)), None)
    if strange is not None and not named:
        # Newer than the tables: whether XPU builds are for it, nobody here knows.
        return Selection(backend="xpu", undetermined=reason("card-unlisted", card=card_name(strange)))
    if vendor == "nvidia":
        return _nvidia(chosen, machine, catalog)
    if vendor in BACKEND_OF_VENDOR:
        return other_cards(vendor, chosen, machine, catalog)
    return Selection(backend="", blocked=unsupported(vendor, card_name(chosen[0][1]), catalog))


def _without_card(
    named: str,
    gpus: tuple[tuple[int, Gpu], ...],
    usable: tuple[tuple[int, Gpu], ...],
    machine: Machine,
    catalog: Catalog,
) -> Selection:
    """Select for a variant that was named where no usable card is of its kind."""
    kind = backend(named)
    if usable and machine.declared and kind:  # a variant of no kind is known to nobody, and that is said
        target = ", ".join(card_name(gpu) for _, gpu in usable)
        return Selection(backend=kind, blocked=reason("contradiction", variant=named, target=target))
    # Integrated graphics that are no target by themselves count when their backend is named.
    weak = tuple(
        Card(number=number, gpu=with_gfx(gpu, catalog), name=card_name(gpu))
        for number, gpu in gpus
        if kind == "rocm" and gpu.vendor == "amd" and gpu.visible is not False
    )
    return Selection(backend=kind, cards=weak, named=True)


def wanted_variant(request: Request) -> str | None:
    """Return the variant that the user named, by option or as a local version."""
    if request.variant:
        return request.variant
    asked = (*request.wishes, *request.constraints)
    named = next((wish.variant for wish in asked if wish.variant and wish.name != TORCH_NPU), None)
    # Who asks for torch-npu has said which backend it is for; its torch is written as +cpu, rightly.
    wants_npu = named in {None, CPU} and any(wish.name == TORCH_NPU for wish in request.wishes)
    return NPU if wants_npu else named


def _unknowable(machine: Machine) -> Reason | None:
    if machine.declared:
        return None
    box = machine.container
    if box is not None and box.build:
        return reason("image-build", evidence="; ".join(box.evidence) or box.kind or "an image builder")
    if box is not None and box.gpu_access is False and box.evidence:
        return reason("container-no-device", evidence="; ".join(box.evidence))
    if machine.hpc and not machine.gpus:
        return reason("login-node", evidence=machine.hpc)
    return None


def _compute_targets(
    gpus: tuple[tuple[int, Gpu], ...], machine: Machine, catalog: Catalog
) -> tuple[tuple[tuple[int, Gpu], ...], tuple[tuple[int, Reason], ...], tuple[Reason, ...]]:
    """Leave out hidden cards, display adapters, and integrated graphics beside a discrete card."""
    usable: list[tuple[int, Gpu]] = []
    left: list[tuple[int, Reason]] = []
    warnings: list[Reason] = []
    displays: list[tuple[int, Reason]] = []
    for number, gpu in gpus:
        if gpu.visible is False:
            mask = MASKS.get(gpu.vendor, "a mask")
            value = machine.environment.get(mask, "")
            left.append((number, reason("masked", card=card_name(gpu), variable=mask, value=value)))
        elif gpu.vendor == "intel" and is_compute_target(gpu, catalog) is False:
            displays.append((number, reason("display-left", card=card_name(gpu))))
        elif gpu.vendor == "amd" and gpu.integrated and is_compute_target(gpu, catalog) is False:
            why = reason("integrated-left", card=card_name(gpu))
            left.append((number, why))
            warnings.append(why)
        else:
            usable.append((number, gpu))
    if not usable:
        # Beside a card that counts a display adapter is nothing to speak of; alone it may have been the hope.
        left.extend(displays)
        warnings.extend(why for _, why in displays)
    warnings += _masks_told(machine)
    by_vendor: dict[str, list[bool]] = {}
    for _, gpu in usable:
        by_vendor.setdefault(gpu.vendor, []).append(bool(gpu.integrated))
    kept: list[tuple[int, Gpu]] = []
    for number, gpu in usable:
        discrete_beside = not all(by_vendor[gpu.vendor])
        if gpu.integrated and discrete_beside and gpu.vendor != "apple":
            left.append((number, reason("integrated-left", card=card_name(gpu))))
        else:
            kept.append((number, gpu))
    return tuple(kept), tuple(left), tuple(warnings)


def _masks_told(machine: Machine) -> list[Reason]:
    """Return what is to be said of masks that hide nothing from the plan, though they do from programs."""
    told = []
    for variable in ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"):
        mask = machine.environment.get(variable, "unset")
        if is_empty_mask(mask) and machine.gpus:
            told.append(reason("mask-empty", variable=variable, value=mask))
    if not machine.declared:  # what is set here says nothing of a machine that was only named
        told += [reason("mask-none", variable=name, value=value) for name, value in useless_masks(machine)]
    return told


def _one_vendor(
    vendors: list[str], usable: tuple[tuple[int, Gpu], ...], machine: Machine
) -> tuple[str, tuple[Reason, ...]]:
    if len(vendors) == 1:
        return vendors[0], ()
    names = {vendor: next(card_name(gpu) for _, gpu in usable if gpu.vendor == vendor) for vendor in vendors}
    # Integrated graphics never win over a card that somebody put in, whatever memory they share.
    discrete = [v for v in vendors if any(gpu.vendor == v and not gpu.integrated for _, gpu in usable)]
    if len(discrete) == 1:
        others = ", ".join(names[vendor] for vendor in vendors if vendor != discrete[0])
        facts = {"chosen": names[discrete[0]], "other": others, "because": "it is the discrete card"}
        return discrete[0], (reason("two-vendors", **facts),)
    working = [vendor for vendor in vendors if _stack_works(vendor, machine)]
    if len(working) == 1:
        chosen, because = working[0], "its driver works"
    else:
        pool = working or vendors
        memory = {v: sum(gpu.memory_mib or 0 for _, gpu in usable if gpu.vendor == v) for v in pool}
        # A stable order where nothing is known of the memory: vendors with more kinds of wheels first.
        chosen = max(pool, key=lambda vendor: (memory[vendor], -list(BACKEND_OF_VENDOR).index(vendor)
                                               if vendor in BACKEND_OF_VENDOR else -99))  # fmt: skip
        because = "it has more memory" if memory[chosen] else "its builds are the most widely published"
    others = ", ".join(names[vendor] for vendor in vendors if vendor != chosen)
    return chosen, (reason("two-vendors", chosen=names[chosen], other=others, because=because),)


def _stack_works(vendor: str, machine: Machine) -> bool:
    drivers = {"nvidia": machine.nvidia, "amd": machine.amd, "intel": machine.intel, "ascend": machine.ascend}
    driver = drivers.get(vendor)
    if driver is None:
        return False
    if driver.state is not None:
        return driver.state == "ok"
    return any(driver.__dict__.values())


def _nvidia(chosen: tuple[tuple[int, Gpu], ...], machine: Machine, catalog: Catalog) -> Selection:
    driver = machine.nvidia or NvidiaDriver()
    cards: list[Card] = []
    left: list[tuple[int, Reason]] = []
    bound = any(gpu.driver == "nvidia" for _, gpu in chosen)
    for number, gpu in chosen:
        name = card_name(gpu)
        if gpu.driver in FOREIGN_DRIVERS:
            left.append((number, reason("left-driver", card=name, driver=gpu.driver)))
            continue
        if gpu.driver == _UNBOUND and bound:
            left.append((number, reason("left-unbound", card=name)))
            continue
        cc = established_capability(gpu, catalog, machine)
        if cc is None:
            return Selection(backend="cuda", undetermined=reason("card-unknown", card=name))
        tegra = catalog.tegra(machine.jetson.soc if machine.jetson and gpu.integrated else None, cc)
        cards.append(Card(number=number, gpu=gpu, name=name, cc=cc, generation=catalog.generation(cc), tegra=tegra))
    if not cards:
        return Selection(
            backend="cuda",
            left_out=tuple(left),
            blocked=reason("driver-nouveau", **{"driver": "", **left[0][1].params}),
        )
    if driver.state in _BROKEN and machine.jetson is None:
        if driver.state == "no-device" and (module := _wrong_module(cards[0], machine)) is not None:
            return Selection(backend="cuda", cards=tuple(cards), left_out=tuple(left), blocked=_blocked(module))
        why = reason(_BROKEN[driver.state], card=cards[0].name, driver="nouveau")
        return Selection(backend="cuda", cards=tuple(cards), left_out=tuple(left), blocked=why)
    judged = [(card, not_driven(card, machine)) for card in cards]
    driven = tuple(card for card, why in judged if why is None)
    undriven = tuple((card.number, why) for card, why in judged if why is not None)
    if not driven:
        return Selection(backend="cuda", cards=tuple(cards), left_out=tuple(left), blocked=_blocked(undriven[0][1]))
    left.extend(undriven)
    warnings = (*(why for _, why in left), *_two_modules(driven, machine))
    return Selection(backend="cuda", cards=driven, left_out=tuple(left), warnings=warnings)


def _two_modules(cards: tuple[Card, ...], machine: Machine) -> tuple[Reason, ...]:
    """Return a word about cards that no one Linux kernel module drives together, where none is known to be loaded."""
    loaded = machine.nvidia.kernel_module if machine.nvidia is not None else None
    if machine.os.name != "linux" or machine.os.wsl or loaded:
        return ()
    need = {card.generation.open_module: card for card in reversed(cards) if card.generation is not None}
    old, new = need.get("impossible"), need.get("required")
    if old is None or new is None or new.generation is None:
        return ()
    return (reason("modules-differ", old=old.name, new=new.name, source=new.generation.module_source),)


def is_compute_target(gpu: Gpu, catalog: Catalog) -> bool | None:
    """Tell whether there can be wheels for a card, by PCI id or by a name whose meanings agree."""
    if gpu.pci_id and (card := catalog.card(gpu.pci_id.lower())) is not None:
        return card.compute
    if gpu.gfx:
        return catalog.gfx_is_target(gpu.gfx) if gpu.integrated else True
    answers = {card.compute for card in catalog.find_cards(gpu.name or "") if card.vendor == gpu.vendor}
    if len(answers) == 1:
        return answers.pop()
    # The tables list every family that Intel's wheels are for; what they don't list is a display adapter.
    listed_only = gpu.vendor == "intel" and not answers and not _newer_intel(gpu)
    return False if listed_only and (gpu.pci_id or gpu.name) else None


def known_intel(gpu: Gpu, catalog: Catalog) -> bool:
    """Tell whether an Intel card is in the tables; one of which nothing but its maker is said counts as known."""
    return is_compute_target(gpu, catalog) is not None or not (gpu.pci_id or gpu.name) or not _newer_intel(gpu)


def _newer_intel(gpu: Gpu) -> bool:
    """Tell whether an Intel card that no table has may be one of the families after them: Arc, or driven by xe."""
    return gpu.driver == "xe" or "arc" in (gpu.name or "").lower().replace("(", " ").split()


def established_capability(gpu: Gpu, catalog: Catalog, machine: Machine | None = None) -> str | None:
    """Return the compute capability as told, or by Tegra SoC, PCI id, or a name that allows only one."""
    if gpu.compute_capability:
        return gpu.compute_capability if len(numbers(gpu.compute_capability)) > 1 else None
    board = machine.jetson if machine is not None else None
    if board is not None and board.soc and (tegra := catalog.tegra(board.soc, None)) is not None:
        return tegra.compute_capability
    if gpu.pci_id and (card := catalog.card(gpu.pci_id.lower())) and card.compute_capability:
        return card.compute_capability
    if gpu.name:
        capabilities = {card.compute_capability for card in catalog.find_cards(gpu.name) if card.vendor == "nvidia"}
        if len(capabilities) == 1:
            return capabilities.pop()
    return None


def not_driven(card: Card, machine: Machine) -> Reason | None:
    """Return why the running driver doesn't drive the card, if it doesn't; one of unknown version does."""
    driver = machine.nvidia
    generation = card.generation
    if driver is None or card.tegra is not None or generation is None:
        return None
    version = driver.version
    if version and generation.dropped_branch and numbers(version)[:1] >= (generation.dropped_branch,):
        return reason(
            "left-dropped",
            card=card.name,
            branch=generation.dropped_branch,
            last=generation.last_branch,
            found=version,
            source=generation.source,
        )
    # A card that is bound to it is driven by it, whatever tables say.
    if card.gpu.driver != "nvidia" and (wrong := _wrong_module(card, machine)) is not None:
        return wrong
    floor = generation.floor
    minimum = None if floor is None else floor.windows if is_windows_driver(machine) else floor.linux
    if version and floor is not None and minimum and not reaches(version, floor, windows=is_windows_driver(machine)):
        return reason("left-new", card=card.name, minimum=minimum, found=version, source=floor.source)
    return None


def _wrong_module(card: Card, machine: Machine) -> Reason | None:
    """Return why the kernel module that is loaded can't drive the card: neither flavour drives all."""
    driver, generation = machine.nvidia, card.generation
    if driver is None or generation is None or not driver.kernel_module:
        return None
    if _WRONG_MODULE.get(generation.open_module) != driver.kernel_module:
        return None
    other = "closed" if driver.kernel_module == "open" else "open"
    source = generation.module_source or generation.source
    return reason("left-module", card=card.name, module=driver.kernel_module, other=other, source=source)


def reaches(version: str, floor: Floor, *, windows: bool) -> bool:
    """Tell whether a driver reaches a floor. A bare branch stands for its newest release, on Windows too.

    Windows numbers run past the branch (R580 is 580 to 582), so a branch is compared with the Linux number
    of the same release, which is the branch.
    """
    bare = len(numbers(version)) == 1
    minimum = floor.windows if windows and not (bare and floor.linux) else floor.linux
    return not minimum or driver_at_least(version, minimum)


def _blocked(why: Reason) -> Reason:
    rule = {"left-dropped": "blocked-dropped", "left-module": "blocked-module"}.get(why.rule, "blocked-new")
    return reason(rule, source=why.source, **why.params)
