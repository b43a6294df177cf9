"""The operating system: distribution, C library, kernel, WSL, architecture."""

from __future__ import annotations

import re

from torchinstall.model.machine import LINUX, MACOS, WINDOWS
from torchinstall.probe.facts import Facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.probe.system import System

_GLIBC_IN_LDD = re.compile(r"ldd \([^)\n]*(?:\([^)\n]*\))?[^)\n]*\) (\d+\.\d+)")
_GLIBC_IN_LIBRARY = re.compile(rb"GNU C Library [^\n]{0,80}release version (\d+\.\d+)")
_GLIBC_IN_NAME = re.compile(r"libc-(\d+\.\d+)\.so")
_MUSL_LOADER = re.compile(r"ld-musl-\w+\.so\.(\d+)")
_MUSL_IN_APK = re.compile(r"^P:musl\nV:(\d+\.\d+(?:\.\d+)?)", re.MULTILINE)
_MAC_VERSION = re.compile(r"<key>ProductVersion</key>\s*<string>([\d.]+)</string>")
_ARCHES = {"amd64": "x86_64", "x64": "x86_64", "arm64": "aarch64", "armv8l": "aarch64", "i386": "i686", "x86": "i686"}
_LIBRARY_LIMIT = 8 * 1024 * 1024


def os_facts(system: System) -> Facts:
    """Return the fields of ``Os``, each with its source."""
    facts = Facts()
    facts.put("name", system.os_name, "system")
    if system.given is not None:
        for field in ("version", "glibc", "musl"):
            facts.put(field, getattr(system.given.os, field), "system.json")
    if system.os_name == LINUX:
        release = system.kernel_release or system.read_line("/proc/sys/kernel/osrelease")
        facts.put("kernel", release, "uname")
        facts.put("version", os_release(system), "os-release")
        facts.put("wsl", release is not None and "microsoft" in release.lower(), "kernel release")
        _add_libc(facts, system)
    elif system.os_name == MACOS:
        facts.put("version", macos_version(system), "SystemVersion.plist")
        facts.put("kernel", system.kernel_release, "uname")
    elif system.os_name == WINDOWS and system.given is None:
        facts.put("version", windows_version(), "system")
    return facts


def architecture(system: System) -> str | None:
    """Return the architecture by its usual name: x86_64, aarch64; Apple's and Windows' ARM is ``arm64``."""
    if not system.arch:
        return None
    name = system.arch.lower()
    name = _ARCHES.get(name, name)
    if name == "x86_64" and system.os_name == MACOS and _translated(system):
        return "arm64"
    return "arm64" if name == "aarch64" and system.os_name in {MACOS, WINDOWS} else name


def _translated(system: System) -> bool:
    # A process of x86_64 on Apple silicon (Rosetta) is told that the machine is x86_64.
    answer = system.run(["sysctl", "-n", "sysctl.proc_translated"], extra=("/usr/sbin",))
    if answer is None or answer.out.strip() != "1":
        return False
    system.note("this process runs under Rosetta: the machine is arm64, an x86_64 Python can't use its GPU")
    return True


def os_release(system: System) -> str | None:
    """Return distribution and version from os-release: ``Ubuntu 22.04``."""
    text = system.read_text("/etc/os-release") or system.read_text("/usr/lib/os-release")
    if text is None:
        return None
    fields = {}
    for line in text.splitlines():
        key, mark, value = line.strip().partition("=")
        if mark:
            fields[key] = value.strip().strip("\"'")
    name = fields.get("NAME") or fields.get("ID", "")
    return f"{name} {fields.get('VERSION_ID', '')}".strip() or None


def _add_libc(facts: Facts, system: System) -> None:
    facts.put("glibc", system.glibc(), "libc")
    if facts.get("glibc") or facts.get("musl"):
        return
    facts.put("glibc", glibc_from_ldd(system), "ldd")
    if facts.get("glibc") is None:
        facts.put("glibc", glibc_from_library(system), "libc.so.6")
    # Debian has musl as an ordinary package: its loader says something only where there is no glibc.
    if facts.get("glibc") is None:
        version, source = musl(system)
        facts.put("musl", version, source)


def glibc_from_ldd(system: System) -> str | None:
    """Return the glibc version that the ldd script names."""
    text = system.read_bytes("/usr/bin/ldd")
    match = _GLIBC_IN_LDD.search(text.decode("utf-8", "replace")) if text else None
    return match[1] if match else None


def glibc_from_library(system: System) -> str | None:
    """Return the version in the name (before 2.34) or in the text of the C library's file."""
    arch = system.arch or "x86_64"
    for folder in (f"/lib/{arch}-linux-gnu", "/lib64", f"/usr/lib/{arch}-linux-gnu", "/usr/lib64"):
        link = system.readlink(f"{folder}/libc.so.6")
        if link and (match := _GLIBC_IN_NAME.search(link)):
            return match[1]
        content = system.read_bytes(f"{folder}/libc.so.6", _LIBRARY_LIMIT)
        if content and (found := _GLIBC_IN_LIBRARY.search(content)):
            return found[1].decode()
    return None


def musl(system: System) -> tuple[str | None, str]:
    """Return the musl version and its source; where only the loader is there, the ABI number in its name."""
    loader = next((match for name in system.listdir("/lib") if (match := _MUSL_LOADER.fullmatch(name))), None)
    if loader is None:
        return None, ""
    text = system.read_text("/lib/apk/db/installed", 4 * 1024 * 1024)
    if text and (match := _MUSL_IN_APK.search(text)):
        return match[1], "apk"
    return loader[1], loader[0]


def macos_version(system: System) -> str | None:
    """Return the version of macOS, such as 14.5."""
    text = system.read_text("/System/Library/CoreServices/SystemVersion.plist")
    match = _MAC_VERSION.search(text) if text else None
    return match[1] if match else None


def windows_version() -> str | None:
    """Return the version of the running Windows, such as 10.0.22631."""
    import sys

    if sys.platform == "win32":
        version = sys.getwindowsversion()
        return f"{version.major}.{version.minor}.{version.build}"
    return None
