"""What the link scripts of the conda package do: ``link.py post-link|pre-unlink PREFIX``.

post-link installs the torch build that fits the machine into the environment,
by the environment's own Python. It honours ``TORCHINSTALL_*`` and
``CONDA_OVERRIDE_CUDA``, writes one message for the person to
``$PREFIX/.messages.txt`` and everything to a log that lasts. pre-unlink
removes what was added. Neither ever fails the transaction.

``TORCHINSTALL_CONDA_REQUIREMENTS`` (default ``torch``) names what is
installed; ``none`` leaves the environment alone.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

HOME = Path(__file__).resolve().parent
SITE = HOME / "site"
LIMIT_S = 3600
UNPROVEN = 9
"""Exit code of torchinstall: installed, and the proof met a cause outside the wheel."""

FOREIGN = ("pytorch", "pytorch-cpu", "pytorch-gpu", "libtorch", "pytorch-cuda")
"""conda packages that bring a torch of their own."""


class Prefix:
    """One conda environment, as far as the link scripts know it."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        self.log = self.path / "var" / "log" / "torchinstall.log"
        self.added = HOME / "added.json"
        self.lock = self.path / ".lock"  # uv's

    @property
    def python(self) -> Path:
        """The interpreter of the environment."""
        return self.path / ("python.exe" if os.name == "nt" else "bin/python")

    def say(self, *lines: str) -> None:
        """Tell the person: conda shows this file when the transaction has ended."""
        with (self.path / ".messages.txt").open("a", encoding="utf-8") as file:
            file.writelines(f"torchinstall: {line}\n" for line in lines)
        self.note("".join(f"{line}\n" for line in lines))

    def note(self, text: str) -> None:
        """Write to the log that stays."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("a", encoding="utf-8") as file:
            file.write(text)

    def foreign(self) -> list[str]:
        """Return the torch packages that conda itself has put here."""
        names = []
        for record in sorted((self.path / "conda-meta").glob("*.json")):
            name = record.stem.rsplit("-", 2)[0]
            if name in FOREIGN:
                names.append(record.stem)
        return names


def post_link(prefix: Prefix, environ: dict[str, str]) -> None:
    """Install what fits."""
    requirements = shlex.split(environ.get("TORCHINSTALL_CONDA_REQUIREMENTS", "torch"))
    if requirements == ["none"]:
        prefix.say(f"nothing was installed, as asked; later: {command(prefix, ['torch'])}")
        return
    if foreign := prefix.foreign():
        prefix.say(
            f"{', '.join(foreign)} is here from a conda channel, and two builds would overwrite each other",
            "nothing was installed; remove that package first, or keep it and remove torchinstall",
        )
        return
    words = [*arguments(environ), *requirements]
    had_lock = prefix.lock.exists()
    done = torchinstall(prefix, [*words, "--json"], environ)
    prefix.note(f"$ {command(prefix, words)}\n{done.stdout}{done.stderr}\nended with {done.returncode}\n")
    answer = document(done.stdout)
    if answer.get("changed"):
        changes = [change.split() for change in answer.get("changes", [])]
        packages = {change[1]: change[2] for change in changes if change[0] == "+"}
        prefix.added.write_text(json.dumps({"packages": packages, "lock": not had_lock}, indent=1), "utf-8")
    if done.returncode in {0, UNPROVEN}:
        prefix.say(f"torch {answer.get('torch')} ({answer.get('variant')}) is installed")
        if done.returncode == UNPROVEN:
            prefix.say(f"it isn't proven yet: {(answer.get('verdict') or {}).get('text', 'see the log')}")
        return
    prefix.say(
        f"torch was not installed: {reason(answer, done)}", f"run: {command(prefix, words)}", f"log: {prefix.log}"
    )


def arguments(environ: dict[str, str]) -> list[str]:
    """Return the options that ``CONDA_OVERRIDE_CUDA`` stands for, where nothing more exact was said.

    An empty value says that there is no CUDA, as it does to conda. A version says how far the driver
    reaches: what counts of it is the major, since wheels run with any driver of their major.
    """
    override = environ.get("CONDA_OVERRIDE_CUDA")
    own = ("TORCHINSTALL_DRIVER", "TORCHINSTALL_VARIANT", "TORCHINSTALL_CPU")
    if override is None or any(environ.get(name) for name in own):
        return []
    if not override.strip():
        return ["--cpu"]
    match = re.match(r"\s*(\d+)", override)
    if match is None:
        return []
    sys.path.insert(0, str(SITE))
    from torchinstall.catalog.load import load_catalog

    catalog = load_catalog()
    above, here = catalog.cuda_floor(int(match[1]) + 1), catalog.cuda_floor(int(match[1]))
    if above is not None:
        # The newest driver that doesn't reach the next major.
        return ["--driver", f"{int(above.linux.split('.')[0]) - 1}.999", "--require-gpu"]
    return ["--driver", here.linux.split(".")[0], "--require-gpu"] if here is not None else []


def pre_unlink(prefix: Prefix, environ: dict[str, str]) -> None:
    """Remove what post-link added and nobody has changed since, and every trace of it."""
    try:
        added = json.loads(prefix.added.read_text("utf-8"))
    except (OSError, ValueError):
        added = {}
    sys.path.insert(0, str(SITE))
    if packages := added.get("packages"):
        from uv import find_uv_bin

        uv = [find_uv_bin(), "pip"]
        place = ["--python", str(prefix.python)]
        listed = run([*uv, "list", "--format", "json", *place], environ)
        now = {row["name"]: row["version"] for row in json.loads(listed.stdout or "[]")}
        names = [name for name, version in packages.items() if now.get(name) == version]
        if names:
            run([*uv, "uninstall", "--break-system-packages", *place, *names], environ)
    for path in (prefix.added, prefix.log, *([prefix.lock] if added.get("lock") else [])):
        path.unlink(missing_ok=True)
    state = prefix.path / ".torchinstall"
    if state.is_dir():
        import shutil

        shutil.rmtree(state, ignore_errors=True)


def torchinstall(prefix: Prefix, words: list[str], environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run torchinstall on the environment."""
    argv = [str(prefix.python), "-I", str(HOME / "run.py"), "--python", str(prefix.python), *words]
    return run(argv, {**environ, "CONDA_PREFIX": str(prefix.path)})


