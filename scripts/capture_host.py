#!/usr/bin/env python3
"""Write what torchinstall's detection looks at on this machine into a folder, for a bug report.

    python3 capture_host.py [FOLDER]

Needs no torchinstall, no packages, no root and no network; any Python from 3.7 on. The folder works as
``torchinstall detect --sysroot FOLDER``. Serial numbers, UUIDs, host and user names, home folders and
network addresses are removed; please look through it all the same before you publish it.
"""

# One file for any Python that a machine may have, so plain os.path and no newer syntax.
# ruff: noqa: PTH100, PTH101, PTH103, PTH110, PTH112, PTH114, PTH115, PTH117, PTH119, PTH120, PTH123, PTH207, PTH211
from __future__ import annotations

import argparse
import glob
import json
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
from contextlib import suppress

LIMIT = 64 * 1024
SHORT = 4
"""Characters; shorter names of hosts and users would be found inside everything."""
TIMEOUT = 10
NOT_A_FIELD = 2
"""Exit code of an nvidia-smi that doesn't know a field."""

FILES = (
    "/etc/os-release", "/usr/lib/os-release", "/etc/nv_tegra_release", "/usr/bin/ldd",
    "/proc/driver/nvidia/version", "/proc/driver/nvidia/gpus/*/information",
    "/proc/device-tree/compatible", "/proc/device-tree/model", "/proc/sys/kernel/osrelease",
    "/proc/1/cgroup", "/proc/1/cmdline", "/proc/self/cgroup", "/run/.containerenv", "/run/systemd/container",
    "/sys/module/nvidia/version", "/sys/module/amdgpu/version", "/sys/module/metax/version",
    "/sys/class/kfd/kfd/topology/nodes/*/properties", "/sys/class/kfd/kfd/topology/nodes/*/gpu_id",
    "/opt/rocm/.info/version", "/opt/rocm/core/.info/version",
    "/usr/local/Ascend/driver/version.info",
    "/usr/local/Ascend/ascend-toolkit/latest/*/ascend_toolkit_install.info",
    "/usr/local/Ascend/ascend-toolkit/latest/ascend_toolkit_install.info",
    "/usr/local/Ascend/cann/*/ascend_toolkit_install.info",
    "/usr/local/Ascend/cann/ascend_toolkit_install.info",
    "/System/Library/CoreServices/SystemVersion.plist",
)  # fmt: skip
# Of these only that they are there is kept: an empty file in their place.
PRESENT = (
    "/dev/nvidia*", "/dev/dxg", "/dev/kfd", "/dev/dri/renderD*", "/dev/davinci*", "/dev/nvhost-gpu", "/dev/nvgpu",
    "/dev/iluvatar*", "/dev/mxcd", "/dev/null", "/.dockerenv", "/.flatpak-info", "/kaniko/executor", "/dev/lxd/sock",
    "/usr/lib/wsl/lib/libnvidia-ml.so.1", "/usr/lib*/libze_intel_gpu.so.1", "/usr/lib/*/libze_intel_gpu.so.1",
    "/run/nvidia-fabricmanager/nv-fabricmanager.pid",
    "/lib/modules/*/updates/dkms/nvidia.ko*", "/lib/modules/*/extra/nvidia.ko*", "/lib/ld-musl-*.so.1",
)  # fmt: skip
MODULES = ("nvidia", "nouveau", "amdgpu", "i915", "xe", "metax")
LINKS = ("/usr/lib/*/libze_loader.so.1", "/usr/lib64/libze_loader.so.1", "/lib/*/libc.so.6", "/lib64/libc.so.6")
PCI = "/sys/bus/pci/devices"
PCI_FILES = ("vendor", "device", "class", "boot_vga", "mem_info_vram_total")
PCI_CLASSES = ("0x0300", "0x0302", "0x0380", "0x1200")

SMI_FIELDS = "index,name,uuid,pci.bus_id,pci.device_id,driver_version,compute_cap,memory.total,mig.mode.current"
COMMANDS = (
    ("nvidia-smi", ["--query-gpu=" + SMI_FIELDS, "--format=csv"], ("/usr/lib/wsl/lib",)),
    ("rocminfo", [], ("/opt/rocm/bin",)),
    ("npu-smi", ["info"], ("/usr/local/bin", "/usr/local/sbin")),
)
SYSCTL = ("machdep.cpu.brand_string", "hw.memsize", "sysctl.proc_translated")
CLIENTS = ("sbatch", "srun", "sinfo", "bsub", "qconf", "qsub", "pbsnodes")

