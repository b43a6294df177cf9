"""What all use cases share: seeing the machine, reading the request, looking at indexes, planning."""

from __future__ import annotations

from torchinstall.errors import MachineFileError, UsageError
from torchinstall.model.machine import Machine
from torchinstall.model.request import Request, Wish
from torchinstall.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from torchinstall.catalog.catalog import Catalog
    from torchinstall.errors import TorchInstallError
    from torchinstall.index.http import Client
    from torchinstall.install.settings import Settings
    from torchinstall.install.target import Target
    from torchinstall.model.options import Options
    from torchinstall.model.plan import Plan
    from torchinstall.model.sighting import Sightings

LOOK_LIMIT_S = 3.0
_LOOK_ROUNDS = 4


_UTF_16 = {b"\xff\xfe", b"\xfe\xff"}
"""How a file in UTF-16 begins, as PowerShell's redirections write it."""


class Planned(Value):
    """A plan together with what it was made from."""

    machine: Machine
    request: Request
    plan: Plan
    settings: Settings
    target: Target | None = None


class App:
    """The ground that the use cases stand on. Holds environment variables and working directory, and no other state."""

    def __init__(self, environ: Mapping[str, str], cwd: Path | None = None) -> None:
        self.environ = dict(environ)
        self._cwd = cwd
        self._catalog: Catalog | None = None

    @property
    def cwd(self) -> Path:
        """Return the working directory; that of the process where no other was named."""
        if self._cwd is None:
            from pathlib import Path

            self._cwd = Path.cwd()
        return self._cwd

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
        target = self.target_if_any(options)
        return self.declared(self.seen(options, target), options)

    def read_machine(self, text: str, options: Options) -> Machine:
        """Return the machine of one document; an absent system or architecture is the running one's."""
        return self.read_document(text, options)[0]

    def read_document(self, text: str, options: Options) -> tuple[Machine, object]:
        """Return the machine of one document, and the ``request`` that stands beside it, if any."""
        from torchinstall.model.machine_json import machine_from_json
        from torchinstall.resolve.asked import loads

        try:
            document = loads(text)
        except (ValueError, RecursionError) as error:
            raise MachineFileError(
                f"the machine file isn't JSON: {error}", todo=["make one with `torchinstall detect --json`"]
            ) from None
        asked: object = None
        if isinstance(document, dict) and "machine" in document:
            asked = document.get("request")
            document = document["machine"]
        return self.declared(self.completed(machine_from_json(document)), options), asked

    def reported(self, options: Options) -> list[Machine]:
        """Return the machines that the texts of ``--report`` tell of; several files of text are one machine."""
        from torchinstall.probe.pasted import read_pasted

        texts = [self.read_report(name) for name in options.reports]
        plain = [text for text in texts if not text.lstrip().startswith(("{", "["))]
        whole = ["\n".join(plain)] if plain else []
        found = [
            machine
            for text in (*whole, *(text for text in texts if text not in plain))
            for machine in read_pasted(text, cards=self.catalog.card)
        ]
        if not found:
            raise MachineFileError(
                f"nothing in {', '.join(options.reports)} tells of a machine",
                why="it is no output of a tool that is known here",
                todo=[
                    "give what `torch.utils.collect_env`, nvidia-smi, rocminfo, npu-smi or `lspci -nn` printed there",
                    "or the output of `kubectl get nodes -o json` or `torchinstall detect --json`",
                ],
            )
        from torchinstall.resolve.declare import with_jetpack

        return [self.declared(self.completed(with_jetpack(machine, self.catalog)), options) for machine in found]

    def read_report(self, name: str) -> str:
        """Return the text of a report, ``-`` for standard input; what isn't UTF-8 in it is replaced."""
        import sys

        try:
            data = sys.stdin.buffer.read() if name == "-" else (self.cwd / name).read_bytes()
        except OSError as error:
            raise UsageError(f"the report {name} can't be read", why=str(error)) from None
        return data.decode("utf-16" if data[:2] in _UTF_16 else "utf-8", "replace")

    # What is decided

    def plan(self, options: Options, machine_text: str | None = None) -> Planned:
        """Return the plan for this machine, a declared one, or one from a document; changes nothing."""
        if machine_text is not None:
            machine, asked = self.read_document(machine_text, options)
            return self.planned(machine, options, None, asked=asked, elsewhere=True)
        target = self.target_if_any(options)
        machine = self.declared(self.seen(options, target, kept=True, asks=True), options)
        return self.planned(machine, options, target, elsewhere=options.sysroot is not None and target is None)

    def plan_lines(self, lines: Iterable[str], options: Options) -> Iterator[tuple[object, Plan | TorchInstallError]]:
        """Plan one JSON line after the other, by the catalogue alone."""
        from torchinstall.resolve.asked import plans

        return plans(
            lines,
            self.request(options, None, None),
            self.catalog,
            lambda machine: self.declared(self.completed(machine), options),
        )

    # The parts

    def client(self, *, offline: bool = False, cert: str | None = None, keep: bool = True) -> Client:
        """Return a client for indexes and files; pages are kept on disk (``keep``), and asked about each time."""
        from torchinstall.index.http import Client

        if offline:
            return Client(environ=self.environ, offline=True)
        if not keep:
            return Client(environ=self.environ, cert=cert)
        from torchinstall.catalog.locate import cache_dir
        from torchinstall.index.cache import PageCache

        return Client(environ=self.environ, cert=cert, cache=PageCache(cache_dir(self.environ) / "pages"))

    def target(self, options: Options, *, create: bool = False) -> Target:
        """Return the target environment. Raises ``UsageError`` where there is none."""
        from torchinstall.install.target import find_target

        return find_target(
            python=options.python,
            venv=options.venv,
            system=options.system,
            environ=self.environ,
            cwd=self.cwd,
            create=create,
        )

    def target_if_any(self, options: Options) -> Target | None:
        """Return the target for a plan, which needs none: a version is enough, or nothing at all."""
        if options.sysroot and not (options.venv or (options.python and _is_path(options.python))):
            return None  # nothing of the real machine shows on a fake one
        try:
            return self.target(options)
        except UsageError:
            if options.venv or options.system or (options.python and _is_path(options.python)):
                raise
            return None

    def seen(self, options: Options, target: Target | None, *, kept: bool = False, asks: bool = False) -> Machine:
        """Return what is seen. A fake machine has its own Python, unless a real environment is the target.

        ``kept``: what the target's Python answered before serves while nothing of it has changed. ``asks``: an
        index is asked after this, and what that takes may be loaded while other processes are waited for.
        """
        from torchinstall.probe.detect import detect
        from torchinstall.probe.system import real_system

        interpreter = target.python if target is not None else None
        meanwhile = _load_http if asks and not options.offline else None
        if options.sysroot:
            from torchinstall.probe.fake import fake_system
            from torchinstall.probe.target import TargetQuestion

            question = TargetQuestion(real_system(self.environ), interpreter) if interpreter is not None else None
            machine = detect(fake_system(self.cwd / options.sysroot), cards=self.catalog.card)
            if question is not None:
                if meanwhile is not None:
                    meanwhile()
                facts = question.answer()
                machine = machine.replace(
                    python=facts.python, installed=facts.installed, installed_by=facts.installed_by
                )
        else:
            from torchinstall.catalog.locate import cache_folder

            folder = cache_folder(self.environ) + "/targets" if kept else None
            machine = detect(
                real_system(self.environ), cards=self.catalog.card, python=interpreter, keep_in=folder,
                meanwhile=meanwhile,
            )  # fmt: skip
        if interpreter is None and options.python:
            from torchinstall.resolve.declare import python_version

            machine = machine.replace(python=python_version(options.python))
        if machine.jetson is not None:
            from torchinstall.resolve.declare import with_jetpack

            machine = with_jetpack(machine, self.catalog)
        if target is not None and not target.exists:
            # Nothing is installed in an environment that isn't there yet.
            machine = machine.replace(installed={}, installed_by={})
        return machine

    def completed(self, machine: Machine) -> Machine:
        """Return the machine with an absent system or architecture filled from the running one."""
        if machine.os.name is None or machine.arch is None:
            from torchinstall.probe.system import real_system

            system = real_system(self.environ)
            machine = machine.replace(
                os=machine.os if machine.os.name else machine.os.replace(name=system.os_name),
                arch=machine.arch or system.arch,
            )
        return machine

    def declared(self, machine: Machine, options: Options) -> Machine:
        """Return the machine with what the options declare laid over it."""
        from torchinstall.resolve.target import check_known

        if options.declares:
            from torchinstall.resolve.declare import Declaration, declared

            said = Declaration(
                gpus=options.gpus, drivers=options.drivers, os=options.os, arch=options.arch, glibc=options.glibc
            )
            machine = declared(machine, said, self.catalog)
        check_known(machine)
        return machine

    def planned(
        self,
        machine: Machine,
        options: Options,
        target: Target | None,
        *,
        constraints: tuple[Wish, ...] = (),
        asked: object = None,
        elsewhere: bool = False,
    ) -> Planned:
        """Return the plan, after a look at the pages that matter; ``constraints`` bind it beside the user's own.

        ``asked`` is the request that came with a machine document. ``elsewhere``: the machine isn't this one,
        so that of this one's settings only the default index counts.
        """
        from torchinstall.install.settings import Settings, read_settings
        from torchinstall.resolve.resolve import resolve

        if options.mirror:
            from torchinstall.resolve.mirrors import AUTO

            if options.mirror.lower() == AUTO:
                from torchinstall.app.mirror import fastest

                options = options.replace(mirror=fastest(self, machine, options, target))
        prefix = self.cwd / target.prefix if target is not None and target.prefix else None
        settings = read_settings(self.environ, cwd=self._cwd, prefix=prefix)
        if elsewhere:
            settings = Settings(default_index=settings.default_index, offline=settings.offline)
        request = self.request(options, settings, machine)
        request = request.replace(constraints=request.constraints + constraints)
        if asked:
            from torchinstall.resolve.asked import with_asked

            request = with_asked(request, asked, machine, self.catalog)
        sightings = self._look(machine, request, settings)
        plan = resolve(machine, request, self.catalog, sightings)
        if request.mirror:
            from torchinstall.resolve.mirrors import with_origin_hashes

            plan = with_origin_hashes(plan, sightings)
        return Planned(machine=machine, request=request, plan=plan, target=target, settings=settings)

    def _look(self, machine: Machine, request: Request, settings: Settings) -> Sightings:
        """Ask the pages that matter until the choice rests on pages that were asked; folders also offline."""
        from torchinstall.model.sighting import Sightings
        from torchinstall.resolve.pages import offline as no_network

        offline = request.offline
        if offline and not self._has_folders(request, settings):
            return Sightings(listings=no_network(self.catalog))
        from torchinstall.index.default import default_index
        from torchinstall.resolve.decision import Question as Asked
        from torchinstall.resolve.decision import decide
        from torchinstall.resolve.pages import OwnSources, pages

        own = OwnSources(
            default_index=settings.default_index or ("" if offline else default_index()),
            extra_indexes=settings.extra_indexes,
            find_links=settings.find_links,
            mirror=request.mirror,
            mirror_kind=request.mirror_kind,
        )
        client = None
        sightings = Sightings(listings=no_network(self.catalog) if offline else ())
        known: set[tuple[str, str]] = set()
        if "torch" in machine.installed:
            from torchinstall.resolve.beside import beside_installed

            request = beside_installed(machine, request, self.catalog, sightings)
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
            from torchinstall.index.look import Question, look

            # A page kept in a layer of an image would lie there for ever.
            keep = machine.container is None or not machine.container.build
            client = client or self.client(offline=offline, cert=settings.cert, keep=keep)
            asked = [
                Question(url=p.url, project=p.project, kind=p.kind, role=p.role, variant=p.variant) for p in wanted
            ]
            found = look(asked, limit_s=LOOK_LIMIT_S, session=client)
            sightings = Sightings(listings=sightings.listings + found)
        return sightings

    def _has_folders(self, request: Request, settings: Settings) -> bool:
        """Tell whether there may be a folder to look into without a network; the shipped data names none."""
        from torchinstall.catalog.locate import VARIABLE

        named = (request.mirror, settings.default_index, settings.extra_indexes, settings.find_links)
        return any(named) or bool(self.environ.get(VARIABLE))

    def request(self, options: Options, settings: Settings | None, machine: Machine | None) -> Request:
        """Return the request of these options, with the constraints that uv and pip are configured with."""
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
            data = (self.cwd / name).read_bytes()
            return data.decode("utf-16" if data[:2] in _UTF_16 else "utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{name} can't be read", why=str(error)) from None


def _load_http() -> None:
    from torchinstall.index.http import load

    load()


def _is_path(text: str) -> bool:
    return "/" in text or "\\" in text
