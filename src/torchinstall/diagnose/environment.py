"""Findings of an environment that was looked at: what reinstalling mends, and what stands in its way."""

from __future__ import annotations

from torchinstall.model.finding import ENVIRONMENT, NOTE, REINSTALL, WARNING, Finding
from torchinstall.model.version import numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from torchinstall.model.inspection import Copy, Inspection, Shadow
    from torchinstall.model.machine import Machine

_LEAST_MIB = 2048
"""Below this much room on the environment's disk no torch with its CUDA libraries can be exchanged."""
_MANY = 5
_AGAIN = "torchinstall doctor --fix"


def environment_findings(seen: Inspection, machine: Machine) -> list[Finding]:
    """Return what the look at an environment found, most decisive first."""
    return [
        *_interrupted(seen),
        *_broken(seen),
        *_shadowed_by_file(seen),
        *_several(seen),
        *_clashing(seen),
        *_gaps(seen),
        *_unresolved(seen),
        *_cann(seen, machine),
        *_shadows(seen.shadows),
        *_left_over(seen),
        *_network(seen),
        *_settings(seen, machine),
        *_room(seen),
    ]


def _interrupted(seen: Inspection) -> Iterable[Finding]:
    if seen.journal:
        yield Finding(
            id="interrupted-install",
            action=ENVIRONMENT,
            cause=f"{seen.journal}; the environment is half the old one and half the new",
            evidence=(seen.journal,),
            remedy="bring the environment back to what it was, then install again",
            command=_AGAIN,
        )


def _broken(seen: Inspection) -> Iterable[Finding]:
    """Half removed or damaged packages: whatever metadata says, they have to be put in anew."""
    if seen.half:
        yield Finding(
            id="half-installed",
            action=REINSTALL,
            cause=f"{seen.half[0].partition(':')[0]} is only half there, as after an interrupted install or uninstall",
            evidence=seen.half,
            remedy="install it again",
            command=_AGAIN,
            packages=tuple(text.partition(":")[0] for text in seen.half),
        )
    if seen.damaged:
        names = ", ".join(damage.name for damage in seen.damaged[:_MANY])
        yield Finding(
            id="damaged-files",
            action=REINSTALL,
            cause=f"files of {names} are missing or cut off on disk, though their metadata says that they are whole",
            evidence=tuple(damage.words for damage in seen.damaged[:_MANY]),
            remedy="install them again; pip and uv alone would say that nothing is to be done",
            command=_AGAIN,
            packages=tuple(damage.name for damage in seen.damaged),
        )


def _shadowed_by_file(seen: Inspection) -> Iterable[Finding]:
    for path in seen.files[:1]:
        yield Finding(
            id="shadowing-file",
            action=ENVIRONMENT,
            cause=f"{path} is imported instead of torch by programs that are started beside it",
            evidence=seen.files,
            remedy="rename that file, and delete its __pycache__",
            command=f"mv {path} {path[:-3]}_file.py",
        )


def _several(seen: Inspection) -> Iterable[Finding]:
    for name in dict.fromkeys(copy.name for copy in seen.copies):
        copies = [copy for copy in seen.copies if copy.name == name]
        if len(copies) < 2:  # noqa: PLR2004 - several
            continue
        first = copies[0]
        yield Finding(
            id=f"two-installs-{name}" if name != "torch" else "two-installs",
            severity="error" if _differ(copies) else WARNING,
            action=ENVIRONMENT,
            cause=f"{name} is there {len(copies)} times; the one in {first.folder} ({first.why}) is imported",
            evidence=tuple(f"{c.inner or c.version or 'no version'} in {c.folder} ({c.why})" for c in copies),
            remedy=_way_out(copies),
            command=_way_out_command(first, name),
        )


def _differ(copies: Sequence[Copy]) -> bool:
    return len({copy.inner or copy.version for copy in copies}) > 1


