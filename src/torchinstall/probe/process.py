"""Foreign processes: a time limit, all output read at once, the whole process group ended at the limit."""

# Plain os.path: importing pathlib would cost more start-up time than all the calls here.
# ruff: noqa: PTH100
from __future__ import annotations

import os
import signal
import time

from torchinstall.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from collections.abc import Mapping, Sequence

GRACE = 0.5
"""Seconds given to a killed process to close its pipes; one that hangs in the kernel never does."""


class Result(Value):
    """What a command answered. ``rc``: exit status, negative for a signal, ``None`` if it never started or ended.

    ``err`` names the reason where a command couldn't be started.
    """

    rc: int | None
    out: str = ""
    err: str = ""
    timed_out: bool = False

    def ending(self) -> str:
        """Return in words how it ended: ``exit status 9``, ``signal SIGABRT``, ``no answer in time``."""
        if self.timed_out:
            return "no answer in time"
        if self.rc is None:
            return self.err or "it didn't start"
        if self.rc < 0:
            try:
                return f"signal {signal.Signals(-self.rc).name}"
            except ValueError:
                return f"signal {-self.rc}"
        return f"exit status {self.rc}"


class Child:
    """A started command, so that two slow ones can run side by side; ``collect`` it once."""

    def __init__(self, argv: Sequence[str], environ: Mapping[str, str], timeout: float) -> None:
        import subprocess

        self._deadline = time.monotonic() + timeout
        self._process: subprocess.Popen[bytes] | None = None
        self._error = ""
        try:
            self._process = subprocess.Popen(
                list(argv),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=dict(environ),
                cwd=os.path.abspath(os.sep),
                # A group of its own: at the limit everything that it started ends with it.
                start_new_session=os.name == "posix",
            )
        except (OSError, ValueError) as error:
            self._error = str(error)

    def collect(self) -> Result:
        """Wait for the end or the limit and return the answer; never raises, never waits past the limit."""
        if self._process is None:
            return Result(rc=None, err=self._error)
        import subprocess

        timed_out = False
        try:
            # A child that was done long ago gets a moment to be read even if its limit has passed meanwhile.
            out, err = self._process.communicate(timeout=max(self._deadline - time.monotonic(), 0.05))
        except subprocess.TimeoutExpired:
            timed_out = True
            out, err = self._end()
        return Result(rc=self._process.returncode, out=_text(out), err=_text(err), timed_out=timed_out)

    def _end(self) -> tuple[bytes, bytes]:
        import subprocess

        process = self._process
        if process is None:
            return b"", b""
        try:
            if os.name == "posix":
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
        except OSError:
            pass  # it ended meanwhile
        try:
            return process.communicate(timeout=GRACE)
        except subprocess.TimeoutExpired as error:
            # Stuck in the kernel (a hung driver): leave it behind rather than hang with it.
            for pipe in (process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()
            return error.stdout or b"", error.stderr or b""


def _text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", "replace")
