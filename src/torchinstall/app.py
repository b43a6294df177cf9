"""The use cases, wired: the one module that knows both what is seen and what is decided. No rules of its own."""

from __future__ import annotations

from torchinstall.errors import MachineFileError, TorchInstallError, UsageError
from torchinstall.model.machine import Machine
from torchinstall.model.plan import BLOCKED, SATISFIED, UNDETERMINED
from torchinstall.model.request import Request
from torchinstall.model.value import Value
from torchinstall.model.variant import CPU
from torchinstall.model.verdict import PROVED, Verdict
from torchinstall.model.version import at_least

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from torchinstall.catalog.catalog import Catalog
    from torchinstall.install.backend import Job
    from torchinstall.install.settings import Settings
    from torchinstall.install.target import Target
    from torchinstall.model.options import Options
    from torchinstall.model.plan import Plan
    from torchinstall.model.sighting import Sightings
    from torchinstall.resolve.promise import Promise

LOOK_LIMIT_S = 3.0
UNVERIFIED = Verdict(outcome=PROVED, cause="not-asked", text="not verified, as asked")
_LOOK_ROUNDS = 4


class Planned(Value):
    """A plan together with what it was made from."""

    machine: Machine
    request: Request
    plan: Plan
    settings: Settings
    target: Target | None = None


class Installed(Value):
    """What an install came to. ``changes``: what the installer changed or would change, in words.

    ``stopped``: there was nothing to install; the plan says why.
    """

    planned: Planned
    verdict: Verdict | None = None
    changes: tuple[str, ...] = ()
    changed: bool = False
    restored: bool = False
    stopped: bool = False


