"""The uv back end: a plan becomes a project in a folder of its own, and uv installs it into the target."""

from __future__ import annotations

import contextlib
import re

from torchinstall.index.http import Client
from torchinstall.install.backend import Change
from torchinstall.install.known_errors import explain_failure, load_known_errors
from torchinstall.install.process import run
from torchinstall.install.settings import DEFAULT_INDEX, EXTRA_INDEX, FIND_LINKS
from torchinstall.install.sources import check_sources
from torchinstall.install.uv_binary import find_uv
from torchinstall.install.uv_project import (
    DEFAULT,
    arguments,
    constraints_text,
    environment,
    others_text,
    project_text,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from torchinstall.install.backend import Job
    from torchinstall.install.process import Run
    from torchinstall.install.sizes import Wheel

_CHANGE = re.compile(r"^ ?([-+~]) ([A-Za-z0-9][\w.-]*)==(\S+)")


class Uv:
    """uv as an installer. ``environ``: the caller's environment; ``index_data``: the folder of our data.

    ``session`` keeps what was learned of unreachable hosts earlier in this run.
    """

    name = "uv"

    def __init__(self, environ: Mapping[str, str], *, index_data: Path, session: Client | None = None) -> None:
        self.environ = environ
        self.index_data = index_data
        self.session = session

    def preview(self, job: Job) -> tuple[Change, ...]:
        """Return what an installation would change, by uv's dry run. Errors as ``install``."""
        done = self._run(job.replace(show=False), "--dry-run")
        return read_changes(done.output)

    def install(self, job: Job) -> tuple[Change, ...]:
        """Install the plan, and return what was changed.

        Raises ``InstallError``, ``IndexUnreachableError`` or ``TargetError`` with uv's last lines as details,
        and passes ``KeyboardInterrupt`` on after ending uv.
        """
        return read_changes(self._run(job).output)

    def lock(self, job: Job, *, platform: str | None = None, python: str | None = None) -> tuple[Wheel, ...]:
        """Return every file that the plan takes with its dependencies, whatever is installed already.

        ``platform`` (uv's name, such as ``x86_64-manylinux_2_28``) and ``python`` (a version) are for another
        machine than this one. Errors as ``install``.
        """
        from torchinstall.install.config_files import read_toml
        from torchinstall.install.sizes import wheels_of_lock

        default = default_url(job)
        with scratch() as folder:
            words = [find_uv(self.environ), "pip", "compile", "--quiet", "--no-header", "--format", "pylock.toml"]
            words += ["--output-file", str(folder / "pylock.toml")]
            if python is None:
                words += ["--python", str(job.target.python)]
            else:
                words += ["--python-version", python, "--python-platform", platform or "linux"]
                words += ["--only-binary", ":all:"]  # nothing can be built here for another machine
                if job.target.python is not None:
                    words += ["--python", job.target.python]
            skip = {"--python", "--reinstall-package", "--break-system-packages", "-r"}
            given = _write(job, folder, default)
            for number, word in enumerate(given):
                if word in skip or (number and given[number - 1] in skip - {"--break-system-packages"}):
                    continue
                words.append(word)
            words += [str(folder / "pyproject.toml")]
            words += [str(folder / "others.txt")] if job.plan.others else []
            done = run(words, env=environment(job, self.environ), cwd=folder, show=False, held=job.held)
            if done.returncode != 0:
                raise explain_failure("uv", done.output, load_known_errors(self.index_data), tail=done.tail)
            return tuple(wheels_of_lock(read_toml(folder / "pylock.toml"), folder))

    def _run(self, job: Job, *more: str) -> Run:
        uv = find_uv(self.environ)
        default = default_url(job)
        env = environment(job, self.environ)
        session = self.session or Client(environ=self.environ, cert=job.settings.cert)
        if not check_sources(job, default, session):
            # uv would ask the default index four times; it may not need it at all.
            env.setdefault("UV_HTTP_RETRIES", "0")
        with scratch() as folder:
            argv = [uv, "pip", "install", *_write(job, folder, default), *more]
            done = run(argv, env=env, cwd=folder, show=job.show, held=job.held)
        if done.returncode != 0:
            raise explain_failure("uv", done.output, load_known_errors(self.index_data), tail=done.tail)
        return done


def default_url(job: Job) -> str | None:
    """Return the URL to bind pins of the default index to; ``None`` where they needn't be bound.

    Bound they are as soon as another source (an extra index, a find-links folder) might serve the same name.
    A default index that uv knows by a name is left to uv, which has its credentials under that name.
    """
    settings = job.settings
    entries = [entry for entry in settings.entries if entry.name == DEFAULT_INDEX]
    others = any(entry.name in {EXTRA_INDEX, FIND_LINKS} for entry in settings.entries)
    if not others or settings.no_index or not any(pin.index == DEFAULT for pin in job.plan.packages):
        return None
    if entries:
        return None if entries[0].label else entries[0].value
    from torchinstall.index.default import default_index

    return default_index()


def read_changes(output: str) -> tuple[Change, ...]:
    """Return the changes that uv lists (``- torch==1``, ``+ torch==2``, ``~ torch==2``), by name."""
    before: dict[str, str] = {}
    after: dict[str, str] = {}
    for line in output.splitlines():
        if match := _CHANGE.match(line):
            sign, name, version = match.groups()
            if sign in "-~":
                before[name] = version
            if sign in "+~":
                after[name] = version
    names = sorted({*before, *after})
    return tuple(Change(name=name, before=before.get(name), after=after.get(name)) for name in names)


def _write(job: Job, folder: Path, default: str | None) -> list[str]:
    project, constraints, others = (folder / name for name in ("pyproject.toml", "constraints.txt", "others.txt"))
    project.write_text(project_text(job, default_url=default), "utf-8")
    if hashes := constraints_text(job):
        constraints.write_text(hashes, "utf-8")
    if job.plan.others:
        others.write_text(others_text(job), "utf-8")
    return arguments(
        job,
        project=project,
        constraints=constraints if hashes else None,
        others=others if job.plan.others else None,
        default_url=default,
    )


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """Make a folder of its own: uv takes settings from the project round its working directory."""
    import shutil
    import tempfile
    from pathlib import Path

    folder = Path(tempfile.mkdtemp(prefix="torchinstall-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
