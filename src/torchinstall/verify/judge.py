"""From what a check said to what was proved. Pure: no process, no clock."""

from __future__ import annotations

import re

from torchinstall.model.value import EMPTY
from torchinstall.model.variant import CPU, MPS, NPU, backend
from torchinstall.model.verdict import FAILED, PROVED, UNPROVEN, Step, Verdict
from torchinstall.verify.found import Error, Found, read
from torchinstall.verify.sentences import fill, sentence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from torchinstall.model.cause import Cause
    from torchinstall.verify.values import Expect, RawResult

_COMPANIONS = ("torchvision", "torchaudio")
_TAIL = 2000
_MASKS = {
    "cuda": ("CUDA_VISIBLE_DEVICES",),
    "rocm": ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"),
    "xpu": ("ZE_AFFINITY_MASK", "ONEAPI_DEVICE_SELECTOR"),
    "npu": ("ASCEND_RT_VISIBLE_DEVICES",),
}
_NOT_ASKED = "wasn't asked for"
_UNASKED = {"nccl": "only programs on several cards need it"}
_OUTSIDE_SIGNALS = {"SIGKILL", "SIGTERM", "SIGHUP", "SIGINT", "SIGXCPU"}
_WINDOWS_CRASHES = {
    0xC0000005: "access violation",
    0xC000001D: "illegal instruction",
    0xC00000FD: "stack overflow",
    0xC0000409: "stack buffer overrun",
}


def judge(raw: RawResult, expect: Expect, causes: Sequence[Cause] = ()) -> Verdict:
    """Return what a run proved.

    ``causes`` are the error texts that are recognised, the most telling first. The order of the rules: a
    check that didn't run, a build that isn't the planned one, a crash or hang, the first step that failed.
    """
    found = read(raw)
    return _Judge(raw, expect, causes, found).verdict()


