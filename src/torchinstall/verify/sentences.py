"""What is said of an outcome that has no error text of its own; the others are in index_data."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_PLAN = "torchinstall plan shows the build for this machine"
_DOCTOR = "torchinstall doctor looks for the cause"
_REINSTALL = "install it again: torchinstall --upgrade"

SENTENCES: dict[str, tuple[str, tuple[str, ...]]] = {
    "proved": ("{torch} ({variant}) computes rightly on {devices}", ()),
    "proved-static": (
        "{torch} ({variant}) is whole and computes on the CPU; no device can be here to prove the rest",
        ("on the machine with the card: torchinstall verify",),
    ),
    "code-missing": (
        "{torch} ({variant}) has no {codes}, which the card of the plan needs; it has {held}",
        (_PLAN, _REINSTALL),
    ),
    "library-missing": (
        "{library}, which {needed_by} needs, is nowhere on this system",
        (_REINSTALL, _DOCTOR),
    ),
    "target-not-python": (
        "{python} can't be run as a Python interpreter: {reason}",
        ("name the interpreter of the environment with --python",),
    ),
    "torch-missing": ("torch isn't installed in this environment", ("install it: torchinstall torch",)),
    "hang": (
        "the check didn't answer within {limit} seconds; it stopped at the step {step}",
        (
            "on a slow disk or a first start, allow more: TORCHINSTALL_VERIFY_TIMEOUT=600",
            "unset HSA_OVERRIDE_GFX_VERSION if it is set",
            _DOCTOR,
        ),
    ),
    "crash": ("Python crashed ({signal}) at the step {step}", (_PLAN, _DOCTOR)),
    "illegal-instruction": (
        "{torch} uses an instruction that this processor doesn't have (at the step {step})",
        ("take an older torch: torchinstall explain torch",),
    ),
    "killed": (
        "the check was killed from outside ({signal}) at the step {step}, as happens when memory runs out",
        ("free memory, or raise the limit of the container or job, then: torchinstall verify",),
    ),
    "stopped": ("the check ended early (exit code {code}) at the step {step}", (_DOCTOR,)),
    "cpu-build": ("{torch} is a build without {wanted} support, which was planned", (_PLAN, _REINSTALL)),
    "version-mismatch": ("torch {found} is installed, not {wanted}", (_REINSTALL,)),
    "variant-mismatch": ("torch is a {found} build, not {wanted}", (_REINSTALL,)),
    "masked-devices": (
        "torch sees no device while {masks} says which ones it may see",
        ("unset it, or name the cards that torch may use, then: torchinstall verify",),
    ),
    "no-device": ("torch sees no device", (_DOCTOR,)),
    "wrong-result": ("{device} computes wrongly at the step {step}: {error}", (_PLAN, _DOCTOR)),
    "companion-missing": (
        "{name} was planned and isn't installed",
        ("install them in one go: torchinstall torch torchvision torchaudio",),
    ),
    "unknown-error": ("the step {step} failed: {error}", (_DOCTOR,)),
}


class _Known(dict[str, str]):
    def __missing__(self, name: str) -> str:
        return f"{{{name}}}"


def fill(text: str, facts: Mapping[str, str]) -> str:
    """Return ``text`` with its ``{names}`` filled; a name that nobody knows stays as it is."""
    return text.format_map(_Known(facts))


def sentence(cause: str, facts: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    """Return the sentence and the next steps for a cause."""
    text, todo = SENTENCES[cause]
    return fill(text, facts), tuple(fill(step, facts) for step in todo)
