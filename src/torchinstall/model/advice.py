"""Advice: the rules that it is made from, and what it comes to. The rows are data; see index_data."""

from __future__ import annotations

from torchinstall.model.plan import Plan
from torchinstall.model.value import EMPTY, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

MUST_NOT = "must_not"
WAIT = "wait"
UPGRADE_NOW = "upgrade_now"
NO_HURRY = "worth_no_hurry"
UP_TO_DATE = "up_to_date"
UNKNOWN = "unknown"
NOTE = "note"

STRICTEST_FIRST = (MUST_NOT, WAIT, UPGRADE_NOW, NO_HURRY)
"""The first of these that a matching rule has is the verdict; a ``note`` changes none."""

ERROR, RISK, BEHAVIOR, WARNING, INFO = SEVERITIES = ("error", "risk", "behavior", "warning", "info")
"""Worst first: fails; may fail; another result or default; works and warns; worth knowing."""


class AdviceRule(Value):
    """One rule: for targets within ``to`` (a version specifier) and cases of ``when``, this verdict.

    ``forbids``: the releases of ``to`` are kept from the choice too, wherever the rule's use applies.
    ``correction``: what has changed since the rule was first written down. ``zh``: text, before, after and
    correction in Chinese.
    """

    id: str
    to: str
    verdict: str
    when: Mapping[str, Any]
    text: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    correction: str = ""
    forbids: bool = False
    origin: str = ""
    zh: Mapping[str, Any] = EMPTY
    status: str
    source: str
    checked: str


class Change(Value):
    """What happens to an API: in which torch (``0``: with any), how bad it is, and in which torch it ends."""

    since: str
    severity: str
    text: str
    until: str | None = None


class Migration(Value):
    """One rule of the code scan. ``names`` are dotted names, one that ends in ``.*`` stands for all below it.

    ``detect``: name, import, call, call-with and call-without (a ``keyword``), call-positional (more than
    ``positional`` arguments), attribute and tensor-method (``attributes``), string (``pattern``),
    requirement, pin, index, line. ``requirements``, ``lines`` and ``channels`` are looked for in the files
    of projects, whatever ``detect`` says.
    """

    id: str
    package: str
    detect: str
    changes: tuple[Change, ...]
    names: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    receivers: tuple[str, ...] = ()
    keyword: str = ""
    positional: int = 0
    argument: Mapping[str, Any] | None = None
    pattern: str = ""
    requirements: tuple[str, ...] = ()
    pinned: bool = False
    version_from: str | None = None
    version_below: str | None = None
    lines: str = ""
    channels: tuple[str, ...] = ()
    python_from: str | None = None
    flag: str | None = None
    replacement: str = ""
    link: str = ""
    status: str
    source: str
    checked: str


class Advice(Value):
    """All that the data has for advice. ``flags``: uses that a person can name; ``packages``: what implies them."""

    rules: tuple[AdviceRule, ...]
    flags: Mapping[str, str]
    packages: Mapping[str, tuple[str, ...]]
    migrations: tuple[Migration, ...]


class Finding(Value):
    """One place in a file. ``line`` and ``column`` count from 1; in a notebook within the ``cell``.

    ``guarded``: the code there is ready for the API to be missing, so that the finding is only worth knowing.
    """

    rule: str
    severity: str
    file: str
    line: int
    column: int
    seen: str
    text: str
    since: str = ""
    replacement: str = ""
    link: str = ""
    cell: int | None = None
    guarded: bool = False


class Skipped(Value):
    """A file that was passed over, and why."""

    file: str
    why: str


class Scan(Value):
    """What a scan of files found. ``lines`` counts those of Python; ``silenced`` the findings told to be ignored."""

    findings: tuple[Finding, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    files: int = 0
    lines: int = 0
    silenced: int = 0


class Said(Value):
    """A reason in words: the rule, its verdict and source, and what to do."""

    rule: str
    verdict: str
    text: str
    source: str
    correction: str = ""
    origin: str = ""


class Judged(Value):
    """What the rules say of one case, strictest reasons first."""

    verdict: str
    reasons: tuple[Said, ...] = ()
    notes: tuple[Said, ...] = ()
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


class Advised(Value):
    """The whole answer. ``best``: the newest that may be had here, where the target can't.

    ``uses``: each flag with whence it is known; ``assumed``: those of them that nothing shows. ``variant``
    is the one that was named; ``rules`` are those that the scan looked for.
    """

    judged: Judged
    target: str
    installed: str | None
    plan: Plan
    best: Plan | None = None
    variant: str | None = None
    uses: Mapping[str, str] = EMPTY
    assumed: tuple[str, ...] = ()
    scan: Scan | None = None
    rules: tuple[Migration, ...] = ()


class Asking(Value):
    """The question. ``to``: a version, a minor or latest; ``installed`` replaces what is seen.

    ``every``: changes that the installed version has already are reported too.
    """

    to: str = "latest"
    installed: str | None = None
    uses: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    every: bool = False
