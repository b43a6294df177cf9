"""``diagnose``: one machine, one environment, one text to findings in order, and the first thing to do."""

from __future__ import annotations

from torchinstall.diagnose import rules_driver, rules_missing, rules_packages, rules_system, rules_vendor, rules_wheel
from torchinstall.diagnose.situation import Situation
from torchinstall.diagnose.symptoms import symptoms
from torchinstall.diagnose.text import digest
from torchinstall.model.finding import ERROR, NONE, NOTE, WARNING, Diagnosis, Finding
from torchinstall.model.plan import SATISFIED, UNDETERMINED, Plan
from torchinstall.resolve.resolve import resolve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from torchinstall.catalog.catalog import Catalog
    from torchinstall.model.machine import Machine
    from torchinstall.model.request import Request

    Rule = Callable[[Situation], Finding | list[Finding] | None]

RULES: tuple[Rule, ...] = (
    # what stands before any wheel
    rules_system.rosetta,
    rules_system.musl,
    rules_system.bits,
    rules_system.long_path,
    rules_packages.vendor_build,
    rules_system.said_outright,
    # the accelerators other than NVIDIA's desktop cards
    rules_vendor.jetson,
    rules_vendor.ascend_pair,
    rules_vendor.amd_mixed,
    rules_vendor.amd_no_device,
    rules_vendor.amd_on_windows,
    rules_vendor.amd_no_code,
    rules_vendor.xpu_runtime,
    rules_vendor.mps_macos,
    # drivers, then the wheel
    rules_driver.driver_state,
    rules_driver.other_driver_state,
    rules_system.noted,
    rules_driver.driver_dropped,
    rules_driver.driver_old,
    rules_driver.device_out_of_reach,
    rules_wheel.wrong_backend,
    rules_wheel.no_code,
    rules_wheel.cpu_build,
    # packages among each other
    rules_packages.cuda_runtime_of_another,
    rules_packages.companions,
    rules_packages.toolkit_of_extension,
    rules_packages.library_missing,
    rules_packages.torch_not_there,
    rules_packages.torch_shadowed,
    # wheels that can't be had
    rules_missing.old_glibc,
    rules_missing.companion_without_wheel,
    rules_missing.locked_without_wheel,
    rules_missing.no_wheel,
    rules_missing.conflict,
    rules_wheel.detection_failed,
    rules_wheel.cpu_build_by_text,
    # what is left
    rules_system.mask,
    rules_system.loader_path,
    rules_driver.not_visible,
    rules_driver.container_without_device,
    rules_missing.unfit,
    rules_missing.nothing_fits,
    rules_missing.not_installed,
    rules_missing.older_than_the_tables,
    rules_system.compat_library,
    rules_system.gfx_override,
    rules_system.numpy,
)
"""In order of decisiveness: the first that speaks names the first thing to do."""


def diagnose(
    machine: Machine,
    request: Request,
    catalog: Catalog,
    *,
    text: str = "",
    first: Iterable[Finding] = (),
) -> Diagnosis:
    """Return the diagnosis of a machine with what is installed on it, and of a report's ``text``.

    ``first`` are findings of an environment that was looked at; they go before those of the tables. Total:
    whatever the text and the machine are, there is an answer, if only the question that would bring one.
    """
    cleaned = digest([text]) if text else ""
    situation = Situation(machine, request, catalog, symptoms=symptoms(cleaned, catalog.signatures.rows), text=cleaned)
    found = list(_once([*first, *_findings(situation)]))
    found.sort(key=lambda finding: _WEIGHT[finding.severity])
    plan = situation.proposed
    decisive = next((f for f in found if f.severity != NOTE), None)
    if decisive is None and situation.installed is not None:
        kept = resolve(situation.machine, request.replace(upgrade=False), catalog)
        plan = kept if kept.outcome == SATISFIED else plan
    action = decisive.action if decisive is not None else NONE
    serious = any(finding.severity != NOTE for finding in found)
    unknown = not serious and not _knows(situation, plan)
    if unknown and not any(finding.id not in _ASIDES for finding in found):
        found.append(_unrecognised(situation, cleaned))
    return Diagnosis(action=action, findings=tuple(found), machine=situation.machine, plan=plan, unknown=unknown)


def _findings(situation: Situation) -> list[Finding]:
    found: list[Finding] = []
    for rule in RULES:
        said = rule(situation)
        if said is None or (found and rule in _LAST):
            continue
        found += said if isinstance(said, list) else [said]
    return found


_LAST = frozenset(
    {
        rules_wheel.cpu_build_by_text,
        rules_wheel.detection_failed,
        rules_driver.not_visible,
        rules_driver.container_without_device,
        rules_system.loader_path,
        rules_missing.unfit,
        rules_missing.nothing_fits,
        rules_missing.not_installed,
        rules_missing.older_than_the_tables,
    }
)
"""Rules that speak only where no other has: guesses from the text, and what the plan says anyway."""


_WEIGHT = {ERROR: 0, WARNING: 1, NOTE: 2}

_ASIDES = frozenset({"index-settings", "disk-nearly-full", "temporary-nearly-full", "old-cuda-packages"})
"""Notes about an environment that say nothing of whether it works."""


def _once(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return each cause once: two looks may see the same one, and the later knows more of what to do."""
    kept: dict[str, Finding] = {}
    for finding in found:
        known = kept.get(finding.id)
        if known is not None:
            finding = finding.replace(  # noqa: PLW2901 - the same finding, with all that was seen
                severity=known.severity,
                evidence=tuple(dict.fromkeys([*known.evidence, *finding.evidence])),
                packages=tuple(dict.fromkeys([*known.packages, *finding.packages])),
            )
        kept[finding.id] = finding
    return tuple(kept.values())


def _knows(situation: Situation, plan: Plan) -> bool:
    """Tell whether enough is known to say that nothing is wrong."""
    if situation.complains:
        return False
    installed = situation.installed
    if installed is not None and (installed.vendor or not situation.accepted):
        return False
    return plan.outcome != UNDETERMINED and situation.told.gpus is not None


def _unrecognised(situation: Situation, text: str) -> Finding:
    installed = situation.installed
    if installed is not None and not situation.complains:
        text = f"torch {installed.shown} isn't in the tables: nothing known speaks against it, and nothing proves it"
        if installed.vendor:
            text = f"torch {installed.text} is a vendor's build: it stays, and only a kernel proves it"
        elif situation.fits or situation.catalog.release(installed.release or "") is not None:
            text = f"torch {installed.shown} fits as far as is known; no accelerator is named here"
        return Finding(
            id="not-known",
            severity=NOTE,
            cause=text,
            remedy="run a real kernel on that machine",
            command="torchinstall verify",
        )
    wanted = []
    if situation.told.gpus is None:
        wanted.append("`torchinstall detect --json` of the machine")
    if not situation.told.installed:
        wanted.append("`python -m torch.utils.collect_env`")
    wanted.append("the last 30 lines of the error")
    return Finding(
        id="not-recognised",
        severity=NOTE,
        action=NONE,
        cause="nothing in this is recognised" if text.strip() else "too little is known of this machine",
        remedy=f"this would help: {', '.join(wanted)}",
        question="what does `torchinstall doctor` say on the machine itself?",
        likely=True,
    )
