"""Running a command: its output, and a terminal of its own."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from torchinstall.install import process
from torchinstall.install.process import Terminated, run, terminations_as_interrupts, uninterrupted

TALK = """
import os, sys
print("terminal" if sys.stderr.isatty() else "pipe", file=sys.stderr)
sys.stderr.write("\\x1b[32mgreen\\x1b[0m\\n10%\\r50%\\r100%\\n")
sys.exit(3)
"""


def python(code, *, show):
    return run([sys.executable, "-c", code], env=os.environ, cwd=Path.cwd(), show=show)


def test_output_is_kept_without_colours_and_progress():
    done = python(TALK, show=False)
    assert (done.returncode, done.output) == (3, "pipe\ngreen\n100%")


def test_only_the_last_lines_are_the_tail():
    done = python("for i in range(100): print(i)", show=False)
    assert done.tail.splitlines() == [str(i) for i in range(60, 100)]


@pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals")
def test_on_a_terminal_progress_goes_through_and_is_kept(monkeypatch, capfd):
    monkeypatch.setattr(process.sys.stderr, "isatty", lambda: True, raising=False)
    done = python(TALK, show=True)
    assert (done.returncode, done.output) == (3, "terminal\ngreen\n100%")
    assert "\x1b[32mgreen" in capfd.readouterr().err


def test_an_interrupt_ends_the_command_and_goes_on(monkeypatch):
    monkeypatch.setattr(process, "GRACE_S", 0.3)
    stubborn = "import os, signal, time; signal.signal(15, signal.SIG_IGN); os.kill(os.getppid(), 2); time.sleep(60)"
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        python(stubborn, show=False)
    assert time.monotonic() - started < 10


def test_sigterm_ends_the_command():
    with pytest.raises(Terminated), terminations_as_interrupts():
        python("import os, time; os.kill(os.getppid(), 15); time.sleep(60)", show=False)


def test_interrupts_wait_while_an_environment_is_brought_back():
    with uninterrupted():
        os.kill(os.getpid(), 2)
        os.kill(os.getpid(), 15)
