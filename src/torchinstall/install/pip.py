"""The pip back end: the torch family first, each package from its own index alone, then the rest.

pip has no index a package, and with an extra index takes the highest version
of any of them. So the family goes in by steps of its own: exact pins, one
index a call, no dependencies, and hashes where they are known. The
dependencies and other packages follow from the indexes that pip is configured
with, with the family held by constraints.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from torchinstall.index.location import canonical, file_url, local_path
from torchinstall.install.backend import Change
from torchinstall.install.config_files import pip_files, read_ini
from torchinstall.install.find_pip import find_pip
from torchinstall.install.known_errors import explain_failure, load_known_errors
from torchinstall.install.preflight import target_paths
from torchinstall.install.process import run
from torchinstall.install.records import installed
from torchinstall.install.settings import DEFAULT_INDEX, EXTRA_INDEX, FIND_LINKS, PIP
from torchinstall.install.sources import check_sources
from torchinstall.install.uv import scratch
from torchinstall.install.uv_project import DEFAULT, others_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from torchinstall.index.http import Client
    from torchinstall.install.backend import Job
    from torchinstall.install.find_pip import Pip as Program
    from torchinstall.model.plan import Pin

_NETWORK = (
    "cache-dir", "cert", "client-cert", "keyring-provider", "no-cache-dir", "proxy", "retries", "timeout",
    "trusted-host",
)  # fmt: skip
"""Settings of pip that say how to reach an index, and not which; they hold in every step."""


class Pip:
    """pip as an installer; parameters as for ``Uv``."""

    name = "pip"

    def __init__(self, environ: Mapping[str, str], *, index_data: Path, session: Client | None = None) -> None:
        self.environ = environ
        self.index_data = index_data
        self.session = session

    def preview(self, job: Job) -> tuple[Change, ...]:
        """Return what an installation would change of the packages that are named; pip tells no more beforehand.

        Dependencies of the family are resolved only once it is there.
        """
        now = versions(job)
        wanted = {canonical(pin.name): pin.version for pin in job.plan.packages}
        again = {canonical(name) for name in job.reinstall}
        return tuple(
            Change(name=name, before=now.get(name), after=version)
            for name, version in sorted(wanted.items())
            if now.get(name) != version or name in again
        )

    def install(self, job: Job) -> tuple[Change, ...]:
        """Install the plan, and return what was changed. Errors as ``Uv.install``."""
        from torchinstall.index.http import Client

        session = self.session or Client(environ=self.environ, cert=job.settings.cert)
        check_sources(job, None, session)
        before = versions(job)
        with scratch() as folder:
            program = find_pip(str(job.target.python), self.environ, folder)
            for number, (words, where, lines) in enumerate(_steps(job)):
                path = folder / f"family{number}.txt"
                path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
                argv = program.argv("install", "--no-deps", "--only-binary", ":all:", *words, "-r", str(path))
                self._run(argv, {**self._narrow(job, program), **where}, job, folder)
            for name, url in sorted(job.bound.items()):
                self._bound(name, url, job, program, folder)
            self._rest(job, program, folder)
        after = versions(job)
        again = {canonical(name) for name in job.reinstall}
        return tuple(
            Change(name=name, before=before.get(name), after=after.get(name))
            for name in sorted({*before, *after})
            if before.get(name) != after.get(name) or name in again
        )

    def _bound(self, name: str, url: str, job: Job, program: Program, folder: Path) -> None:
        """Install a dependency that only the family's own index has right, as the family's metadata asks for it."""
        text = _required(job, name)
        if text is None:
            return
        path = folder / f"bound-{canonical(name)}.txt"
        hashed = _hashed(job, [name])
        path.write_text("".join(f"{line}\n" for line in hashed or [text]), "utf-8")
        argv = program.argv("install", "--no-deps", "--only-binary", ":all:", *_common(job), "-r", str(path))
        self._run(argv, {**self._narrow(job, program), "PIP_INDEX_URL": url}, job, folder)

    def _rest(self, job: Job, program: Program, folder: Path) -> None:
        """Install the dependencies and the other packages; the family is held where it is."""
        family, held, others = (folder / f"{name}.txt" for name in ("family", "held", "others"))
        now = versions(job)
        names = [canonical(pin.name) for pin in job.plan.packages]
        if job.hashes:
            # Every file is known with its hash: nothing is left to resolve.
            lines = _hashed(job, {key.partition("==")[0] for key in job.hashes} - {*names, *map(canonical, job.bound)})
            if lines:
                others.write_text("".join(f"{line}\n" for line in lines), "utf-8")
                argv = program.argv("install", "--no-deps", "--require-hashes", *_common(job), "-r", str(others))
                self._run(argv, program.environment(self.environ) | self._indexes(job), job, folder)
            return
        family.write_text("".join(f"{_with_extras(pin)}\n" for pin in job.plan.packages), "utf-8")
        bound = [canonical(name) for name in job.bound]
        fixed = {name: now[name] for name in [*names, *bound] if name in now} | dict(job.kept)
        held.write_text("".join(f"{name}=={version}\n" for name, version in fixed.items()), "utf-8")
        words = ["-r", str(family), "-c", str(held)]
        if job.plan.others:
            others.write_text(others_text(job), "utf-8")
            words += ["-r", str(others)]
        for path in job.settings.constraint_files:
            words += ["-c", str(path)]
        env = program.environment(self.environ)
        env.pop("PIP_CONSTRAINT", None)  # among the constraint files, with absolute paths
        env |= self._indexes(job)
        self._run(program.argv("install", *_common(job), *words), env, job, folder)

    def _indexes(self, job: Job) -> dict[str, str]:
        """Return uv's indexes in pip's variables, where pip itself has none."""
        settings, found = job.settings, {}
        for name, variable, values in (
            (DEFAULT_INDEX, "PIP_INDEX_URL", [settings.default_index] if settings.default_index else []),
            (EXTRA_INDEX, "PIP_EXTRA_INDEX_URL", list(settings.extra_indexes)),
            (FIND_LINKS, "PIP_FIND_LINKS", list(settings.find_links)),
        ):
            if values and not settings.of(PIP, name):
                found[variable] = " ".join(values)
        return found

    def _narrow(self, job: Job, program: Program) -> dict[str, str]:
        """Return an environment in which pip knows no index but the one that it is told."""
        env = program.environment(self.environ)
        kept = {f"PIP_{name.upper().replace('-', '_')}": name for name in _NETWORK}
        env = {name: value for name, value in env.items() if not name.startswith("PIP_") or name in kept}
        prefix = Path(job.target.prefix) if job.target.prefix else None
        for path in pip_files(self.environ, platform=sys.platform, prefix=prefix):
            for section, key, value in read_ini(path):
                if section in {"global", "install"} and key in _NETWORK:
                    env.setdefault(f"PIP_{key.upper().replace('-', '_')}", value)
        env["PIP_CONFIG_FILE"] = os.devnull
        return env

    def _run(self, argv: list[str], env: Mapping[str, str], job: Job, folder: Path) -> None:
        done = run(argv, env=env, cwd=folder, show=job.show, held=job.held)
        if done.returncode != 0:
            raise explain_failure("pip", done.output, load_known_errors(self.index_data), tail=done.tail)


def versions(job: Job) -> dict[str, str]:
    """Return what is installed in the target, by metadata."""
    roots = dict.fromkeys(os.path.realpath(path) for path in target_paths(job.target))
    return {name: version for root in roots for name, version, _ in installed(root)}


def _steps(job: Job) -> list[tuple[list[str], dict[str, str], list[str]]]:
    """Return the calls for the family: words, variables and requirement lines; one a source, hashed pins apart.

    Addresses may hold credentials, which is why they travel in the environment and not as arguments.
    """
    groups: dict[tuple[tuple[str, ...], tuple[tuple[str, str], ...]], list[str]] = {}
    again = {canonical(name) for name in job.reinstall}
    for given in job.plan.packages:
        known = job.hashes.get(f"{canonical(given.name)}=={given.version}")
        pin = given.replace(sha256=given.sha256 or known)
        where = _source(pin, job)
        words = _common(job)
        words += ["--force-reinstall"] if canonical(pin.name) in again else []
        words += ["--require-hashes"] if pin.sha256 and pin.kind != "url" else []
        groups.setdefault((tuple(dict.fromkeys(words)), tuple(where.items())), []).append(_line(pin))
    return [(list(words), dict(where), lines) for (words, where), lines in groups.items()]


def _source(pin: Pin, job: Job) -> dict[str, str]:
    if pin.kind == "url":
        return {"PIP_NO_INDEX": "1"}
    if pin.index == DEFAULT:
        return {"PIP_INDEX_URL": job.settings.default_index} if job.settings.default_index else {}
    path = local_path(pin.index)
    if pin.kind == "flat":
        link = file_url(job.cwd / path) if path is not None else pin.index
        return {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": link}
    return {"PIP_INDEX_URL": pin.index if path is None else (job.cwd / path).as_uri()}


def _common(job: Job) -> list[str]:
    words = ["--break-system-packages"] if job.target.system and job.target.externally_managed else []
    words += ["--no-index"] if job.offline or job.settings.offline or job.settings.no_index else []
    return words


def _hashed(job: Job, names: Iterable[str]) -> list[str]:
    """Return the lines of these packages with their hashes; none where hashes aren't required."""
    wanted = {canonical(name) for name in names}
    return [
        f"{key} --hash=sha256:{sha256}"
        for key, sha256 in sorted(job.hashes.items())
        if canonical(key.partition("==")[0]) in wanted
    ]


def _line(pin: Pin) -> str:
    if pin.kind == "url" and pin.url:
        return f"{pin.name} @ {pin.url}" + (f"#sha256={pin.sha256}" if pin.sha256 and "#" not in pin.url else "")
    return f"{pin.name}=={pin.version}" + (f" --hash=sha256:{pin.sha256}" if pin.sha256 else "")


def _with_extras(pin: Pin) -> str:
    extras = f"[{','.join(pin.extras)}]" if pin.extras else ""
    return f"{pin.name}{extras}" if pin.kind == "url" else f"{pin.name}{extras}=={pin.version}"


def _required(job: Job, name: str) -> str | None:
    """Return the requirement on ``name`` that an installed package has and that applies here."""
    from packaging.requirements import InvalidRequirement, Requirement

    for text in _requirements(job):
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            continue
        if canonical(requirement.name) == canonical(name):
            return text
    return None


def _requirements(job: Job) -> Iterable[str]:
    from torchinstall.install.caution import requirements_of

    for root in dict.fromkeys(os.path.realpath(path) for path in target_paths(job.target)):
        for _, _, info in installed(root):
            yield from requirements_of(info)
