"""Tegra boards: L4T release and SoC, from the files of every JetPack. Desktop driver numbers mean nothing here."""

from __future__ import annotations

import re

from torchinstall.probe.facts import Facts, GpuFacts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.model.card import CardLookup
    from torchinstall.probe.system import System

_RELEASE = re.compile(r"# R(\d+) \(release\), REVISION: (\d+(?:\.\d+)*)")
_SOC = re.compile(r"nvidia,(tegra\d+)")
_TREES = ("/proc/device-tree", "/sys/firmware/devicetree/base")


def jetson_facts(system: System) -> Facts | None:
    """Return the fields of ``Jetson``; ``None`` where this is no Tegra board."""
    facts = Facts()
    facts.put("l4t", l4t_release(system), "nv_tegra_release")
    soc, model = device_tree(system)
    facts.put("soc", soc, "device tree")
    if not facts.values:
        return None
    facts.put("model", model, "device tree")
    return facts


def l4t_release(system: System) -> str | None:
    """Return the L4T release, such as 36.4.3."""
    return release_of(system.read_text("/etc/nv_tegra_release") or "")


def release_of(text: str) -> str | None:
    """Return the L4T release that the text of nv_tegra_release names."""
    match = _RELEASE.search(text)
    return f"{match[1]}.{match[2]}" if match else None


def device_tree(system: System) -> tuple[str | None, str | None]:
    """Return the SoC (``tegra234``) and the board's name; the device tree ends its strings with NUL."""
    soc = model = None
    for tree in _TREES:
        names = (system.read_bytes(f"{tree}/compatible") or b"").decode("ascii", "replace")
        found = _SOC.findall(names)
        soc = soc or (found[-1] if found else None)  # the most general name comes last
        model = model or (system.read_bytes(f"{tree}/model") or b"").decode("utf-8", "replace").strip("\0 \n") or None
    return soc, model


def add_integrated(gpus: list[GpuFacts], board: Facts, cards: CardLookup) -> None:
    """Mark the board's own GPU, or add it: before Thor it is no PCI device.

    What code it runs is looked up by the SoC, unless the driver's libraries have told.
    """
    own = next((gpu for gpu in gpus if _is_own(gpu)), None)
    if own is None:
        own = GpuFacts("nvidia")
        gpus.insert(0, own)
    own.put("integrated", value=True, source="device tree")
    own.put("name", board.get("model"), "device tree")
    card = cards(str(board.get("soc")))
    if card is not None:
        own.put("compute_capability", card.compute_capability, "table of SoCs")


def _is_own(gpu: GpuFacts) -> bool:
    # "Orin (nvgpu)" is how its driver names it; a card in a slot has another driver.
    name = str(gpu.get("name") or "")
    return gpu.get("integrated") is True or "nvgpu" in name or "Thor" in name or gpu.get("bus_id") is None
