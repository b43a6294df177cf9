"""Rules about packages that don't fit each other: companions, compiled dependents, another torch in the way."""

from __future__ import annotations

from torchinstall.diagnose.say import command, evidence, from_text, take
from torchinstall.diagnose.situation import COMPANIONS
from torchinstall.model.finding import ENVIRONMENT, INSTALL, REINSTALL, Finding
from torchinstall.model.plan import INSTALL as INSTALLABLE
from torchinstall.model.plan import Plan
from torchinstall.model.variant import backend, toolkit
from torchinstall.model.version import numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torchinstall.diagnose.situation import Situation

_PAIRED_ALIKE = (2, 10)
"""torchaudio bears torch's own number up to this release."""


def vendor_build(s: Situation) -> Finding | None:
    """Recognise a companion that doesn't fit a vendor's torch: the companion goes, the vendor's torch stays."""
    symptom = s.symptom("companion", "cudart", "library-missing")
    installed = s.installed
    if symptom is None or installed is None or not installed.vendor:
        return None
    return from_text(
        symptom,
        ENVIRONMENT,
        id="vendor-build-companion",
        cause=f"torch {installed.text} is a vendor's build, and a package from the public index was put beside it",
        evidence=evidence(s, symptom),
        remedy="take the image's own package instead; install others under its constraints (PIP_CONSTRAINT)",
        command="pip uninstall -y torchvision torchaudio",
    )


def cuda_runtime_of_another(s: Situation) -> Finding | None:
    """Libcudart of another major is missing: something here was compiled for that CUDA."""
    symptom = s.symptom("cudart")
    if symptom is None:
        return None
    installed, major = s.installed, symptom.group("major")
    release = installed.release if installed else None
    foreign = s.dependents or tuple(
        name for name in s.told.installed if name not in {"torch", *COMPANIONS} and not name.startswith("nvidia-")
    )
    companion = any(name in s.text for name in COMPANIONS)
    plan = _with_cuda(s, release, int(major)) if release and foreign and not companion else None
    if plan is not None:
        names = ", ".join(foreign)
        s.prefer(plan)
        return from_text(
            symptom,
            REINSTALL,
            cause=f"{names} here is compiled for CUDA {major}, and torch {installed.shown if installed else ''} isn't",
            evidence=evidence(s, symptom),
            remedy=f"{take(plan)}, a build for CUDA {major}; or take a release of {names} for torch's CUDA",
            command=command(s, plan),
        )
    plan = s.proposed
    return from_text(
        symptom,
        REINSTALL,
        cause=f"a package here is compiled for CUDA {major}, and torch brings another CUDA",
        evidence=evidence(s, symptom),
        remedy=f"install torch and its companions in one go: {take(plan)}" if plan.torch else symptom.signature.remedy,
        command=command(s, plan) or "torchinstall --upgrade torch torchvision torchaudio",
    )


def companions(s: Situation) -> Finding | None:
    """Torchvision or torchaudio of another torch: by the text, or by the tables."""
    symptom = s.symptom("companion")
    wrong = mismatched(s)
    if symptom is None and not wrong:
        return None
    plan = s.proposed
    names = [name for name, _version, _right in wrong]
    lines = [
        f"{name} {version} doesn't belong to torch {s.installed.shown if s.installed else ''}"
        + (f"; {right} does" if right else "")
        for name, version, right in wrong
    ]
    remedy = take(plan) + " with the companions that belong to it" if plan.torch else "install them together"
    values: dict[str, Any] = {
        "id": "companion-mismatch",
        "evidence": (*evidence(s, symptom), *lines),
        "remedy": remedy,
        "command": command(s, plan) or "torchinstall --upgrade torch torchvision torchaudio",
        "packages": tuple(names),
    }
    if lines:
        values["cause"] = "; ".join(lines)
    if symptom is not None:
        return from_text(symptom, REINSTALL, **values)
    return Finding(action=REINSTALL, **values)


def mismatched(s: Situation) -> list[tuple[str, str, str]]:
    """Return the companions that don't belong to the installed torch: name, version, and the right one if known."""
    installed = s.installed
    if installed is None or installed.release is None or installed.vendor:
        return []
    found = []
    for name in COMPANIONS:
        said = s.told.installed.get(name, "")
        version, _, local = said.split(" ")[0].partition("+")
        if not version or not version[0].isdigit():
            continue
        rows = _rows(s, name)
        if rows:
            right = version in rows or any(row.startswith(f"{version}.") and version.count(".") == 1 for row in rows)
            mixed = bool(local and installed.variant and backend(local) and local != installed.variant)
            if not right or (mixed and not _same_kind(local, installed.variant or "")):
                best = f"{rows[0]}+{installed.variant}" if mixed and right else rows[0]
                found.append((name, said, best))
        elif name == "torchaudio" and numbers(installed.release)[:2] <= _PAIRED_ALIKE:
            release = numbers(installed.release)
            alike = numbers(version)[:2] in {release[:2], (0, release[1])}
            if not alike:
                found.append((name, said, ""))
    return found