def _way_out(copies: Sequence[Copy]) -> str:
    kinds = {copy.why for copy in copies}
    if "PYTHONPATH" in kinds:
        return "take the folder out of PYTHONPATH"
    if "user site" in kinds:
        return "remove the copy in the user's own folder (pip uninstall), or start programs with PYTHONNOUSERSITE=1"
    return "remove one of them"


def _way_out_command(first: Copy, name: str) -> str:
    if first.why == "PYTHONPATH":
        return "unset PYTHONPATH"
    if first.why == "user site":
        return f"python -m pip uninstall -y {name}"
    return ""


def _clashing(seen: Inspection) -> Iterable[Finding]:
    if seen.clashes:
        pairs = tuple(f"{one} and {other}" for one, other in seen.clashes)
        yield Finding(
            id="cuda-majors-clash",
            action=REINSTALL,
            cause=f"{pairs[0]} write the same folder: which library is in it depends on the order of installing",
            evidence=pairs[:_MANY],
            remedy="remove those of the CUDA that torch doesn't use, and put torch's own in anew",
            command=f"uv pip uninstall {' '.join(seen.stale)}" if seen.stale else _AGAIN,
            packages=tuple(name for pair in seen.clashes for name in pair if name not in seen.stale),
        )


def _gaps(seen: Inspection) -> Iterable[Finding]:
    if not seen.gaps:
        return
    lines = tuple(
        f"{gap.package} {gap.version} requires {gap.wanted}; {gap.found or 'nothing'} is installed" for gap in seen.gaps
    )
    if not any(gap.built_against for gap in seen.gaps):
        yield Finding(
            id="dependency-missing",
            severity=WARNING,
            action=REINSTALL,
            cause=lines[0],
            evidence=lines[:_MANY],
            remedy="install what is missing; torch itself stays",
            command=_AGAIN,
        )
        return
    family = [gap for gap in seen.gaps if gap.name == "torch"]
    names = tuple(dict.fromkeys(gap.package for gap in seen.gaps))
    yield Finding(
        id="companion-mismatch" if family else "requirements-unmet",
        action=REINSTALL,
        cause=lines[0],
        evidence=lines[:_MANY],
        remedy="install the family again with all that it requires, in one go",
        command=_AGAIN,
        packages=names if family else ("torch", *(gap.name for gap in seen.gaps if gap.found)),
    )


def _unresolved(seen: Inspection) -> Iterable[Finding]:
    if not seen.unresolved or seen.damaged or seen.half:
        return
    lines = tuple(f"{u.needed_by} needs {u.library}, which is nowhere" for u in seen.unresolved)
    of_system = all(
        u.library.startswith(("libgomp", "libstdc++", "libGL", "libgcc", "libnuma")) for u in seen.unresolved
    )
    packages = tuple(dict.fromkeys(u.package for u in seen.unresolved))
    yield Finding(
        id="library-missing",
        action=ENVIRONMENT if of_system else REINSTALL,
        cause=f"{seen.unresolved[0].library}, which {packages[0]} needs, isn't found",
        evidence=lines[:_MANY],
        remedy="install that library of the system" if of_system else "install torch again with all that it requires",
        command="" if of_system else _AGAIN,
        packages=() if of_system else packages,
    )


def _cann(seen: Inspection, machine: Machine) -> Iterable[Finding]:
    if seen.cann_missing and any(gpu.vendor == "ascend" for gpu in machine.gpus or ()):
        yield Finding(
            id="cann-not-sourced",
            action=ENVIRONMENT,
            cause="torch_npu is installed, and the environment of CANN isn't set: its libraries won't be found",
            evidence=("neither ASCEND_TOOLKIT_HOME nor a CANN folder in LD_LIBRARY_PATH is set",),
            remedy="source the set_env.sh of CANN in every shell that runs torch",
            command="source /usr/local/Ascend/ascend-toolkit/set_env.sh",
        )


