"""Everything that the rules of the diagnosis look at: machine, installed build, symptoms, and the plans."""

from __future__ import annotations

import re

from torchinstall.diagnose.guess import guesses, likely_plan, needs_card
from torchinstall.diagnose.installed import Installed, read_installed, readable
from torchinstall.model.finding import Symptom
from torchinstall.model.machine import Gpu, Machine, NvidiaDriver
from torchinstall.model.plan import INSTALL, SATISFIED, UNDETERMINED, Alternative, Plan, Reason
from torchinstall.model.request import Request
from torchinstall.model.sentences import reason
from torchinstall.model.variant import CPU, backend
from torchinstall.resolve.decision import Decision, Question, decide
from torchinstall.resolve.resolve import resolve
from torchinstall.resolve.target import target_of
from torchinstall.resolve.wishes import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.catalog.catalog import Catalog
    from torchinstall.model.plan import Rejection

COMPANIONS = ("torchvision", "torchaudio")
_VERSION = re.compile(r"\btorch\s{0,2}(==|~=)\s{0,2}(\d+\.\d+(?:\.\d+)?)(?:\+([a-z]\w{1,9}(?:\.\d{1,2})?))?")
_TOOL_OUTPUT = re.compile(
    r"PyTorch version:|Collecting environment information|NVIDIA-SMI \d|ROCk module|npu-smi \d|Driver Version *:|"
    r"^\s{0,8}[\[{]\s{0,8}\"schema\"",
    re.MULTILINE,
)
_COMPLAINT = re.compile(
    r"Traceback \(most recent|^\s{0,12}(?:\w{1,60}\.){0,6}[A-Z]\w{1,60}(?:Error|Warning|Exception):|^ERROR:|^error:",
    re.MULTILINE,
)