class _Judge:
    """One judgement; it exists to keep the facts that every sentence may use in one place."""

    def __init__(self, raw: RawResult, expect: Expect, causes: Sequence[Cause], found: Found) -> None:
        self.raw, self.expect, self.causes, self.found = raw, expect, causes, found
        self.wanted = expect.backend or (backend(expect.variant) if expect.variant else "")
        inner = str(found.facts.get("inner") or found.facts.get("torch") or "")
        self.release = inner.partition("+")[0]
        self.variant = NPU if self.wanted == NPU and found.variant == CPU else found.variant
        self.common = {
            "torch": f"torch {self.release}".strip(),
            "variant": self.variant or "unknown variant",
            "python": raw.python,
            "limit": f"{raw.limit:g}",
            "device": "the device",
        }

    def verdict(self) -> Verdict:
        """Apply the rules in order; the first that holds is the answer."""
        return (
            self._not_python()
            or self._other_build()
            or self._broken_off()
            or self._failed_step()
            or self._code_missing()
            or self._companion_missing()
            or self._proved()
        )

    # The rules

    def _not_python(self) -> Verdict | None:
        if self.found.spoke:
            return None
        if self.raw.timed_out:
            return self._say(FAILED, "hang", step="start")
        reason = self.raw.error or f"it ended with {self._end()} and said nothing"
        return self._say(FAILED, "target-not-python", step="start", reason=reason)

    def _other_build(self) -> Verdict | None:
        facts, expect = self.found.facts, self.expect
        if self.found.variant is None:
            return None
        if self.wanted in {"cuda", "rocm", "xpu"} and self.found.variant in {CPU, MPS}:
            kind = {"cuda": "CUDA", "rocm": "ROCm", "xpu": "XPU"}[self.wanted]
            return self._say(FAILED, "cpu-build", step="versions", wanted=kind)
        if expect.torch and not _same_release(expect.torch, self.release):
            shown = str(facts.get("torch") or self.release)
            return self._say(FAILED, "version-mismatch", step="versions", found=shown, wanted=expect.torch)
        if expect.variant and not _same_variant(expect.variant, self.found.variant):
            return self._say(
                FAILED, "variant-mismatch", step="versions", found=self.found.variant, wanted=expect.variant
            )
        return None

    def _broken_off(self) -> Verdict | None:
        if self.found.finished:
            return None
        last = self.found.open or (self.found.steps[-1] if self.found.steps else Step(name="start", state=""))
        where = {"step": last.name, "device": last.device or "the device", "place": last.device or ""}
        if self.raw.timed_out:
            return self._say(FAILED, "hang", **where)
        if self.raw.signal in _OUTSIDE_SIGNALS:
            return self._say(UNPROVEN, "killed", signal=self.raw.signal or "", **where)
        if known := self._recognise([self.raw.stderr[-_TAIL:]], last.name, last.device):
            return known
        end = self._end()
        if self.raw.signal == "SIGILL" or end == "illegal instruction":
            return self._say(FAILED, "illegal-instruction", **where)
        if self.raw.signal or end in _WINDOWS_CRASHES.values():
            return self._say(FAILED, "crash", signal=end, **where)
        return self._say(FAILED, "stopped", code=str(self.raw.returncode), **where)

    def _failed_step(self) -> Verdict | None:
        """Judge every step that failed; what another wheel could cure goes before what is outside the wheel."""
        verdicts = [self._one_failure(error) for error in self.found.errors if not self._only_warned_of(error)]
        return next((one for one in verdicts if one.outcome == FAILED), verdicts[0] if verdicts else None)

    def _one_failure(self, error: Error) -> Verdict:
        facts = {"step": error.step, "device": self._named(error.device), "place": error.device or ""}
        facts["error"] = error.line
        if error.step == "import" and error.type == "ModuleNotFoundError" and "'torch'" in error.text:
            return self._say(FAILED, "torch-missing", **facts)
        if error.type == "CheckError" and error.text.startswith("wrong result"):
            return self._say(FAILED, "wrong-result", **facts)
        texts = [error.text]
        if error.step == "devices":
            texts += self.found.warnings
        known = self._recognise(texts, error.step, error.device)
        if error.step == "devices" and (known is None or known.cause == "no-device"):
            if masks := self._masks():
                shown = ", ".join(f"{name}={value!r}" for name, value in masks.items())
                return self._say(UNPROVEN, "masked-devices", masks=shown, **facts)
            if known is None and error.type == "CheckError":
                return self._say(UNPROVEN, "no-device", **facts)
        return known or self._say(FAILED, "unknown-error", **facts)

    def _code_missing(self) -> Verdict | None:
        """Compare the code that is compiled in with what the cards of the plan need; told without a device."""
        held: list[str] = self.found.facts.get("arches") or []
        missing = [code for code in self.expect.codes if held and code not in held]
        if not missing:
            return None
        return self._say(FAILED, "code-missing", step="versions", codes=", ".join(missing), held=", ".join(held))

    def _companion_missing(self) -> Verdict | None:
        tried = {step.name for step in self.found.steps}
        for name in self.expect.companions:
            if name in _COMPANIONS and name not in tried:
                return self._say(FAILED, "companion-missing", step=name, name=name)
        return None

    def _proved(self) -> Verdict:
        if self.expect.static:
            return self._say(PROVED, "proved-static")
        names = [name for name in self.found.names if name]
        devices = "the CPU" if names == ["CPU"] else ", ".join(names)
        return self._say(PROVED, "proved", devices=devices)

    # Helpers

    def _only_warned_of(self, error: Error) -> bool:
        """Tell whether a companion failed that nobody asked for: it was broken before, or isn't ours to judge."""
        names = {"nms": "torchvision"}
        name = names.get(error.step, error.step)
        if name == "nccl":
            return True  # only programs on several cards need it
        return name in _COMPANIONS and name not in self.expect.companions

    def _recognise(self, texts: Iterable[str], step: str, device: str | None) -> Verdict | None:
        for text in texts:
            for cause in self.causes:
                if cause.steps and step not in cause.steps:
                    continue
                match = re.search(cause.pattern, text, re.IGNORECASE)
                if match is None:
                    continue
                facts = {**self.common, "step": step, "device": self._named(device)}
                facts |= {name: value for name, value in match.groupdict().items() if value}
                facts["found_cuda"] = _cuda_of(facts.get("api", ""))
                return self._build(
                    cause.outcome,
                    cause.cause,
                    step,
                    fill(cause.text, facts),
                    tuple(fill(line, facts) for line in cause.todo),
                )
        return None

    def _masks(self) -> dict[str, str]:
        """Return the variables that can hide devices of this backend."""
        kind = self.wanted or backend(self.variant or "")
        return {name: value for name, value in self.raw.masks.items() if name in _MASKS.get(kind, ())}

    def _named(self, device: str | None) -> str:
        if device is None:
            return "the device"
        index = device.partition(":")[2]
        number = int(index) if index.isdigit() else 0
        if device == CPU or number >= len(self.found.names):
            return device
        return f"{device} ({self.found.names[number]})"

    def _end(self) -> str:
        code = self.raw.returncode
        if self.raw.signal:
            return self.raw.signal
        if code is None:
            return "no exit code"
        return _WINDOWS_CRASHES.get(code & 0xFFFFFFFF, f"exit code {code}")

    def _say(self, outcome: str, cause: str, *, step: str = "", **facts: str) -> Verdict:
        text, todo = sentence(cause, {**self.common, "step": step, **facts})
        return self._build(outcome, "" if outcome == PROVED else cause, step, text, todo)

    def _build(self, outcome: str, cause: str, step: str, text: str, todo: tuple[str, ...]) -> Verdict:
        found = self.found
        versions = {
            name: str(value)
            for name, value in (*found.facts.items(), *found.companions.items())
            if value and name not in {"inner", "file", "system", "arches"}
        }
        return Verdict(
            outcome=outcome,
            cause=cause,
            step=step,
            text=text,
            todo=todo,
            torch=self.release or None,
            variant=self.variant,
            backend=self.wanted or (backend(self.variant) if self.variant else None) or None,
            devices=found.names,
            steps=found.steps,
            versions=versions or EMPTY,
            warnings=(*self._warnings(), *found.warnings),
            tail="" if outcome == PROVED else self.raw.stderr[-_TAIL:],
        )

    def _warnings(self) -> list[str]:
        said: list[str] = []
        count, cards = self.found.count, self.expect.cards
        if count and cards and count < cards:
            masks = f" ({', '.join(self._masks())} is set)" if self._masks() else ""
            said.append(f"torch sees {count} of {cards} devices{masks}; only those were checked")
        if self.raw.ignored:
            said.append(f"{', '.join(self.raw.ignored)} is set; the check ran without it")
        said += [
            f"{error.step} doesn't work, and {_UNASKED.get(error.step, _NOT_ASKED)}: {error.line}"
            for error in self.found.errors
            if self._only_warned_of(error)
        ]
        return said


def _cuda_of(api: str) -> str:
    """Return the CUDA version behind the number that a driver gives: 12060 is 12.6."""
    number = int(api) if api.isdigit() else 0
    return f"{number // 1000}.{number % 1000 // 10}" if number else "an older version"


def _same_release(wanted: str, found: str) -> bool:
    from packaging.version import InvalidVersion, Version

    try:
        return Version(wanted.partition("+")[0]) == Version(found)
    except InvalidVersion:
        return wanted == found


def _same_variant(wanted: str, found: str) -> bool:
    plain = {CPU, MPS}
    if wanted == NPU:
        return found in {CPU, NPU}
    if wanted in plain and found in plain:
        return True  # macOS has one wheel for both
    return found == wanted or (backend(wanted) == "rocm" and found.startswith(f"{wanted}."))