def run(argv: list[str], environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a program to its end."""
    return subprocess.run(
        argv, env=environ, capture_output=True, text=True, check=False, timeout=LIMIT_S, stdin=subprocess.DEVNULL
    )


def command(prefix: Prefix, words: list[str]) -> str:
    """Return what a person types to do the same."""
    return shlex.join([str(prefix.path / "bin" / "torchinstall"), "--python", str(prefix.python), *words])


def document(text: str) -> dict[str, object]:
    """Return the JSON that torchinstall printed, or nothing."""
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def reason(answer: dict, done: subprocess.CompletedProcess[str]) -> str:
    """Return why not, in one sentence."""
    error, blocked, verdict = (answer.get(name) or {} for name in ("error", "blocked", "verdict"))
    said = error.get("what") or blocked.get("text") or answer.get("unreachable") or verdict.get("text")
    return said or (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]


def main(what: str, path: str) -> int:
    """Do it; whatever happens is said, and never the transaction's end."""
    prefix = Prefix(path)
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    try:
        {"post-link": post_link, "pre-unlink": pre_unlink}[what](prefix, environ)
    except Exception as error:  # noqa: BLE001 - a link script that fails takes the whole transaction with it
        prefix.say(f"{what} went wrong: {type(error).__name__}: {error}", f"run: {command(prefix, ['torch'])}")
    return 0


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.exit(main(*sys.argv[1:3]))