VARIABLES = re.compile(
    r"(CUDA_(VISIBLE_DEVICES|DEVICE_ORDER|VERSION)|NVIDIA_(VISIBLE_DEVICES|DRIVER_CAPABILITIES|REQUIRE_CUDA)|container"
    r"|HIP_VISIBLE_DEVICES|ROCR_VISIBLE_DEVICES|HSA_OVERRIDE_GFX_VERSION|ROCM_(VERSION|PATH)|ZE_AFFINITY_MASK"
    r"|ASCEND_(RT_VISIBLE_DEVICES|VISIBLE_DEVICES|TOOLKIT_HOME|HOME_PATH)|TORCH_CUDA_ARCH_LIST)\Z"
)
REGISTRY = r"SYSTEM\CurrentControlSet\Control\Class\{4d36e968-e325-11ce-bfc1-08002be10318}"
REGISTRY_VALUES = (
    "MatchingDeviceId", "DriverDesc", "DriverVersion", "ProviderName", "HardwareInformation.qwMemorySize",
)  # fmt: skip


class Cleaner:
    """Takes private things out of text; the same UUID becomes the same stand-in everywhere."""

    def __init__(self, names: list[str]) -> None:
        """Take the names of host and user, which are replaced wherever they stand as words."""
        self._uuids: dict[str, str] = {}
        # A name such as "root" or "gpu" says nothing about anybody, and would take words out of the outputs.
        self._names = [
            name for name in names if len(name) >= SHORT and name not in ("root", "localhost", "user", "ubuntu")
        ]

    def clean(self, text: str) -> str:
        """Return the text without what could name a person, a machine or a piece of hardware."""
        text = re.sub(r"\b((?:GPU|MIG)-)[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", self._uuid, text)
        text = re.sub(r"(?im)^(\s*(?:unique_id|serial|serial number|hive_id)\s*[:=]?\s+).*$", r"\g<1>0", text)
        text = re.sub(r"\([^\s()@]+@[^\s()]+\)", "(builder@host)", text)
        text = re.sub(r"(?i)\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b", "00:00:00:00:00:00", text)
        text = re.sub(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.]|-[a-z])", "0.0.0.0", text)  # noqa: S104 - a stand-in, nothing listens
        text = re.sub(r"(/home/|/Users/|\\Users\\)[^/\\\s:;\"']+", r"\g<1>user", text)
        for name in self._names:
            text = re.sub(rf"\b{re.escape(name)}\b", "machine", text)
        return text

    def _uuid(self, match: re.Match[str]) -> str:
        number = self._uuids.setdefault(match.group(0), f"{len(self._uuids) + 1:012d}")
        return f"{match.group(1)}00000000-0000-0000-0000-{number}"


