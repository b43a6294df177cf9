"""Advise: what the rules say of this machine, this environment and this code, and what the resolver can do."""

from __future__ import annotations

from torchinstall.errors import UsageError
from torchinstall.model.advice import Advised, Scan
from torchinstall.model.plan import BLOCKED, UNDETERMINED
from torchinstall.model.request import Request, Wish
from torchinstall.model.version import numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torchinstall.advise.judge import Case
    from torchinstall.advise.table import Target
    from torchinstall.app.base import App
    from torchinstall.catalog.catalog import Catalog
    from torchinstall.install.target import Target as EnvironmentTarget
    from torchinstall.model.advice import Advice, Asking, Migration
    from torchinstall.model.machine import Machine
    from torchinstall.model.options import Options
    from torchinstall.model.plan import Plan, Reason

LATEST = "latest"
_TORCH = "torch"
_TORCH_NPU = "torch-npu"
_NEW, _STABLE, _NPU, _CONDA = "new_project", "stable_training", "torch_npu", "conda_channel"


def advise(
    app: App,
    options: Options,
    asking: Asking,
    machine_text: str | None = None,
    *,
    lang: str = "en",
    progress: Callable[[int, int], None] | None = None,
) -> Advised:
    """Return the verdict with its reasons, the plan for the target, and what the code scan found.

    ``lang``: the language of the reasons, ``en`` or ``zh``. ``progress`` is given the files that are scanned, and
    all there are. Raises ``UsageError`` for a version
    or a use that isn't known, and for a path that isn't there.
    """
    from torchinstall.advise.judge import judge
    from torchinstall.output.language import localized

    advice = app.catalog.advice
    for use in asking.uses:
        if use not in advice.flags:
            known = [f"{flag}: {text}" for flag, text in advice.flags.items()]
            said = "--uses takes one of these words" if use == "help" else f"--uses {use!r} isn't known"
            raise UsageError(said, todo=known)
    asked, newest = wanted(asking.to, app.catalog)
    machine, target, elsewhere = _machine(app, options, machine_text)
    seen_here = not elsewhere and not machine.declared
    installed = _base(asking.installed or machine.installed.get(_TORCH))
    found, active = _scan(app, asking, machine, newest, installed, progress)
    uses = uses_of(asking, machine, advice, found, lang)
    guess = assumed(uses, installed=installed, fresh=seen_here and found is None, lang=lang)
    uses |= guess
    constraints = _constraints(advice, frozenset(uses), app.catalog)

    def plan_for(specifier: str) -> Plan:
        inner = options.replace(
            requirements=requirements(specifier, frozenset(uses), machine, app.catalog), upgrade=True
        )
        return app.planned(machine, inner, target, constraints=constraints, elsewhere=elsewhere).plan

    plan = plan_for(f"=={asked}")
    best = plan_for("") if plan.outcome == BLOCKED else None
    plan = localized(plan, lang)
    case = case_of(machine, plan, app.catalog, to=plan.torch or newest, installed=installed)
    case = case.replace(
        uses=frozenset(uses), found=frozenset(f.rule for f in found.findings if not f.guarded) if found else frozenset()
    )
    return Advised(
        judged=judge(case, advice.rules, lang),
        target=case.to,
        installed=installed,
        plan=plan,
        best=best if best is not None and best.torch else None,
        variant=options.variant,
        uses=uses,
        assumed=tuple(guess),
        scan=found,
        rules=active,
    )


def _machine(app: App, options: Options, text: str | None) -> tuple[Machine, EnvironmentTarget | None, bool]:
    """Return the machine, the environment in question, and whether the machine is another one than this."""
    if text is not None:
        return app.read_machine(text, options), None, True
    if options.reports:
        machines = app.reported(options)
        if len(machines) > 1:
            raise UsageError(
                f"--report tells of {len(machines)} machines",
                why="advice is for one of them",
                todo=["give one machine's report at a time"],
            )
        return machines[0], None, True
    target = app.target_if_any(options)
    machine = app.declared(app.seen(options, target), options)
    return machine, target, options.sysroot is not None and target is None


def wanted(to: str, catalog: Catalog) -> tuple[str, str]:
    """Return what ``--to`` asks for as a version (``2.15.0``) or a series (``2.15.*``), and its newest release."""
    known = [release.torch for release in catalog.releases if not release.yanked]
    if to == LATEST:
        to = ".".join(known[0].split(".")[:2])
    plain = to.removesuffix(".*")
    if plain in known and plain == to:
        return plain, plain
    series = [version for version in known if version.startswith(plain + ".")]
    if not series or not numbers(plain):
        raise UsageError(
            f"--to {to}: there is no such torch in the catalogue",
            why=f"it goes up to {known[0]} ({catalog.date})",
            todo=["--to 2.14, --to 2.14.1 or --to latest", "torchinstall catalog refresh, for a newer one"],
        )
    return f"{plain}.*", series[0]


def requirements(specifier: str, uses: frozenset[str], machine: Machine, catalog: Catalog) -> tuple[str, ...]:
    """Return what a plan for advice asks for: torch, what goes with it here, and torch-npu where it is used."""
    known = [name for name in catalog.joint if name != _TORCH]
    with_it = [name for name in known if name in machine.installed or (name == _TORCH_NPU and _NPU in uses)]
    return (f"{_TORCH}{specifier}", *with_it)