class App:
    """One call's use cases. Holds the environment variables and the working directory, and no other state."""

    def __init__(self, environ: Mapping[str, str], cwd: Path) -> None:
        self.environ = dict(environ)
        self.cwd = cwd
        self._catalog: Catalog | None = None

    @property
    def catalog(self) -> Catalog:
        """Return the compatibility data, loaded once."""
        if self._catalog is None:
            from torchinstall.catalog.load import load_catalog

            self._catalog = load_catalog()
        return self._catalog

    # What is here

    def detect(self, options: Options) -> Machine:
        """Return the machine as seen, with what the options declare laid over it."""
        target = self._target_if_any(options)
        return self._declared(self._seen(options, target), options)

    def read_machine(self, text: str, options: Options) -> Machine:
        """Return the machine of one document; an absent system or architecture is the running one's."""
        import json

        from torchinstall.model.machine_json import machine_from_json

        try:
            document = json.loads(text)
        except ValueError as error:
            raise MachineFileError(
                f"the machine file isn't JSON: {error}", todo=["make one with `torchinstall detect --json`"]
            ) from None
        if isinstance(document, dict) and "machine" in document:
            document = document["machine"]
        return self._declared(self._completed(machine_from_json(document)), options)

    # What is decided

    def plan(self, options: Options, machine_text: str | None = None) -> Planned:
        """Return the plan for this machine, a declared one, or one from a document; changes nothing."""
        target = None
        if machine_text is not None:
            machine = self.read_machine(machine_text, options)
        else:
            target = self._target_if_any(options)
            machine = self._declared(self._seen(options, target), options)
        return self._planned(machine, options, target)

    def plan_lines(self, lines: Iterable[str], options: Options) -> Iterator[tuple[object, Plan | TorchInstallError]]:
        """Plan one JSON line after the other, by the catalogue alone."""
        from torchinstall.resolve.asked import plans

        return plans(
            lines,
            self._request(options, None, None),
            self.catalog,
            lambda machine: self._declared(self._completed(machine), options),
        )

    # What is changed

    def install(
        self,
        options: Options,
        *,
        show: Callable[[Planned], None],
        ask: Callable[[str], bool],
        progress: bool,
    ) -> Installed:
        """Detect, resolve, install and verify; the environment is as it was after any end but success.

        ``show`` is given the plan before anything changes; ``ask`` answers a risky question. A plan that is
        blocked, undetermined or out of reach ends there. Raises the errors of the installer and of the target.
        """
        target = self._target(options)
        machine = self._declared(self._seen(options, target), options)
        planned = self._planned(machine, options, target)
        show(planned)
        if planned.plan.outcome in {BLOCKED, UNDETERMINED} or planned.plan.unreachable is not None:
            return Installed(planned=planned, stopped=True)
        for question in risks(planned, options):
            if not (options.yes or ask(question)):
                raise UsageError(f"not done: {question}", todo=["--yes goes ahead with it"])
        if planned.plan.outcome == SATISFIED and not planned.plan.others:
            verdict = self._verify(target, planned) if options.verify else None
            return Installed(planned=planned, verdict=verdict)
        return self._transaction(planned, target, options, progress=progress)

    def verify(self, options: Options) -> Verdict:
        """Run a real kernel on every device that torch sees in the target environment."""
        target = self._target(options)
        machine = self._seen(options, target)
        if "torch" not in machine.installed:
            raise UsageError(
                f"torch isn't installed in {target.prefix or target.python}",
                todo=["torchinstall torch", "or name another environment with --venv or --python"],
            )
        from torchinstall.resolve.promise import of_environment

        request = Request(variant=CPU if options.cpu else None)
        return self._checked(str(target.python), of_environment(machine, request, self.catalog))

    # The parts

    def _target(self, options: Options, *, create: bool = False) -> Target:
        from torchinstall.install.target import find_target

        return find_target(
            python=options.python,
            venv=options.venv,
            system=options.system,
            environ=self.environ,
            cwd=self.cwd,
            create=create,
        )

    def _target_if_any(self, options: Options) -> Target | None:
        """Return the target for a plan, which needs none: a version is enough, or nothing at all."""
        if options.sysroot and not (options.venv or (options.python and _is_path(options.python))):
            return None  # nothing of the real machine shows on a fake one
        try:
            return self._target(options)
        except UsageError:
            if options.venv or options.system or (options.python and _is_path(options.python)):
                raise
            return None

    def _transaction(self, planned: Planned, target: Target, options: Options, *, progress: bool) -> Installed:
        from torchinstall.catalog.locate import find_index_data
        from torchinstall.install import transaction
        from torchinstall.install.backend import all_new
        from torchinstall.install.uv import Uv

        installer = Uv(self.environ, index_data=find_index_data())
        if options.dry_run:
            job = self._job(planned, target, progress=False)
            changes = installer.preview(job) if target.exists else all_new(planned.plan)
            return Installed(planned=planned, changes=tuple(change.words() for change in changes))
        made = target if target.exists else self._target(options, create=True)
        facts = self._seen(options, made).python
        job = self._job(planned, made.with_facts(facts), progress=progress)
        outcome = transaction.install(
            job,
            installer,
            verify=lambda: self._verify(job.target, planned) if options.verify else UNVERIFIED,
            environ=self.environ,
            keep=options.keep,
        )
        return Installed(
            planned=planned.replace(target=job.target),
            verdict=outcome.verdict if options.verify else None,
            changes=tuple(change.words() for change in outcome.changes),
            changed=not outcome.restored,
            restored=outcome.restored,
        )

    def _job(self, planned: Planned, target: Target, *, progress: bool) -> Job:
        from torchinstall.install.backend import Job
        from torchinstall.resolve.keep import stale_packages

        return Job(
            plan=planned.plan,
            target=target,
            settings=planned.settings,
            cwd=self.cwd,
            reinstall=stale_packages(planned.plan, planned.machine),
            offline=planned.request.offline,
            show=progress,
        )

    def _seen(self, options: Options, target: Target | None) -> Machine:
        """Return what is seen. A fake machine has its own Python, unless a real environment is the target."""
        from torchinstall.probe.detect import detect
        from torchinstall.probe.system import real_system

        interpreter = target.python if target is not None else None
        if options.sysroot:
            from torchinstall.probe.fake import fake_system
            from torchinstall.probe.target import TargetQuestion

            machine = detect(fake_system(self.cwd / options.sysroot), cards=self.catalog.card)
            if interpreter is not None:
                facts = TargetQuestion(real_system(self.environ), interpreter).answer()
                machine = machine.replace(
                    python=facts.python, installed=facts.installed, installed_by=facts.installed_by
                )
        else:
            machine = detect(real_system(self.environ), cards=self.catalog.card, python=interpreter)
        if interpreter is None and options.python:
            from torchinstall.resolve.declare import python_version

            machine = machine.replace(python=python_version(options.python))
        if target is not None and not target.exists:
            # Nothing is installed in an environment that isn't there yet.
            machine = machine.replace(installed={}, installed_by={})
        return machine

    def _completed(self, machine: Machine) -> Machine:
        if machine.os.name is None or machine.arch is None:
            from torchinstall.probe.system import real_system

            system = real_system(self.environ)
            machine = machine.replace(
                os=machine.os if machine.os.name else machine.os.replace(name=system.os_name),
                arch=machine.arch or system.arch,
            )
        return machine

    def _declared(self, machine: Machine, options: Options) -> Machine:
        from torchinstall.resolve.declare import Declaration, check_known, declared

        said = Declaration(
            gpus=options.gpus, drivers=options.drivers, os=options.os, arch=options.arch, glibc=options.glibc
        )
        machine = declared(machine, said, self.catalog) if options.declares else machine
        check_known(machine)
        return machine

    def _planned(self, machine: Machine, options: Options, target: Target | None) -> Planned:
        from torchinstall.install.settings import read_settings
        from torchinstall.resolve.resolve import resolve

        prefix = self.cwd / target.prefix if target is not None and target.prefix else None
        settings = read_settings(self.environ, cwd=self.cwd, prefix=prefix)
        request = self._request(options, settings, machine)
        sightings = self._look(machine, request, settings)
        plan = resolve(machine, request, self.catalog, sightings)
        return Planned(machine=machine, request=request, plan=plan, target=target, settings=settings)

    def _look(self, machine: Machine, request: Request, settings: Settings) -> Sightings:
        """Ask the pages that matter until the choice rests on pages that were asked; folders also offline."""
        from torchinstall.model.sighting import Sightings
        from torchinstall.resolve.decision import Question as Asked
        from torchinstall.resolve.decision import decide
        from torchinstall.resolve.pages import OwnSources, pages

        offline = request.offline
        own = OwnSources(
            default_index=settings.default_index or ("" if offline else _default_index()),
            extra_indexes=settings.extra_indexes,
            find_links=settings.find_links,
            mirror=request.mirror,
        )
        client = None
        sightings = Sightings()
        known: set[tuple[str, str]] = set()
        for _ in range(_LOOK_ROUNDS):
            decision = decide(Asked(machine=machine, request=request, catalog=self.catalog, sightings=sightings))
            wanted = [
                page for page in pages(decision, request, self.catalog, own) if (page.url, page.project) not in known
            ]
            if offline:
                wanted = [page for page in wanted if "://" not in page.url or page.url.startswith("file:")]
            if not wanted:
                break
            known |= {(page.url, page.project) for page in wanted}
            from torchinstall.index.http import Client
            from torchinstall.index.look import Question, look

            client = client or Client(environ=self.environ, offline=offline)
            asked = [
                Question(url=p.url, project=p.project, kind=p.kind, role=p.role, variant=p.variant) for p in wanted
            ]
            found = look(asked, limit_s=LOOK_LIMIT_S, session=client)
            sightings = Sightings(listings=sightings.listings + found)
        return sightings

    def _request(self, options: Options, settings: Settings | None, machine: Machine | None) -> Request:
        from torchinstall.resolve.asked import request_of

        return request_of(
            options,
            machine,
            self.catalog,
            constraint_files=settings.constraint_files if settings else (),
            offline=bool(settings and settings.offline),
            read=self._read,
        )

    def _read(self, name: str) -> str:
        try:
            return (self.cwd / name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{name} can't be read", why=str(error)) from None

    def _verify(self, target: Target, planned: Planned) -> Verdict:
        from torchinstall.resolve.promise import of_plan

        return self._checked(str(target.python), of_plan(planned.plan, planned.machine))

    def _checked(self, python: str, promise: Promise) -> Verdict:
        from torchinstall.verify.check import verify
        from torchinstall.verify.values import Expect

        expect = Expect(**promise.__dict__)
        return verify(python, expect, self.catalog.verify_causes, environ=self.environ)


def risks(planned: Planned, options: Options) -> list[str]:
    """Return the questions that only a yes answers: what an unattended run must not do by itself."""
    questions = []
    plan, machine = planned.plan, planned.machine
    installed = machine.installed.get("torch")
    if installed and plan.torch and plan.outcome != SATISFIED and not at_least(plan.torch, installed.partition("+")[0]):
        asked = any(wish.name == "torch" and wish.specifier for wish in planned.request.wishes)
        if not asked:
            questions.append(f"torch {installed} would be replaced by the older {plan.torch}")
    built = machine.container is not None and machine.container.build
    if machine.declared and not built and not options.drivers and planned.request.variant is None:
        questions.append("the declared machine isn't this one, and the environment is here")
    return questions


def _default_index() -> str:
    from pypi_simple import PYPI_SIMPLE_ENDPOINT

    return str(PYPI_SIMPLE_ENDPOINT)


def _is_path(text: str) -> bool:
    return "/" in text or "\\" in text