class Capture:
    """One run: from the machine under ``root`` into a new folder."""

    def __init__(self, root: str, target: str) -> None:
        """Take the folder that stands for the machine (``""`` for this one) and the one to write."""
        self._root = root.rstrip("/")
        self._target = target
        names = [] if root else [socket.gethostname(), socket.gethostname().split(".")[0], _user()]
        self._cleaner = Cleaner(names)
        self.written = 0

    def run(self) -> None:
        """Write everything."""
        for pattern in FILES:
            for path in self._found(pattern):
                self._copy(path)
        for pattern in PRESENT:
            for path in self._found(pattern):
                self._write(path, b"")
        for pattern in LINKS:
            for path in self._found(pattern):
                self._link(path)
        for path in self._found(PCI + "/*"):
            self._pci(path)
        for name, arguments, folders in COMMANDS:
            self._command(name, arguments, folders)
        self._write("/proc/sys/kernel/hostname", b"machine\n")
        for name in MODULES:
            if os.path.isdir(f"{self._root}/sys/module/{name}"):
                self._write(f"/sys/module/{name}/initstate", b"live\n")
        self._mounts()
        self._musl()
        self._sysctl()
        for name in CLIENTS:
            if self._which(name, ()):
                self._script(name, "exit 1\n")
        self._registry()
        self._system()

    def _found(self, pattern: str) -> list[str]:
        return [path[len(self._root) :] for path in sorted(glob.glob(self._root + pattern))]

    def _read(self, path: str, limit: int = LIMIT) -> bytes | None:
        try:
            with open(self._root + path, "rb") as stream:
                return stream.read(limit)
        except OSError:
            return None

    def _copy(self, path: str) -> None:
        content = self._read(path)
        if content is None:
            return
        if path != "/proc/1/cmdline" and b"\0" not in content:
            content = self._cleaner.clean(content.decode("utf-8", "replace")).encode("utf-8")
        elif path == "/proc/1/cmdline":
            # What process 1 is called tells an image build; its arguments are nobody's business.
            words = content.split(b"\0")
            content = b"\0".join([*words[:2], *([b"..."] if any(words[2:]) else []), b""])
        self._write(path, content)

    def _write(self, path: str, content: bytes) -> None:
        place = self._target + path
        if not os.path.isdir(os.path.dirname(place)):
            os.makedirs(os.path.dirname(place))
        if not os.path.isdir(place):
            with open(place, "wb") as stream:
                stream.write(content)
            self.written += 1

    def _link(self, path: str) -> None:
        if os.path.islink(self._root + path):
            place = self._target + path
            if not os.path.isdir(os.path.dirname(place)):
                os.makedirs(os.path.dirname(place))
            os.symlink(os.path.basename(os.readlink(self._root + path)), place)

    def _pci(self, path: str) -> None:
        code = (self._read(path + "/class") or b"").decode("ascii", "replace")
        if not code.startswith(PCI_CLASSES):
            return
        for name in PCI_FILES:
            content = self._read(f"{path}/{name}")
            if content is not None:
                self._write(f"{path}/{name}", content)
        link = self._root + path + "/driver"
        if os.path.islink(link):
            name = os.path.basename(os.readlink(link))
            os.symlink("../../../bus/pci/drivers/" + name, self._target + path + "/driver")

    def _which(self, name: str, folders: tuple[str, ...]) -> str | None:
        if self._root:
            path = f"{self._root}/bin/{name}"
            return path if os.access(path, os.X_OK) else None
        paths = [folder for folder in os.environ.get("PATH", "").split(os.pathsep) if os.path.isabs(folder)]
        return shutil.which(name, path=os.pathsep.join([*paths, *folders]))

    def _command(self, name: str, arguments: list[str], folders: tuple[str, ...]) -> None:
        path = self._which(name, folders)
        if path is None:
            return
        code, output = _run([path, *arguments])
        if name == "nvidia-smi" and code == NOT_A_FIELD:
            # An old one, which doesn't know the capability.
            code, output = _run([path, arguments[0].replace(",compute_cap", ""), arguments[1]])
        text = self._cleaner.clean(output).rstrip("\n")
        self._script(name, f"cat <<'END'\n{text}\nEND\nexit {code}\n")

    def _script(self, name: str, text: str) -> None:
        self._write("/bin/" + name, ("#!/bin/sh\n" + text).encode("utf-8"))
        os.chmod(self._target + "/bin/" + name, 0o755)  # noqa: S103 - it is run by any user of the folder

    def _mounts(self) -> None:
        # Only what tells the kind of a container: the root, and the marks of image builds.
        text = (self._read("/proc/self/mountinfo") or b"").decode("utf-8", "replace")
        kept = [line for line in text.splitlines() if line.split()[4:5] == ["/"] or "build" in line]
        if kept:
            self._write("/proc/self/mountinfo", self._cleaner.clean("\n".join(kept) + "\n").encode("utf-8"))
        hosts = (self._read("/etc/hosts") or b"").decode("utf-8", "replace")
        host = (self._read("/proc/sys/kernel/hostname") or b"").decode("utf-8", "replace")
        if "buildkitsandbox" in hosts + host:
            self._write("/etc/hosts", b"127.0.0.1 buildkitsandbox\n")

    def _musl(self) -> None:
        # Of the list of installed packages only the one that tells the C library's version.
        entries = (self._read("/lib/apk/db/installed", 4 * 1024 * 1024) or b"").split(b"\n\n")
        kept = [entry for entry in entries if b"\nP:musl\n" in b"\n" + entry]
        if kept:
            versions = [line for line in kept[0].splitlines() if line.startswith((b"P:", b"V:"))]
            self._write("/lib/apk/db/installed", b"\n".join([*versions, b""]))

    def _sysctl(self) -> None:
        path = self._which("sysctl", ("/usr/sbin",))
        if path is None or (not self._root and sys.platform != "darwin"):
            return
        answers = [(name, _run([path, "-n", name])) for name in SYSCTL]
        cases = "".join(f"{name}) echo '{out.strip()}' ;;\n" for name, (code, out) in answers if code == 0)
        self._script("sysctl", f'case "$2" in\n{cases}*) exit 1 ;;\nesac\n')

    def _registry(self) -> None:
        if self._root:
            self._copy("/registry.json")
            return
        if sys.platform != "win32":
            return
        import winreg

        keys: list[dict[str, object]] = []
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, REGISTRY) as top:
            for number in range(winreg.QueryInfoKey(top)[0]):
                with suppress(OSError), winreg.OpenKey(top, winreg.EnumKey(top, number)) as key:
                    keys.append({})
                    for name in REGISTRY_VALUES:
                        with suppress(OSError):
                            keys[-1][name] = winreg.QueryValueEx(key, name)[0]
        self._write("/registry.json", json.dumps({REGISTRY: keys}, indent=1).encode("utf-8"))

    def _system(self) -> None:
        given = json.loads((self._read("/system.json") or b"{}").decode("utf-8")) if self._root else _this_system()
        text = json.dumps(given, indent=1, sort_keys=True)
        self._write("/system.json", (self._cleaner.clean(text) + "\n").encode("utf-8"))