def case_of(machine: Machine, plan: Plan, catalog: Catalog, *, to: str, installed: str | None) -> Case:
    """Return what the rules look at, from the machine and from what the resolver said at the target."""
    from torchinstall.advise.judge import Case
    from torchinstall.resolve.target import target_of

    target = target_of(machine)
    vendors, generations = _cards(machine, catalog)
    return Case(
        to=to,
        installed=installed,
        undetermined=plan.outcome == UNDETERMINED,
        blocked=_blocked(plan, to),
        lost={lost.variant: lost.reason.rule for lost in reversed(plan.rejected) if lost.torch == to},
        default=catalog.default_variant(to, target.platform) if target.platform else None,
        variant=plan.variant,
        vendors=vendors,
        generations=generations,
        os=target.os,
        arch=target.arch,
        python=target.python,
    )


def _blocked(plan: Plan, to: str) -> Reason | None:
    """Return why there is no choice; where a build fits but for not having been seen, that."""
    from torchinstall.advise.judge import SOFT

    if plan.outcome != BLOCKED or plan.blocked is None:
        return None
    if plan.blocked.rule not in {lost.reason.rule for lost in plan.rejected}:
        return plan.blocked
    unseen = [lost.reason for lost in plan.rejected if lost.torch == to and lost.reason.rule in SOFT]
    return unseen[0] if unseen else plan.blocked


def uses_of(asking: Asking, machine: Machine, advice: Advice, found: Scan | None, lang: str = "en") -> dict[str, str]:
    """Return each use that is known, with whence: named, or seen in the environment or the code."""
    from torchinstall.advise.wording import say

    uses = dict.fromkeys(asking.uses, say("use-named", lang))
    for use, packages in advice.packages.items():
        here = [f"{name} {machine.installed[name]}" for name in packages if name in machine.installed]
        if here:
            uses.setdefault(use, say("use-installed", lang, packages=", ".join(here)))
    if any(gpu.vendor == "ascend" for gpu in machine.gpus or ()):
        uses.setdefault(_NPU, say("use-card", lang))
    if machine.installed_by.get(_TORCH) == "conda":
        uses.setdefault(_CONDA, say("use-conda", lang))
    flags = {rule.id: rule.flag for rule in advice.migrations if rule.flag}
    for finding in found.findings if found else ():
        if finding.rule in flags and not finding.guarded:
            whence = say("use-found", lang, file=finding.file, line=finding.line)
            uses.setdefault(str(flags[finding.rule]), whence)
    return uses


def assumed(uses: Mapping[str, str], *, installed: str | None, fresh: bool, lang: str = "en") -> dict[str, str]:
    """Return what is taken for granted where nobody says: an installed torch trains, an empty environment is new."""
    from torchinstall.advise.wording import say

    if _NEW in uses or _STABLE in uses:
        return {}
    if installed is not None:
        return {_STABLE: say("use-assumed-stable", lang)}
    return {_NEW: say("use-assumed-new", lang)} if fresh else {}


def _scan(
    app: App,
    asking: Asking,
    machine: Machine,
    newest: str,
    installed: str | None,
    progress: Callable[[int, int], None] | None,
) -> tuple[Scan | None, tuple[Migration, ...]]:
    if not asking.paths:
        return None, ()
    from torchinstall.advise.span import active
    from torchinstall.advise.table import Table
    from torchinstall.app.scan import scan
    from torchinstall.resolve.target import target_of

    rules = active(
        app.catalog.advice.migrations,
        installed=None if asking.every else installed,
        to=newest,
        python=target_of(machine).python,
    )
    table = Table(rules, scan_target(app.catalog, newest))
    return scan(asking.paths, app.cwd, table, progress=progress), tuple(active.rule for active in rules)


def scan_target(catalog: Catalog, torch: str) -> Target:
    """Return what project files are held against: the family's versions, and the variants without a wheel."""
    from torchinstall.advise.table import Target
    from torchinstall.catalog.rows import WITHDRAWN

    release = catalog.release(torch)
    builds = release.builds if release else ()
    versions = {_TORCH: torch}
    for build in builds:
        for name in catalog.joint[1:]:
            rows = catalog.companions(name, build) if name not in versions else ()
            if rows:
                versions[name] = rows[0].version
    there = {build.variant for build in builds if build.status != WITHDRAWN}
    every = {build.variant for one in catalog.releases for build in one.builds}
    return Target(torch=torch, versions=versions, gone=frozenset(every - there))


def _constraints(advice: Advice, uses: frozenset[str], catalog: Catalog) -> tuple[Wish, ...]:
    from torchinstall.advise.judge import forbidden

    releases = [release.torch for release in catalog.releases]
    return tuple(
        Wish(
            name=_TORCH,
            specifier=",".join(f"!={version}" for version in versions),
            text=rule.text,
            origin=f"rule {rule.id} of advise",
        )
        for rule, versions in forbidden(advice.rules, uses, releases)
    )


def _cards(machine: Machine, catalog: Catalog) -> tuple[frozenset[str], frozenset[str]]:
    """Return vendors and NVIDIA generations of the cards that count; of all where none can be chosen."""
    from torchinstall.resolve.cards import established_capability, select

    chosen = select(machine, Request(), catalog).cards
    gpus = [card.gpu for card in chosen] or [gpu for gpu in machine.gpus or () if gpu.visible is not False]
    generations = set()
    for gpu in gpus:
        cc = established_capability(gpu, catalog, machine) if gpu.vendor == "nvidia" else None
        generation = catalog.generation(cc) if cc else None
        if generation is not None:
            generations.add(generation.name)
    return frozenset(gpu.vendor for gpu in gpus), frozenset(generations)


def _base(version: str | None) -> str | None:
    return version.partition("+")[0] if version else None
