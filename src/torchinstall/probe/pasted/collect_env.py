"""The output of ``python -m torch.utils.collect_env``, of any torch release, and vLLM's longer edition of it."""

from __future__ import annotations

import re

from torchinstall.model.machine import LINUX, MACOS, WINDOWS
from torchinstall.model.version import is_driver_version
from torchinstall.probe.facts import GpuFacts
from torchinstall.probe.pasted.draft import Draft, vendor_of_name
from torchinstall.probe.variables import REPORTED

SOURCE = "collect_env"

_FIELD = re.compile(r"^\s*([A-Z][\w .]*?):[ \t]*(.*?)\s*$")
_OS = re.compile(r"(.+?)\s*\((x86_64|aarch64|arm64|amd64|[\d.]+ 64-bit)\)")
_GPU = re.compile(r"(?:GPU (\d+):\s*)?(.+)")
_GFX = re.compile(r"(.+?)\s*\((gfx[0-9a-f]+)[^)]*\)")
_PACKAGE = re.compile(r"^\s*\[(pip3?|conda)\]\s+([A-Za-z][\w.-]*?)(?:==|\s+)(\d\S*)(?:\s+\S+\s+(\S+))?\s*$")
_PLATFORM_ARCH = re.compile(r"-(x86_64|aarch64|arm64)-")
_KERNEL = re.compile(r"Linux-(.+?)-(?:x86_64|aarch64)-")
_MAC = re.compile(r"macOS-([\d.]+)-")
_APPLE_CHIP = re.compile(r"^Apple M\d+.*$", re.MULTILINE)
_XPU = re.compile(r"name='(Intel[^']+)'")
_VARIABLE = re.compile(r"^\s*(?:export )?([A-Z][A-Z0-9_]+)=(.*?)\s*$")
_NOTHING = frozenset({"", "N/A", "None", "Could not collect", "No CUDA", "False"})
_FAMILY = re.compile(r"torch\w*|nvidia-.*|triton.*|pytorch-triton.*|numpy|xformers|flash[-_]attn|functorch")


def is_collect_env(text: str) -> bool:
    """Tell whether the text holds a report of collect_env, or the better part of one."""
    return "PyTorch version:" in text or "GPU models and configuration:" in text


def read_collect_env(text: str, draft: Draft) -> None:
    """Add what the report tells."""
    lines = text.splitlines()
    fields: dict[str, str] = {}
    for number, line in enumerate(lines):
        match = _FIELD.match(line)
        if match is None:
            continue
        fields.setdefault(match[1], match[2])
        if match[1] == "GPU models and configuration":
            _gpus([match[2], *_following(lines, number)], draft)
        elif match[1] in {"Intel GPU models onboard", "Intel GPU models detected"}:
            _intel(_following(lines, number), draft)
    if chip := _APPLE_CHIP.search(text):
        fields["chip"] = chip[0].strip()
    _system(fields, draft)
    version = fields.get("Nvidia driver version", "")
    draft.drivers["nvidia"].put("version", version if is_driver_version(version) else None, SOURCE)
    if any(gpu.vendor == "nvidia" for gpu in draft.gpus):
        # The report lists cards through nvidia-smi, which lists none without a running driver.
        draft.drivers["nvidia"].put("state", "ok", SOURCE)
    _packages(lines, fields, draft)
    for line in lines:
        variable = _VARIABLE.match(line)
        if variable and variable[1] in REPORTED:
            draft.environment.setdefault(variable[1], variable[2])


def _following(lines: list[str], number: int) -> list[str]:
    """Return the lines up to the next field or empty line, which belong to the field of line ``number``."""
    found = []
    for line in lines[number + 1 :]:
        if not line.strip() or (_FIELD.match(line) and not re.match(r"\s*(?:GPU \d+|\* ?\[\d+\])", line)):
            break
        found.append(line.strip())
    return found


