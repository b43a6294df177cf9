"""From pasted text to machines: every reader looks for what it knows, and what they find is put together."""

from __future__ import annotations

import json
import re
import textwrap

from torchinstall.probe.facts import GpuFacts
from torchinstall.probe.pasted.amd_tools import read_amd, rocm_smi_json
from torchinstall.probe.pasted.cluster import from_labels, gres_lines, is_labels, labels_in, node, slurm_node
from torchinstall.probe.pasted.collect_env import is_collect_env, read_collect_env
from torchinstall.probe.pasted.draft import Draft
from torchinstall.probe.pasted.lspci import read_lspci
from torchinstall.probe.pasted.nvidia_smi import read_nvidia_smi
from torchinstall.probe.pasted.others import read_others
from torchinstall.probe.pci import bus_address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from torchinstall.model.card import CardLookup
    from torchinstall.model.machine import Machine

LIMIT = 16 * 1024 * 1024
"""Characters; what is longer is cut: no tool of these prints as much."""

_LINE, _SPACES = 16_384, 200
"""Characters: the widest answer of nvidia-smi has 8000, the widest frame 120."""
_EMPTY = re.compile(r"\n{4,}")
_RUN = re.compile(r"[ \t]{200,}")
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_QUOTED = re.compile(r"^> ?", re.MULTILINE)


def read_pasted(text: str, *, cards: CardLookup) -> list[Machine]:
    """Return the machines that a text tells of: one, or one a node for what a cluster prints; none for other text.

    Read are ``torch.utils.collect_env``, nvidia-smi (table, -L, -q, --version, XML, CSV, its complaints),
    rocminfo, rocm-smi, amd-smi, npu-smi, xpu-smi, deviceQuery, lspci, the files of /proc/driver/nvidia, of
    L4T and of CANN, ``kubectl get nodes -o json``, node labels, Slurm's nodes, and ``detect --json``; several
    of them in one text are one machine. ``cards`` is as in ``detect``. Nothing in the text raises, except a
    machine document with a field of the wrong type (``MachineFileError``).
    """
    text = _plain(text[:LIMIT])
    found = list(_documents(text, cards))
    if found:
        return found
    text = _short(text)
    draft = Draft()
    if is_collect_env(text):
        read_collect_env(text, draft)
    read_nvidia_smi(text, draft)
    read_amd(text, draft, cards)
    read_lspci(text, draft)
    read_others(text, draft)
    if labels := labels_in(text):
        from_labels(labels, draft)
    if draft.empty:
        return [draft.machine(cards) for draft in gres_lines(text)]
    return [draft.machine(cards)]


def _plain(text: str) -> str:
    """Take off what terminals and forums add: colours, carriage returns, quote marks, common indentation."""
    text = _ANSI.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).lstrip("\ufeff")
    lines = text.splitlines()
    if lines and all(line.startswith(">") for line in lines if line.strip()):
        text = _QUOTED.sub("", text)
    return textwrap.dedent(text)


def _short(text: str) -> str:
    """Cut what no tool prints: patterns that look for the end of a line would search such lines for minutes."""
    text = _EMPTY.sub("\n\n\n", _RUN.sub(" " * _SPACES, text))
    lines = text.splitlines()
    return text if max(map(len, lines), default=0) <= _LINE else "\n".join(line[:_LINE] for line in lines)


def _documents(text: str, cards: CardLookup) -> Iterator[Machine]:
    """Read JSON: one document, or one a line, with or without text round it."""
    start = text.lstrip()[:1]
    if start not in {"{", "["}:
        return
    try:
        documents = [json.loads(text)]
    except (ValueError, RecursionError):
        documents = []
        for line in text.splitlines():
            try:
                documents.append(json.loads(line))
            except (ValueError, RecursionError):  # noqa: PERF203 - a line that is none is passed over
                continue
    for document in documents:
        yield from _machines(document, cards)


def _machines(document: Any, cards: CardLookup) -> Iterator[Machine]:
    if isinstance(document, list):
        if document and all(isinstance(item, dict) and "manufacturer" in item for item in document):
            yield _listed(document).machine(cards)
            return
        for item in document:
            yield from _machines(item, cards)
        return
    if not isinstance(document, dict):
        return
    many = document.get("items", document.get("nodes"))
    if isinstance(many, list):
        for item in many:
            yield from _machines(item, cards)
        return
    if isinstance(document.get("machine"), dict):
        document = document["machine"]
    draft = _draft(document)
    if draft is not None:
        yield draft.machine(cards)
    elif "gpus" in document or "drivers" in document or "schema" in document:
        from torchinstall.model.machine_json import machine_from_json

        yield machine_from_json(document)


def _draft(document: dict[str, Any]) -> Draft | None:
    if is_labels(document):
        draft = Draft()
        from_labels(document, draft)
        return draft
    draft = Draft()
    if rocm_smi_json(document, draft):
        return draft
    return node(document) or slurm_node(document)


def _listed(items: list[dict[str, Any]]) -> Draft:
    """Read GPUStack's list of devices: a maker, a name, and for AMD the gfx in place of a compute capability."""
    draft = Draft()
    source = "gpustack"
    for item in items:
        vendor, name = str(item["manufacturer"]), item.get("name")
        gpu = GpuFacts(vendor)
        gpu.put("name", name if isinstance(name, str) else None, source)
        code = item.get("compute_capability")
        if isinstance(code, str):
            gpu.put("gfx" if code.startswith("gfx") else "compute_capability", code, source)
        if vendor == "ascend" and isinstance(name, str):
            gpu.put("soc", name.removeprefix("Ascend").strip(), source)
        memory, more = item.get("memory"), item.get("appendix")
        gpu.put("memory_mib", memory if type(memory) is int else None, source)
        if isinstance(more, dict):
            gpu.put("bus_id", bus_address(str(more.get("bdf", ""))), source)
        draft.gpus.append(gpu)
        driver, runtime = item.get("driver_version"), item.get("runtime_version_original")
        field, newest = {
            "nvidia": ("version", "cuda"), "amd": ("amdgpu", "rocm"), "ascend": ("driver", "cann"),
        }.get(vendor, ("", ""))  # fmt: skip
        if field:
            draft.drivers[vendor].put(field, driver if isinstance(driver, str) else None, source)
            if isinstance(runtime, str):
                # CUDA's own versions have two parts.
                number = ".".join(runtime.split(".")[:2]) if newest == "cuda" else runtime
                draft.drivers[vendor].put(newest, number, source)
    return draft