def _this_system() -> dict[str, object]:
    names = {"linux": "linux", "win32": "windows", "darwin": "macos"}
    system: dict[str, object] = {
        "os": names.get(sys.platform, sys.platform),
        "arch": platform.machine(),
        "kernel": platform.release(),
    }
    if system["os"] == "windows":
        system["os_version"] = platform.version()
    try:
        libc = os.confstr("CS_GNU_LIBC_VERSION") or ""
        system["glibc"] = libc.split()[1] if libc.startswith("glibc ") else None
    except (AttributeError, ValueError, OSError):
        system["glibc"] = None
    system["python"] = platform.python_version()
    system["environ"] = {name: value for name, value in os.environ.items() if VARIABLES.match(name)}
    return {name: value for name, value in system.items() if value is not None}


def _user() -> str:
    import getpass

    try:
        return getpass.getuser()
    except Exception:  # noqa: BLE001 - there may be no name for the user at all
        return ""


def _run(argv: list[str]) -> tuple[int, str]:
    environ = dict(os.environ, LC_ALL="C")
    for name in ("CUDA_VISIBLE_DEVICES", "HSA_OVERRIDE_GFX_VERSION"):
        environ.pop(name, None)
    try:
        process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environ
        )
        try:
            output = process.communicate(timeout=TIMEOUT)[0]
        except subprocess.TimeoutExpired:
            process.kill()
            return 124, f"no answer within {TIMEOUT} s"
        return process.returncode, output.decode("utf-8", "replace")
    except OSError as error:
        return 127, str(error)


def main() -> int:
    """Write the folder and say what to do with it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", 1)[0])
    parser.add_argument("folder", nargs="?", default="torchinstall-host", help="a new folder to write")
    parser.add_argument("--root", default="", metavar="DIR", help="capture the machine that lies under DIR")
    arguments = parser.parse_args()
    if os.path.exists(arguments.folder):
        sys.stderr.write(f"{arguments.folder} is there already: name a new folder, or take that one away\n")
        return 2
    capture = Capture(arguments.root, os.path.abspath(arguments.folder))
    try:
        os.makedirs(os.path.abspath(arguments.folder))
        capture.run()
    except OSError as error:
        sys.stderr.write(f"{arguments.folder} can't be written: {error}\n")
        return 7
    print(f"{capture.written} files in {arguments.folder}")
    print("UUIDs, serial numbers, names and addresses were replaced; please look through it before you publish it.")
    print(f"It works as: torchinstall detect --sysroot {arguments.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
