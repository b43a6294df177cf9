"""AMD's tools: rocminfo, rocm-smi (table and JSON), amd-smi, and the kernel's messages."""

from __future__ import annotations

import re

from torchinstall.probe.facts import GpuFacts
from torchinstall.probe.pasted.draft import Draft
from torchinstall.probe.pci import AMD, bus_address
from torchinstall.probe.rocminfo import agents, module_version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from torchinstall.model.card import CardLookup

_ID = re.compile(r"0x([0-9a-f]{4})", re.IGNORECASE)
_SMI_ROW = re.compile(r"^\d+\s+(?:\d+\s+)?\[?(0x[0-9a-f]{4})(?:\s*:\s*0x|,\s*\d)", re.IGNORECASE)
_QUERY_NAME = re.compile(r"^\[GPU (\d+)\] (AMD \S.*)$", re.MULTILINE)
_QUERY_GFX = re.compile(r"^\[GPU (\d+)\] (gfx[0-9a-f]+)\S*: AMD GCN Arch Name", re.MULTILINE)
_AMD_SMI = re.compile(r"^[ \t]*GPU: \d+[ \t]*$", re.MULTILINE)
_KERNEL_CARD = re.compile(r"IP DISCOVERY 0x1002:0x([0-9A-Fa-f]{4})")
_KERNEL_VERSION = re.compile(r"\[drm\] amdgpu version: (\d[\d.]*)")
_ROCM = re.compile(r"\bROCm version: (\d+\.\d+(?:\.\d+)?)", re.IGNORECASE)


def read_amd(text: str, draft: Draft, cards: CardLookup) -> None:
    """Add what any of AMD's tools in the text tells."""
    gpus, notes = agents(text, cards)
    for note in notes:
        draft.note(note)
    amd = draft.drivers["amd"]
    amd.put("amdgpu", module_version(text), "rocminfo")
    amd.put("dkms", value=True if module_version(text) else None, source="rocminfo")
    for found in (gpus, _rocm_smi(text), _amd_smi(text), _device_query(text), _dmesg(text, draft)):
        draft.add_gpus(found)
    if match := _ROCM.search(text):
        amd.put("rocm", match[1], "amd-smi")
    if gpus:
        amd.put("state", "ok", "rocminfo")  # it lists agents through /dev/kfd


def rocm_smi_json(document: Mapping[str, Any], draft: Draft) -> bool:
    """Add the cards of ``rocm-smi --json``; false where the document is none of its."""
    cards = [value for name, value in document.items() if name.startswith("card") and isinstance(value, dict)]
    gpus = []
    for card in cards:
        number = next((card[key] for key in ("Device ID", "GPU ID", "Card Model") if _is_id(card.get(key))), None)
        if number is not None:
            gpu = _card(number, "rocm-smi")
            gpu.put("bus_id", bus_address(str(card.get("PCI Bus", ""))), "rocm-smi")
            gpu.put("gfx", card.get("GFX Version"), "rocm-smi")
            gpus.append(gpu)
    draft.add_gpus(gpus)
    system = document.get("system")
    if gpus and isinstance(system, dict) and re.match(r"\d+\.\d+", str(system.get("Driver version", ""))):
        draft.drivers["amd"].put("amdgpu", str(system["Driver version"]), "rocm-smi")
    return bool(gpus)


def _is_id(value: object) -> bool:
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def _card(number: str, source: str) -> GpuFacts:
    gpu = GpuFacts("amd")
    gpu.put("pci_id", f"{AMD}:{number.lower().removeprefix('0x'):0>4}", source)
    return gpu


def _rocm_smi(text: str) -> list[GpuFacts]:
    if "ROCm System Management Interface" not in text:
        return []
    gpus: list[GpuFacts] = []
    for line in text.splitlines():
        match = _SMI_ROW.match(line)
        if match:
            gpus.append(_card(match[1], "rocm-smi"))
        elif gpus and (name := line.strip()).startswith("AMD "):
            gpus[-1].put("name", name, "rocm-smi")  # cut after 20 characters
    return gpus


def _amd_smi(text: str) -> list[GpuFacts]:
    gpus = []
    for block in _AMD_SMI.split(text)[1:]:
        fields: dict[str, str] = {}
        for line in block.splitlines():
            if line.strip() and not line.startswith((" ", "\t")):
                break  # another kind of device
            key, mark, value = line.strip().partition(":")
            if mark:
                fields.setdefault(key, value.strip())
        gpu = GpuFacts("amd")
        gpu.put("name", fields.get("MARKET_NAME"), "amd-smi")
        gpu.put("bus_id", bus_address(fields.get("BDF", "")), "amd-smi")
        if _is_id(fields.get("DEVICE_ID")):
            gpu.put("pci_id", f"{AMD}:{fields['DEVICE_ID'][2:].lower()}", "amd-smi")
        gfx = fields.get("TARGET_GRAPHICS_VERSION", "")
        gpu.put("gfx", gfx if gfx.startswith("gfx") else None, "amd-smi")
        gpus.append(gpu)
    return gpus


def _device_query(text: str) -> list[GpuFacts]:
    gfx = dict(_QUERY_GFX.findall(text))
    gpus = []
    for number, name in _QUERY_NAME.findall(text):
        gpu = GpuFacts("amd")
        gpu.put("name", name.strip(), "device query")
        gpu.put("gfx", gfx.get(number), "device query")
        gpus.append(gpu)
    return gpus


def _dmesg(text: str, draft: Draft) -> list[GpuFacts]:
    if match := _KERNEL_VERSION.search(text):
        draft.drivers["amd"].put("amdgpu", match[1], "kernel messages")
        draft.drivers["amd"].put("dkms", value=True, source="kernel messages")
    return [_card(number, "kernel messages") for number in _KERNEL_CARD.findall(text)]