def _shadows(shadows: Sequence[Shadow]) -> Iterable[Finding]:
    """Foreign copies that win: an older one breaks torch, another one may."""
    older = [
        s for s in shadows if s.own_version and s.other_version and numbers(s.other_version) < numbers(s.own_version)
    ]
    chosen = older or list(shadows)
    if not chosen:
        return
    first = chosen[0]
    age = "an older" if older else "another"
    yield Finding(
        id="shadowed-library",
        severity=WARNING,
        action=ENVIRONMENT,
        cause=f"{first.variable} brings {age} {first.library} in before torch's own: {first.other}",
        evidence=tuple(
            f"{s.library}: {s.other}{_bracket(s.other_version)} before {s.own}{_bracket(s.own_version)}"
            for s in chosen[:_MANY]
        ),
        remedy=f"unset {first.variable}, or take that folder out of it",
        command=f"unset {first.variable}",
    )


def _bracket(text: str) -> str:
    return f" ({text})" if text else ""


def _left_over(seen: Inspection) -> Iterable[Finding]:
    if seen.debris:
        yield Finding(
            id="uninstall-debris",
            severity=WARNING,
            action=ENVIRONMENT,
            cause="an uninstall was stopped half-way and left folders that begin with ~",
            evidence=seen.debris[:_MANY],
            remedy="delete them while no program uses the environment",
            command=f"rm -rf {seen.debris[0]}",
        )
    if seen.stale and not seen.clashes:
        yield Finding(
            id="old-cuda-packages",
            severity=NOTE,
            action=ENVIRONMENT,
            cause="packages of a CUDA that this torch doesn't use are left: they take room and nothing else",
            evidence=seen.stale[:_MANY],
            remedy="remove them if nothing else needs them",
            command=f"uv pip uninstall {' '.join(seen.stale)}",
        )


def _network(seen: Inspection) -> Iterable[Finding]:
    """Return settings with which no installer gets through, whatever it is asked for."""
    for name, value in seen.variables.items():
        if name.lower() == "https_proxy" and value.startswith("https://"):
            yield Finding(
                id="proxy-scheme",
                severity=WARNING,
                action=ENVIRONMENT,
                cause=f"{name} speaks TLS to the proxy itself, which most proxies don't understand",
                evidence=(f"{name}=https://...",),
                remedy="write it as http://host:port, unless the proxy is known to want TLS",
            )
            break
    for name, path in seen.lost[:1]:
        yield Finding(
            id="certificate-missing",
            severity=WARNING,
            action=ENVIRONMENT,
            cause=f"{name} names {path}, which isn't there: every download will fail at the certificate",
            evidence=tuple(f"{variable}={value}" for variable, value in seen.lost),
            remedy="correct the path, or unset it",
            command=f"unset {name}",
        )


def _settings(seen: Inspection, machine: Machine) -> Iterable[Finding]:
    if not seen.settings:
        return
    cpu = machine.installed.get("torch", "").endswith("+cpu") and bool(machine.gpus)
    yield Finding(
        id="index-settings",
        severity=NOTE,
        action=ENVIRONMENT if cpu else "none",
        cause="pip or uv is set to other indexes than its own: what they have decides what a plain install brings",
        evidence=("; ".join(f"{value} ({origin})" for value, origin in seen.settings[:_MANY]),),
        remedy="install torch from the index of its variant alone; torchinstall does, whatever is set there"
        if cpu
        else "",
    )


def _room(seen: Inspection) -> Iterable[Finding]:
    if seen.free_mib is not None and seen.free_mib < _LEAST_MIB:
        yield Finding(
            id="disk-nearly-full",
            severity=NOTE,
            action=ENVIRONMENT,
            cause=f"{seen.free_mib} MiB are free on the environment's disk: too little to exchange torch",
            remedy="make room before installing anything",
        )
    if seen.temporary is not None and seen.temporary[1] < _LEAST_MIB:
        folder, free = seen.temporary
        yield Finding(
            id="temporary-nearly-full",
            severity=NOTE,
            action=ENVIRONMENT,
            cause=f"{free} MiB are free in {folder}, where installers unpack: a large wheel may not fit",
            remedy="point TMPDIR to a disk with room before installing anything",
        )
