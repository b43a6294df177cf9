"""What a check should find, and what its process said."""

from __future__ import annotations

from torchinstall.model.value import EMPTY, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class Expect(Value):
    """What the plan promises; ``None`` for what nobody promised.

    ``torch``: the release, without local part. ``variant``: what torch/version.py must say (cu126, cpu, npu).
    ``backend``: the accelerator that must work: cuda, rocm, xpu, mps, npu or cpu; none for the one that the
    build is for. ``cards``: how many devices the machine has for it. ``companions``: packages that must work
    with it; those that are merely installed are tried too, but only warned of. ``codes``: GPU code that the
    build must hold (``sm_86``). ``static``: no device can be here (an image build, a machine that is only
    declared), so the build is proved by its files, its code list and the CPU. ``compile``: try torch.compile.
    ``user_site``: torch lies in the user's own folder, which an isolated Python doesn't see.
    """

    torch: str | None = None
    variant: str | None = None
    backend: str | None = None
    cards: int | None = None
    companions: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    static: bool = False
    compile: bool = False
    user_site: bool = False


class RawResult(Value):
    """One run of the check, as it came out. ``events``: the lines that it wrote, in order.

    ``returncode`` as of ``Popen`` (negative for a signal), ``signal`` its name where there was one.
    ``timed_out``: it was stopped at ``limit`` seconds. ``stderr``: its last part. ``error``: why it couldn't
    be started. ``masks``: variables of the user that choose or hide devices.
    """

    python: str
    events: tuple[Mapping[str, Any], ...] = ()
    returncode: int | None = None
    signal: str | None = None
    timed_out: bool = False
    limit: float
    seconds: float = 0.0
    stderr: str = ""
    error: str = ""
    masks: Mapping[str, str] = EMPTY
    ignored: tuple[str, ...] = ()
