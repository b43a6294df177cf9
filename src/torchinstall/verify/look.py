"""Where an environment's Python would import from: asked in a child, without importing a package."""

from __future__ import annotations

import json
import os
import sys

from torchinstall.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from collections.abc import Mapping

LIMIT_S = 15.0


class ImportPath(Value):
    """The folders of import in order; ``user`` is the user's own folder, ``None`` where it is switched off."""

    folders: tuple[str, ...] = ()
    user: str | None = None


class Look:
    """A started question, so that the machine can be looked at meanwhile; ``answer`` waits for it."""

    def __init__(self, python: str, environ: Mapping[str, str]) -> None:
        import subprocess

        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_look_env.py")  # noqa: PTH100, PTH118, PTH120
        self._cookie = f"<{os.urandom(12).hex()}>"
        self._child: subprocess.Popen[bytes] | None = None
        try:
            self._child = subprocess.Popen(
                [python, "-B", script, self._cookie],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                env={**environ, "PYTHONDONTWRITEBYTECODE": "1"}, cwd=os.path.abspath(os.sep),  # noqa: PTH100
                start_new_session=sys.platform != "win32",
            )  # fmt: skip
        except (OSError, ValueError):
            return

    def answer(self) -> ImportPath:
        """Return the path; empty where the Python can't be asked, which other findings say."""
        if self._child is None:
            return ImportPath()
        import subprocess

        try:
            out, _err = self._child.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.communicate()
            return ImportPath()
        parts = out.decode("utf-8", "replace").split(self._cookie)
        try:
            facts = json.loads(parts[1])
            return ImportPath(folders=tuple(map(str, facts["path"])), user=facts["user"])
        except (IndexError, ValueError, KeyError, TypeError):
            return ImportPath()
