"""``doctor --fix``: do what mends it where an install does, through the same transaction as an install."""

from __future__ import annotations

from torchinstall.app.live import Checkup, doctor_live
from torchinstall.app.missing import with_missing
from torchinstall.diagnose.proof import with_verdict
from torchinstall.errors import BlockedError, UsageError
from torchinstall.model.finding import NOTE, WHEEL_ACTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torchinstall.app.base import App, Planned
    from torchinstall.model.finding import Finding
    from torchinstall.model.options import Options
    from torchinstall.model.verdict import Verdict

_MISSING = "dependency-missing"


def mend(
    app: App,
    options: Options,
    checkup: Checkup,
    *,
    ask: Callable[[str], bool],
    show: Callable[[Planned], None],
    tell: Callable[[Sequence[str]], None],
    progress: bool,
) -> Checkup:
    """Mend what an install can mend, and look again. The environment is as it was after any end but success.

    Raises ``BlockedError`` where no install mends it, ``UsageError`` where the answer to the question is no,
    and what the install raises.
    """
    serious = [finding for finding in checkup.diagnosis.findings if finding.severity != NOTE]
    interrupted = any(finding.id == "interrupted-install" for finding in serious)
    wheel = [finding for finding in serious if finding.action in WHEEL_ACTIONS]
    if not interrupted and not wheel:
        raise _outside(serious)
    said = checkup.diagnosis.findings[0].cause
    if not (options.yes or ask(f"to mend this ({said}) the environment {checkup.target.prefix} is changed")):
        raise UsageError("not done: doctor --fix changes the environment", todo=["--yes goes ahead with it"])
    if interrupted:
        _recover(checkup, tell)
        checkup = doctor_live(app, options)
        wheel = [f for f in checkup.diagnosis.findings if f.severity != NOTE and f.action in WHEEL_ACTIONS]
    if not wheel:
        return doctor_live(app, options, verify=True)
    verdict = _install(app, options, checkup, wheel, show=show, tell=tell, progress=progress)
    after = doctor_live(app, options)
    # The transaction has proved it already.
    return after.replace(diagnosis=with_verdict(after.diagnosis, verdict)) if verdict is not None else after


def _recover(checkup: Checkup, tell: Callable[[Sequence[str]], None]) -> None:
    from torchinstall.install.transaction import recover_target

    prefix = checkup.target.prefix or checkup.machine.python.prefix
    if recover_target(checkup.target.replace(prefix=prefix)):
        tell(["the environment was brought back to what it was before the stopped installation"])


def _install(
    app: App,
    options: Options,
    checkup: Checkup,
    wheel: Sequence[Finding],
    *,
    show: Callable[[Planned], None],
    tell: Callable[[Sequence[str]], None],
    progress: bool,
) -> Verdict | None:
    from torchinstall.app.transact import transact
    from torchinstall.errors import VerifyError
    from torchinstall.model.plan import INSTALL, SATISFIED

    plan = checkup.diagnosis.plan
    if plan is None or plan.torch is None:
        raise _outside(list(checkup.diagnosis.findings))
    names = tuple(dict.fromkeys(name for finding in wheel for name in finding.packages))
    installed = checkup.machine.installed
    wanted = [f"torch=={plan.torch}", *(n for n in ("torchvision", "torchaudio") if n in installed)]
    asked = options.replace(
        requirements=tuple(wanted), variant=plan.variant if plan.variant not in {None, "mps"} else None,
        cpu=False, reports=(), yes=True, verify=True,
    )  # fmt: skip
    # What is broken counts as not there: metadata would say that nothing is to be done.
    gone = {"torch", *names} if any(finding.id != _MISSING for finding in wheel) else set()
    whole = {name: version for name, version in installed.items() if name not in gone}
    planned = app.planned(checkup.machine.replace(installed=whole), asked, checkup.target)
    if not gone:
        planned = with_missing(planned, checkup.inspection.gaps)
    show(planned)
    enough = {INSTALL} if gone else {INSTALL, SATISFIED}
    if planned.plan.outcome not in enough or planned.plan.unreachable is not None:
        reason = planned.plan.blocked or planned.plan.unreachable
        raise BlockedError(
            "what mends this can't be installed here", why=reason.text if reason else "", todo=["torchinstall plan"]
        )
    # The installer must not believe versions that are there already: torch's own may be the very same.
    again = tuple(name for name in names if name in installed or name == "torch") or ("torch",)
    done = transact(app, planned, checkup.target, asked, progress=progress, reinstall=again if gone else ())
    if done.restored and done.verdict is not None:
        raise VerifyError(
            "the mended environment failed its proof, and is as it was before",
            why=done.verdict.text,
            todo=done.verdict.todo,
        )
    tell(done.changes)
    return done.verdict


def _outside(findings: Sequence[Finding]) -> BlockedError:
    first = findings[0]
    todo = [first.remedy, first.command] if first.command else [first.remedy]
    return BlockedError(
        f"an install doesn't mend this: {first.cause}", why="the cause is outside of what is installed", todo=todo
    )
