"""Run the installer: its output shown or kept, and ended when we are interrupted."""

from __future__ import annotations

import contextlib
import os
import re
import sys

from torchinstall.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path
    from types import FrameType

TAIL_LINES = 40
GRACE_S = 5.0

_ESCAPES = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")


class Run(Value):
    """How a process ended. ``output``: stdout and stderr as they came, without colours and progress bars."""

    returncode: int
    output: str

    @property
    def tail(self) -> str:
        """The last lines."""
        return "\n".join(self.output.splitlines()[-TAIL_LINES:])


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP came: handled as an interrupt."""


def run(argv: Sequence[str], *, env: Mapping[str, str], cwd: Path, show: bool, held: tuple[int, ...] = ()) -> Run:
    """Run a command to its end. ``show`` passes its progress on to our terminal; it inherits ``held``.

    An interrupt ends the command (asked first, killed after ``GRACE_S`` seconds) and is raised again.
    """
    import subprocess

    if show and sys.stderr.isatty() and os.name == "posix":
        return _run_in_terminal(argv, env=env, cwd=cwd, held=held)
    stream = None if show and sys.stderr.isatty() else subprocess.PIPE
    with (
        subprocess.Popen(
            argv,
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream and subprocess.STDOUT,
            pass_fds=held,
        ) as process,
        ending(process),
    ):
        output, _ = process.communicate()
    return Run(returncode=process.returncode, output=_clean(output or b""))


@contextlib.contextmanager
def ending(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """End the process when the block is left by an exception."""
    import subprocess

    try:
        yield
    except BaseException:
        process.terminate()
        try:
            process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        raise


@contextlib.contextmanager
def terminations_as_interrupts() -> Iterator[None]:
    """Within the block SIGTERM and SIGHUP raise ``Terminated``, so that what was begun is undone.

    Only the first signal counts, SIGINT among them: a closing terminal sends several, and what the first one
    set going must come to its end. Blocks inside a block change nothing.
    """
    import signal
    import threading

    names = [name for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    numbers = [getattr(signal, name) for name in names]
    inside = any(getattr(signal.getsignal(number), "__name__", "") == _stop.__name__ for number in numbers)
    if threading.current_thread() is not threading.main_thread() or inside:
        yield
        return

    # A parent that has it ignored (nohup) means that a closing terminal shall not stop us.
    former = {number: signal.getsignal(number) for number in numbers}
    former = {number: handler for number, handler in former.items() if handler not in (None, signal.SIG_IGN)}
    for number in former:
        signal.signal(number, _stop)
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _stop(number: int, _frame: FrameType | None) -> None:
    import signal

    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    raise KeyboardInterrupt if number == signal.SIGINT else Terminated


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Within the block interrupts are passed over: an environment is being brought back."""
    import signal
    import threading

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    names = [name for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    former = {getattr(signal, name): signal.signal(getattr(signal, name), signal.SIG_IGN) for name in names}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def postponed() -> Iterator[None]:
    """Within the block interrupts wait; the first of them arrives when the block ends, however it ends."""
    import signal
    import threading

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    caught: list[int] = []
    names = [name for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    former = {
        number: signal.signal(number, lambda number, _frame: caught.append(number))
        for number in (getattr(signal, name) for name in names)
    }
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
        if caught:
            signal.raise_signal(caught[0])


def _run_in_terminal(argv: Sequence[str], *, env: Mapping[str, str], cwd: Path, held: tuple[int, ...]) -> Run:
    """Give the command a terminal of its own, copy what it writes to ours, and keep it for the errors."""
    import pty
    import subprocess

    ours, theirs = pty.openpty()
    kept = bytearray()
    try:
        _same_size(theirs)
        with subprocess.Popen(
            argv, env=dict(env), cwd=cwd, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, pass_fds=held
        ) as process:
            os.close(theirs)
            theirs = -1
            with ending(process):
                while chunk := _read(ours):
                    kept += chunk
                    del kept[:-200_000]
                    with contextlib.suppress(OSError):  # our terminal went away: SIGHUP says so too
                        sys.stderr.buffer.write(chunk)
                        sys.stderr.flush()
                process.wait()
    finally:
        os.close(ours)
        if theirs >= 0:
            os.close(theirs)
    return Run(returncode=process.returncode, output=_clean(bytes(kept)))


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # EIO: the other side of the terminal is closed
        return b""


def _same_size(descriptor: int) -> None:
    import fcntl
    import struct
    import termios

    with contextlib.suppress(OSError):
        columns, lines = os.get_terminal_size(sys.stderr.fileno())
        fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))


def _clean(output: bytes) -> str:
    text = _ESCAPES.sub(b"", output).decode("utf-8", "replace").replace("\r\n", "\n")
    lines = (line.rpartition("\r")[2].rstrip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line)
