"""A plan with everything that it requires, locked by uv: ``pylock.toml`` (PEP 751)."""

from __future__ import annotations

from torchinstall.app.bound import bound_dependencies
from torchinstall.model.machine import LINUX, MACOS, WINDOWS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.app.base import App, Planned
    from torchinstall.install.backend import Job
    from torchinstall.model.machine import Machine


def pylock_text(app: App, planned: Planned) -> str:
    """Return the lock. uv resolves what the plan leaves open, with the torch family bound to its index.

    Raises what an installation by uv raises: ``IndexUnreachableError``, ``InstallError``.
    """
    import shutil
    import tempfile
    from pathlib import Path

    from torchinstall.catalog.locate import find_index_data
    from torchinstall.install.backend import Job
    from torchinstall.install.known_errors import explain_failure, load_known_errors
    from torchinstall.install.process import run
    from torchinstall.install.target import Target
    from torchinstall.install.uv import default_url
    from torchinstall.install.uv_binary import find_uv
    from torchinstall.install.uv_project import environment, project_text

    target = planned.target or Target(python="", prefix=None, origin="export", exists=False)
    job = Job(
        plan=planned.plan,
        target=target,
        settings=planned.settings,
        cwd=app.cwd,
        bound=bound_dependencies(app, planned),
        offline=planned.request.offline,
        show=False,
    )
    folder = Path(tempfile.mkdtemp(prefix="torchinstall-"))
    try:
        (folder / "pyproject.toml").write_text(project_text(job, default_url=default_url(job)), "utf-8")
        others = _others(job, folder)
        argv = [find_uv(app.environ), "pip", "compile", str(folder / "pyproject.toml"), *others]
        argv += ["--output-file", str(folder / "pylock.toml"), "--no-header", "--no-annotate", "--quiet"]
        argv += _for(planned)
        done = run(argv, env=environment(job, app.environ), cwd=folder, show=False)
        if done.returncode != 0:
            raise explain_failure("uv", done.output, load_known_errors(find_index_data()), tail=done.tail)
        return (folder / "pylock.toml").read_text("utf-8")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _others(job: Job, folder: object) -> list[str]:
    from pathlib import Path

    from torchinstall.install.uv_project import others_text

    if not job.plan.others:
        return []
    path = Path(str(folder)) / "others.in"
    path.write_text(others_text(job), "utf-8")
    return [str(path)]


def _for(planned: Planned) -> list[str]:
    """Return the words that say for which interpreter: this one, or a version on a platform."""
    words: list[str] = []
    for pin in planned.plan.packages:
        words += ["--only-binary", pin.name]
    words += ["--offline"] if planned.request.offline or planned.settings.offline else []
    words += ["--no-index"] if planned.settings.no_index else []
    if planned.target is not None and not planned.machine.declared:
        return [*words, "--python", str(planned.target.python)]
    if planned.plan.python:
        words += ["--python-version", planned.plan.python.rstrip("t")]
    platform = uv_platform(planned.machine)
    return [*words, "--python-platform", platform] if platform else words


def uv_platform(machine: Machine) -> str:
    """Return uv's name of a platform (its option ``--python-platform``); ``""`` for the running one."""
    arch = {"arm64": "aarch64", "amd64": "x86_64"}.get((machine.arch or "").lower(), machine.arch or "")
    if machine.os.name == WINDOWS:
        return "x86_64-pc-windows-msvc" if arch == "x86_64" else "aarch64-pc-windows-msvc"
    if machine.os.name == MACOS:
        return f"{arch}-apple-darwin"
    if machine.os.name == LINUX and arch in {"x86_64", "aarch64"}:
        # The floor of today's torch wheels, where the machine's own isn't known.
        return f"{arch}-manylinux_{(machine.os.glibc or '2.28').replace('.', '_')}"
    return ""
