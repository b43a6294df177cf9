"""What the check found, read out of its events. Pure."""

from __future__ import annotations

from torchinstall.model.value import EMPTY, Value
from torchinstall.model.variant import CPU, MPS, NPU, XPU, backend
from torchinstall.model.verdict import Step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from torchinstall.verify.values import RawResult

OK = "ok"
FAILED = "failed"
SKIPPED = "skipped"
CRASHED = "crashed"

_FIRST_LINE = 300


class Error(Value):
    """One failed step: its name, the device, and what was raised."""

    step: str
    device: str | None = None
    type: str = ""
    text: str = ""

    @property
    def line(self) -> str:
        """The first line of the message, as people quote it."""
        lines = self.text.strip().splitlines()
        return (lines[0] if lines else self.type)[:_FIRST_LINE]


class Found(Value):
    """The events of one run, in order and by kind.

    ``open``: the step that began and didn't end. ``variant``: what the build says of itself. ``places``: the
    devices that were looked at (``cuda:0``), with their names in ``names``.
    """

    spoke: bool = False
    finished: bool = False
    steps: tuple[Step, ...] = ()
    errors: tuple[Error, ...] = ()
    open: Step | None = None
    facts: Mapping[str, Any] = EMPTY
    companions: Mapping[str, str] = EMPTY
    variant: str | None = None
    names: tuple[str, ...] = ()
    count: int | None = None
    warnings: tuple[str, ...] = ()


def read(raw: RawResult) -> Found:
    """Return what the events of a run say."""
    steps: list[Step] = []
    errors: list[Error] = []
    opened: list[Step] = []
    values: dict[str, Any] = {}
    facts: dict[str, Any] = {}
    companions: dict[str, str] = {}
    for event in raw.events:
        kind = event.get("event")
        if kind == "python":
            values["spoke"] = True
            facts.update(python=event.get("version"), system=event.get("system"))
        elif kind == "start":
            opened.append(Step(name=str(event.get("step")), state=CRASHED, device=event.get("device")))
        elif kind == "end":
            opened = [step for step in opened if step.name != event.get("step")]
            step, error = _ended(event)
            steps.append(step)
            if error:
                errors.append(error)
            if step.name in {"versions", "import-torch-npu"}:
                facts.update(event.get("facts") or {})
            elif step.name == "devices":
                values["names"] = tuple(event.get("names") or ())
                values["count"] = event.get("count")
            elif event.get("facts"):
                companions.update(event["facts"])
        elif kind == "warnings":
            values["warnings"] = tuple(str(text) for text in event.get("texts") or ())
        elif kind == "finished":
            values["finished"] = True
    if opened:
        values["open"] = opened[-1]
        steps.append(opened[-1])
    if "torch" in facts:
        values["variant"] = variant_of(facts)
    return Found(steps=tuple(steps), errors=tuple(errors), facts=facts, companions=companions, **values)


def _ended(event: Mapping[str, Any]) -> tuple[Step, Error | None]:
    name, device, state = str(event.get("step")), event.get("device"), str(event.get("state"))
    raised = event.get("error") or {}
    error = None
    if state == FAILED:
        error = Error(step=name, device=device, type=str(raised.get("type", "")), text=str(raised.get("text", "")))
    detail = error.line if error else str(event.get("detail") or "")
    return Step(name=name, state=state, detail=detail, device=device, seconds=event.get("seconds")), error


def variant_of(facts: Mapping[str, Any]) -> str:
    """Return the variant of an installed build: the local part of its own version, else its toolkit.

    Builds of vendors have local parts that mean nothing here, and conda's have none.
    """
    local = str(facts.get("inner") or facts["torch"]).partition("+")[2]
    for name in (local, local.partition(".")[0]):
        if backend(name):
            return name
    if cuda := facts.get("cuda"):
        return f"cu{''.join(str(cuda).split('.')[:2])}"
    if hip := facts.get("hip"):
        return f"rocm{'.'.join(str(hip).split('.')[:2])}"
    if facts.get("xpu"):
        return XPU
    if "torch_npu" in facts:
        return NPU
    return MPS if facts.get("system") == "darwin" else CPU
