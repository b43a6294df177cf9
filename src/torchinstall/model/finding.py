"""What a diagnosis found: causes with their evidence, and the first thing to do."""

from __future__ import annotations

from torchinstall.errors import EXIT_BLOCKED, EXIT_OK, EXIT_UNDETERMINED
from torchinstall.model.machine import Machine
from torchinstall.model.plan import Plan
from torchinstall.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.model.cause import Signature
    from torchinstall.model.verdict import Verdict

NONE = "none"
INSTALL = "install"
REINSTALL = "reinstall-with-variant"
PIN_OLDER = "pin-older-torch"
DRIVER = "upgrade-driver"
ENVIRONMENT = "fix-environment"
NO_SOLUTION = "no-solution"

ACTIONS = (NONE, INSTALL, REINSTALL, PIN_OLDER, DRIVER, ENVIRONMENT, NO_SOLUTION)
WHEEL_ACTIONS = frozenset({INSTALL, REINSTALL, PIN_OLDER})
"""What another wheel cures; after the others a reinstall changes nothing."""

ERROR = "error"
WARNING = "warning"
NOTE = "note"


class Symptom(Value):
    """A signature that was found in a text: ``text`` is the very place, ``groups`` what its pattern captured."""

    signature: Signature
    text: str
    groups: tuple[tuple[str, str], ...] = ()

    def group(self, name: str) -> str:
        """Return what was captured under a name, ``""`` where nothing was."""
        return next((value for key, value in self.groups if key == name), "")


class Finding(Value):
    """One cause. ``action`` is what it calls for; ``remedy`` says it in words, ``command`` does it in one line.

    ``severity``: error, warning, or note. ``likely``: too little is known to be sure; ``question`` would settle
    it. ``packages`` are those that a reinstall has to replace though their versions seem right.
    """

    id: str
    severity: str = ERROR
    action: str = NONE
    cause: str
    evidence: tuple[str, ...] = ()
    remedy: str = ""
    command: str = ""
    likely: bool = False
    question: str = ""
    source: str = ""
    packages: tuple[str, ...] = ()


class Diagnosis(Value):
    """The answer of a doctor: findings, most decisive first, and the first thing to do.

    ``unknown``: nothing was found, and too little is known to say that nothing is wrong.
    """

    action: str = NONE
    findings: tuple[Finding, ...] = ()
    machine: Machine = Machine()
    plan: Plan | None = None
    verdict: Verdict | None = None
    unknown: bool = False

    @property
    def reinstalling_helps(self) -> bool:
        """Tell whether installing torch again, as the plan says, is what mends it."""
        return self.action in WHEEL_ACTIONS

    @property
    def exit_code(self) -> int:
        """0: nothing wrong; 3: something found; 4: can't tell."""
        if any(finding.severity != NOTE for finding in self.findings):
            return EXIT_BLOCKED
        return EXIT_UNDETERMINED if self.unknown else EXIT_OK