class Situation:
    """One report, or one environment. Plans are made when a rule first asks for them."""

    def __init__(
        self,
        machine: Machine,
        request: Request,
        catalog: Catalog,
        symptoms: tuple[Symptom, ...] = (),
        text: str = "",
    ) -> None:
        self.told = machine
        self.request = request
        self.catalog = catalog
        self.symptoms = symptoms
        self.text = text
        self.platform = target_of(machine).platform
        self.installed: Installed | None = read_installed(machine, self.platform, catalog)
        self.machine = self._completed(readable(machine))
        self._plans: dict[str, Plan] = {}
        self._decision: Decision | None = None
        self._preferred: Plan | None = None

    # Symptoms

    def symptom(self, *kinds: str) -> Symptom | None:
        """Return the first symptom of one of these kinds."""
        return next((s for s in self.symptoms if s.signature.kind in kinds), None)

    @property
    def complains(self) -> bool:
        """Whether the text tells of a failure; the bare output of a tool that describes a machine doesn't."""
        text = self.text
        if not text.strip():
            return False
        return _TOOL_OUTPUT.search(text) is None or _COMPLAINT.search(text) is not None

    # Machine

    @property
    def gpus(self) -> tuple[Gpu, ...]:
        """The accelerators; none where nobody has looked."""
        return self.machine.gpus or ()

    def vendors(self) -> set[str]:
        """Return the makers of the accelerators."""
        return {gpu.vendor for gpu in self.gpus}

    @property
    def windows_driver(self) -> bool:
        """Whether the NVIDIA driver is Windows' own: there, and in WSL."""
        return self.machine.os.name == "windows" or self.machine.os.wsl is True

    @property
    def driver_is_fixed(self) -> bool:
        """Whether the driver belongs to somebody else: a cluster's node, a pod of Kubernetes."""
        box = self.machine.container
        return bool(self.machine.hpc) or (box is not None and box.kind in {"kubernetes", "slurm"})

    @property
    def dependents(self) -> tuple[str, ...]:
        """Installed packages with compiled code for one CUDA major."""
        names = self.catalog.signatures.dependents
        return tuple(name for name in self.told.installed if name in names)

    # Plans

    def pinned(self) -> bool:
        """Tell whether the request fixes the version or the variant of torch."""
        return self.request.variant is not None or any(
            wish.name == "torch" and (wish.specifier or wish.variant) for wish in self.request.wishes
        )

    @property
    def newest(self) -> Plan:
        """The plan of a fresh start: the newest that fits this machine."""
        return self._plan("newest", Request())

    @property
    def asked(self) -> Plan:
        """The plan for what was asked for; the same as ``newest`` where nothing was."""
        return self._plan("asked", self.request.replace(upgrade=False)) if self.pinned() else self.newest

    @property
    def named(self) -> Plan | None:
        """The plan for the torch that the text asks for (``torch==2.6.0+cu126``), ``None`` where it names none."""
        match = _VERSION.search(self.text)
        if match is None:
            return None
        return self.plan_for(f"torch{match[1]}{match[2]}")

    @property
    def named_variant(self) -> str | None:
        """The variant in the torch that the text asks for."""
        match = _VERSION.search(self.text)
        return match[3] if match and match[3] and backend(match[3]) else None

    @property
    def named_version(self) -> str | None:
        """The version of the torch that the text asks for."""
        match = _VERSION.search(self.text)
        return match[2] if match else None

    @property
    def kept(self) -> Plan | None:
        """The plan that keeps the installed version of torch; ``None`` where none of its variants fits."""
        installed = self.installed
        if installed is None or installed.release is None or installed.pre or self.pinned():
            return None
        # A report without a card that has a build for one: what it is for stays as it is.
        lost = not self.gpus and backend(installed.variant or "") in {"cuda", "rocm", "xpu"}
        plan = self.plan_for(f"torch=={installed.release}", installed.variant if lost else None)
        return plan if plan.outcome == INSTALL else None

    def plan_for(self, requirement: str, variant: str | None = None) -> Plan:
        """Return the plan for one requirement, with the companions that are installed where they can be had."""
        wishes = parse([requirement], self.catalog.joint, origin="the report").wishes
        return self._plan(f"{requirement} {variant}", Request(wishes=wishes, variant=variant))

    @property
    def proposed(self) -> Plan:
        """The plan to propose: the installed version where it fits, with the newest among the alternatives."""
        if self._preferred is not None:
            return self._preferred
        kept, fresh = self.kept, self.asked
        if kept is None:
            return fresh
        if fresh.outcome not in {INSTALL, SATISFIED} or (fresh.torch, fresh.variant) == (kept.torch, kept.variant):
            return kept
        newer = Alternative(
            torch=fresh.torch or "", variant=fresh.variant or "", reason=reason("if-upgrade"), command="--upgrade"
        )
        return kept.replace(alternatives=(newer, *fresh.alternatives, *kept.alternatives)[:3])

    def prefer(self, plan: Plan) -> None:
        """Propose this plan: a rule has found what the report wanted."""
        self._preferred = plan

    # Judgements

    @property
    def why_not(self) -> Reason | None:
        """Why the installed build doesn't fit this machine by the tables; ``None`` where it does or isn't known."""
        found = self._candidate()
        return found.reason if found is not None else None

    @property
    def fits(self) -> bool:
        """Whether the tables know the installed build and have nothing against it."""
        installed = self.installed
        if installed is None or installed.release is None or installed.variant is None:
            return False
        decision = self._decided()
        return any(
            c.build.torch == installed.release and c.build.variant == installed.variant and c.why_not is None
            for c in decision.candidates
        )

    @property
    def accepted(self) -> bool:
        """Whether nothing in the tables speaks against the installed build on this machine.

        A build for cards is right on a machine that has none: it computes on the CPU.
        """
        why = self.why_not
        if why is None:
            return self.fits
        return why.rule == "status" or (why.rule == "backend" and self.told.gpus == ())

    def _candidate(self) -> Rejection | None:
        installed = self.installed
        if installed is None or installed.variant is None:
            return None
        from torchinstall.model.plan import Rejection

        if installed.release is None:
            # Only the variant is told: it doesn't fit where none of its releases does.
            same = [c for c in self._decided().candidates if c.build.variant == installed.variant]
            if same and all(c.why_not is not None for c in same) and same[0].why_not is not None:
                return Rejection(torch=same[0].build.torch, variant=installed.variant, reason=same[0].why_not)
            return None
        for candidate in self._decided().candidates:
            build = candidate.build
            if build.torch == installed.release and build.variant == installed.variant and candidate.why_not:
                return Rejection(torch=build.torch, variant=build.variant, reason=candidate.why_not)
        return None

    def _decided(self) -> Decision:
        if self._decision is None:
            # What is installed got in: whether this Python could be given it today is another question.
            settled = self._settled()
            python = settled.python.replace(version=None, free_threaded=None)
            system = settled.os.replace(glibc=None, version=None)
            bare = settled.replace(installed={}, installed_by={}, python=python, os=system)
            # Only that a CPU build is meant counts of the request: a card that is left unused is no fault then.
            meant = Request(variant=CPU) if self.request.variant == CPU else Request()
            self._decision = decide(Question(machine=bare, request=meant, catalog=self.catalog))
        return self._decision

    # How plans are made

    def _plan(self, key: str, request: Request) -> Plan:
        if key not in self._plans:
            self._plans[key] = self._made(request)
        return self._plans[key]

    def _made(self, request: Request) -> Plan:
        bare = self.machine.replace(installed={}, installed_by={})
        names = [name for name in COMPANIONS if name in self.told.installed and name in self.catalog.joint]
        wanted = {wish.name for wish in request.wishes}
        extra = parse([n for n in names if n not in wanted], self.catalog.joint, origin="what is installed").wishes
        if extra:
            torch = () if "torch" in wanted else parse(["torch"], self.catalog.joint, origin="what is installed").wishes
            plan = resolve(bare, request.replace(wishes=(*torch, *request.wishes, *extra)), self.catalog)
            if plan.outcome == INSTALL:
                return plan
        plan = resolve(bare, request, self.catalog)
        if plan.outcome == UNDETERMINED and plan.blocked is not None and plan.blocked.rule == "card-unknown":
            return likely_plan(bare, request, self.catalog) or plan
        return plan

    def _settled(self) -> Machine:
        """Return the machine with an unknown NVIDIA card taken for the widest set of cards."""
        unknown = needs_card(self.newest)
        return next(iter(guesses(self.machine, self.catalog)), self.machine) if unknown else self.machine

    def _card_in_text(self) -> str | None:
        return _card_of(self.symptom("capability-warning")) or _card_of(self.symptom("no-kernel"))

    def _completed(self, machine: Machine) -> Machine:
        """Return the machine with what the text itself tells of driver and card."""
        symptom = self.symptom("driver-old")
        api = symptom.group("api") if symptom else ""
        if not machine.gpus and machine.jetson is None and (symptom or self.symptom("capability-warning", "no-kernel")):
            # These texts are about an NVIDIA card, whether or not anybody has named it.
            machine = machine.replace(gpus=(Gpu(vendor="nvidia", name=self._card_in_text()),))
        driver = machine.nvidia
        if api and (driver is None or driver.version is None) and "nvidia" in {g.vendor for g in machine.gpus or ()}:
            known = [branch for number, branch in self.catalog.signatures.drivers if number <= int(api)]
            if known:
                cuda = f"{int(api) // 1000}.{int(api) % 1000 // 10}"
                said = NvidiaDriver(version=known[-1], cuda=cuda, state="ok")
                machine = machine.replace(nvidia=said)
        warned = self.symptom("capability-warning", "no-kernel")
        cc = (warned.group("cc") or _dotted(warned.group("sm"))) if warned else ""
        if cc and machine.gpus and all(g.compute_capability is None for g in machine.gpus if g.vendor == "nvidia"):
            # A card with a known name is what its name says; the text may be about another one.
            gpus = tuple(
                gpu.replace(compute_capability=cc)
                if gpu.vendor == "nvidia" and not (gpu.name and self.catalog.find_cards(gpu.name))
                else gpu
                for gpu in machine.gpus
            )
            machine = machine.replace(gpus=gpus)
        return machine


def _card_of(symptom: Symptom | None) -> str | None:
    return symptom.group("card").strip() or None if symptom is not None else None


def _dotted(sm: str) -> str:
    return f"{sm[:-1]}.{sm[-1]}" if sm else ""