def _rows(s: Situation, name: str) -> list[str]:
    """Return the versions of a companion that belong to the installed torch, best first."""
    installed = s.installed
    if installed is None:
        return []
    versions: dict[str, None] = {}
    for build in s.catalog.builds(s.platform or ""):
        if build.torch == installed.release and installed.variant in {None, build.variant}:
            versions.update(dict.fromkeys(row.version for row in s.catalog.companions(name, build)))
    return list(versions)


def _same_kind(first: str, second: str) -> bool:
    """Tell whether two local versions mean the same build: on macOS cpu and mps do."""
    return {first, second} <= {"cpu", "mps"} or {first, second} <= {"cpu", "npu"}


def _with_cuda(s: Situation, release: str, major: int) -> Plan | None:
    """Return the plan for the same torch with a build of one CUDA major, the default one first."""
    variants = [
        build.variant
        for build in s.catalog.builds(s.platform or "")
        if build.torch == release
        and numbers(toolkit(build.variant))[:1] == (major,)
        and backend(build.variant) == "cuda"
    ]
    default = s.catalog.default_variant(release, s.platform or "")
    for variant in sorted(variants, key=lambda v: (v != default, [-n for n in numbers(toolkit(v))])):
        plan = s.plan_for(f"torch=={release}", variant)
        if plan.outcome == INSTALLABLE:
            return plan
    return None


def toolkit_of_extension(s: Situation) -> Finding | None:
    """Recognise an extension compiled with another toolkit: a newer major calls for torch's build of it."""
    symptom = s.symptom("extension-toolkit")
    if symptom is None:
        return None
    nvcc, compiled = numbers(symptom.group("nvcc")), numbers(symptom.group("compiled"))
    if nvcc and compiled and nvcc[0] > compiled[0]:
        plan = s.asked
        return from_text(
            symptom,
            REINSTALL,
            remedy=f"take a torch for CUDA {nvcc[0]}, or a toolkit of CUDA {compiled[0]}; ready wheels need none",
            command=command(s, plan) if numbers(toolkit(plan.variant or ""))[:1] == nvcc[:1] else "",
        )
    return from_text(symptom, ENVIRONMENT)


def library_missing(s: Situation) -> Finding | None:
    """Recognise that a library of the nvidia packages isn't there: torch was installed without all that it requires."""
    symptom = s.symptom("library-missing")
    if symptom is None:
        return None
    plan = s.proposed
    return from_text(
        symptom,
        REINSTALL,
        evidence=evidence(s, symptom),
        command=f"torchinstall --upgrade torch=={plan.torch}" if plan.torch else symptom.signature.command,
        packages=("torch",),
    )


def torch_not_there(s: Situation) -> Finding | None:
    """No module named torch: not installed, or installed for another Python, or hidden from an isolated build."""
    symptom = s.symptom("torch-missing")
    if symptom is None:
        return None
    low = s.text.lower()
    if any(
        word in low for word in ("build isolation", "get_requires_for_build", "setup.py", "build_wheel", "pyproject")
    ):
        return from_text(
            symptom,
            ENVIRONMENT,
            id="build-isolation",
            cause="the package is built in an environment of its own, in which torch isn't",
            remedy="install torch first, then the package with --no-build-isolation",
            command="uv pip install --no-build-isolation PACKAGE",
        )
    if s.installed is not None:
        return from_text(
            symptom,
            ENVIRONMENT,
            id="other-python",
            cause="torch is installed, but for another Python than the one that runs",
            remedy="start the program with the Python of that environment",
        )
    return from_text(symptom, INSTALL, command=command(s, s.asked) or "torchinstall torch")


def torch_shadowed(s: Situation) -> Finding | None:
    """Something else named torch is imported: a file of the user, or the remains of an uninstall."""
    symptom = s.symptom("torch-shadowed")
    if symptom is None:
        return None
    half = s.installed is None or "unknown location" in s.text
    return from_text(symptom, REINSTALL if half and s.told.installed else ENVIRONMENT)