def _gpus(texts: list[str], draft: Draft) -> None:
    gpus = []
    for text in texts:
        match = _GPU.fullmatch(text.strip())
        if match is None or match[2] in _NOTHING:
            continue
        name = match[2]
        gfx = _GFX.fullmatch(name)
        gpu = GpuFacts("amd" if gfx else vendor_of_name(name))
        gpu.put("name", gfx[1] if gfx else name, SOURCE)
        gpu.put("gfx", gfx[2] if gfx else None, SOURCE)
        if "nvgpu" in name:
            gpu.put("integrated", value=True, source=SOURCE)
        gpus.append(gpu)
    draft.add_gpus(gpus)


def _intel(texts: list[str], draft: Draft) -> None:
    gpus = []
    for text in texts:
        match = _XPU.search(text)
        name = match[1] if match else text.lstrip("* ").strip()
        if name.startswith("Intel") and name not in _NOTHING:
            gpu = GpuFacts("intel")
            gpu.put("name", name, SOURCE)
            gpus.append(gpu)
    draft.add_gpus(gpus)


def _system(fields: dict[str, str], draft: Draft) -> None:
    system, platform = fields.get("OS", ""), fields.get("Python platform", "")
    match = _OS.fullmatch(system)
    name, arch = (match[1], match[2]) if match else (system, "")
    named = {"windows": WINDOWS, "macos": MACOS, "mac os": MACOS}
    kind = next((value for word, value in named.items() if word in name.lower()), LINUX if name else None)
    if kind is None and platform:
        kind = LINUX if platform.startswith("Linux-") else MACOS if platform.startswith("macOS-") else None
    draft.os.put("name", kind, SOURCE)
    if kind == MACOS:
        version = _MAC.search(platform)
        draft.os.put("version", version[1] if version else name.rpartition(" ")[2], SOURCE)
    elif name not in _NOTHING:
        draft.os.put("version", name, SOURCE)
    libc = fields.get("Libc version", "")
    draft.os.put("glibc", libc.removeprefix("glibc-") if libc.startswith("glibc-") else None, SOURCE)
    kernel = _KERNEL.match(platform)
    if kernel:
        draft.os.put("kernel", kernel[1], SOURCE)
        draft.os.put("wsl", "microsoft" in kernel[1].lower(), SOURCE)
        if kernel[1].endswith("-tegra"):
            draft.tegra = True
    told = _PLATFORM_ARCH.search(platform)
    python = fields.get("Python version", "")
    if not arch or "bit" in arch:
        arch = told[1] if told else "amd64" if "(AMD64)" in python or "64-bit" in arch else ""
    if arch and draft.arch is None:
        draft.arch = {"amd64": "x86_64"}.get(arch, arch)
    number = re.match(r"\d+\.\d+(?:\.\d+)?", python)
    draft.python.put("version", number[0] if number else None, SOURCE)
    if "free-threading" in python:
        draft.python.put("free_threaded", value=True, source=SOURCE)
    if "64-bit runtime" in python:
        draft.python.put("bits", 64, SOURCE)
    if kind == MACOS and draft.arch == "arm64":
        gpu = GpuFacts("apple")
        gpu.put("name", fields.get("chip") or "Apple silicon", SOURCE)
        gpu.put("integrated", value=True, source=SOURCE)
        draft.add_gpus([gpu])


def _packages(lines: list[str], fields: dict[str, str], draft: Draft) -> None:
    torch = fields.get("PyTorch version", "")
    if torch not in _NOTHING:
        draft.installed["torch"] = torch
    for line in lines:
        match = _PACKAGE.match(line)
        if match is None or not _FAMILY.fullmatch(match[2]):
            continue
        name = match[2].replace("_", "-").lower()
        draft.installed.setdefault(name, match[3])
        if match[1] == "conda" and match[4] and not match[4].startswith("pypi"):
            draft.installed_by[name] = "conda"
