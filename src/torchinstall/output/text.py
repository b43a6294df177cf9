"""Machine, plan, verdict and error in one screen each."""

from __future__ import annotations

from torchinstall.model.plan import BLOCKED, INSTALL, SATISFIED, UNDETERMINED
from torchinstall.model.variant import CPU
from torchinstall.model.verdict import FAILED, PROVED
from torchinstall.model.version import numbers
from torchinstall.output.language import localized
from torchinstall.output.lines import BAD, GOOD, NOTE, PLAIN, QUIET, STRONG, Line, section

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from torchinstall.errors import TorchInstallError
    from torchinstall.model.machine import Gpu, Machine
    from torchinstall.model.plan import Alternative, Need, Plan, Rejection
    from torchinstall.model.verdict import Verdict


def machine_lines(machine: Machine, *, verbose: bool = False, plan: Plan | None = None) -> list[Line]:
    """Return what the machine is; ``verbose`` adds the source of each fact.

    What the ``plan`` that is shown below warns of isn't noted here as well.
    """
    lines = section("Machine", [_system(machine), *_box(machine)])
    if machine.gpus is None:
        lines.append(Line(text="accelerators: not known", style=NOTE))
    elif not machine.gpus:
        lines.append(Line(text="no accelerator"))
    lines += [Line(text=text, style=STRONG) for text in _gpu_lines(machine.gpus or ())]
    lines += [Line(text=text) for text in _drivers(machine)]
    if machine.installed:
        lines += section("Installed", [", ".join(f"{n} {v}" for n, v in sorted(machine.installed.items()))])
    if machine.environment and verbose:
        lines += section("Set", [f"{name}={value}" for name, value in sorted(machine.environment.items())], QUIET)
    lines += section("Note", _not_warned(machine.notes, plan), NOTE)
    if verbose:
        lines += section("Sources", _sourced(machine), QUIET)
    return lines


def _not_warned(notes: Sequence[str], plan: Plan | None) -> list[str]:
    """Return the notes about other variables than those that the plan warns of."""
    warned = [why.params for why in plan.warnings if "variable" in why.params] if plan is not None else []
    said = tuple(f"{params['variable']}={params['value']} " for params in warned)
    return [note for note in notes if not note.startswith(said)]


def _gpu_lines(gpus: Sequence[Gpu]) -> list[str]:
    """Return a line a card; neighbours of which the same is known share one."""
    lines: list[str] = []
    first = 0
    for number, gpu in enumerate(gpus):
        text = gpu_text(gpu)
        if number + 1 < len(gpus) and gpu_text(gpus[number + 1]) == text:
            continue
        numbers, count = (f"{number}", "") if first == number else (f"{first}-{number}", f"{number - first + 1} x ")
        lines.append(f"GPU {numbers}: {count}{text}")
        first = number + 1
    return lines


def _sourced(machine: Machine) -> list[str]:
    """Return each fact that has a source, with its value."""
    drivers = {"nvidia", "amd", "intel", "ascend"}
    lines = []
    for fact, source in sorted(machine.sources.items()):
        value: object = machine
        for part in fact.replace("[", ".").replace("]", "").split("."):
            if isinstance(value, tuple):
                value = value[int(part)] if part.isdecimal() and int(part) < len(value) else None
            elif part != "drivers" or not hasattr(value, "nvidia"):
                value = getattr(value, part, None)
            if part in drivers and value is None:
                break
        lines.append(f"{fact} = {value}   [{source}]" if value is not None else f"{fact}   [{source}]")
    return lines


def gpu_text(gpu: Gpu) -> str:
    """Return one accelerator in one line."""
    facts = []
    if gpu.compute_capability:
        facts.append(f"compute capability {gpu.compute_capability}")
    facts += [fact for fact in (gpu.gfx, gpu.soc, gpu.family) if fact]
    if gpu.memory_mib:
        facts.append(f"{gpu.memory_mib / 1024:.0f} GiB" if gpu.memory_mib >= 1024 else f"{gpu.memory_mib} MiB")  # noqa: PLR2004
    if gpu.mig:
        facts.append("MIG")
    if gpu.integrated:
        facts.append("integrated")
    if gpu.driver:
        facts.append(f"driver {gpu.driver}")
    if gpu.visible is False:
        facts.append("hidden")
    name = gpu.name or f"{gpu.vendor} {gpu.pci_id or 'accelerator'}"
    return f"{name} ({', '.join(facts)})" if facts else name


def plan_lines(plan: Plan, *, verbose: bool = False, lang: str = "en") -> list[Line]:
    """Return the decision: the choice with what decided, the nearest losers, what would change it."""
    plan = localized(plan, lang)
    lines: list[Line] = []
    if plan.outcome in {INSTALL, SATISFIED}:
        lines += _choice(plan)
        lines += section("Why", [said(r.text, r.source, verbose) for r in plan.why])
        lines += section("Needs", [need_text(need) for need in plan.needs if need.met is None], NOTE)
        lines += section("Set", [_setting(name, value) for name, value in plan.environment.items()], NOTE)
        if plan.fallback is not None:
            lines += section("Instead", [plan.fallback.text], NOTE)
        if plan.unreachable is not None:
            lines += section("Problem", [plan.unreachable.text], BAD)
            lines += section("Do", UNREACHABLE_TODO)
    elif plan.blocked is not None:
        heading = "Blocked" if plan.outcome == BLOCKED else "Unknown"
        lines += section(heading, [said(plan.blocked.text, plan.blocked.source, verbose)], BAD)
        if plan.outcome == UNDETERMINED:
            lines += section("Do", UNDETERMINED_TODO)
    lines += section("Warning", [warning.text for warning in plan.warnings], NOTE)
    for item in plan.per_device:
        text = f"torch {item.torch} {item.variant}" if item.torch else (item.reason.text if item.reason else "nothing")
        lines += section(f"GPU {item.gpu}", [f"alone: {text}" + (f"   ({item.hide})" if item.torch else "")])
    lost = plan.rejected if verbose else worth_telling(plan)
    lines += section(
        "Not", [f"{r.torch} {r.variant}: {said(r.reason.text, r.reason.source, verbose)}" for r in lost], QUIET
    )
    lines += section("Possible", [way_text(way) for way in plan.alternatives])
    return lines


UNDETERMINED_TODO = (
    'name the target: --gpu "RTX 4090" (or cc:8.9, gfx1100, 910B3), and --driver VERSION where you know it',
    "or name the wheel: --variant cu130; or say that there is no GPU: --cpu",
    'in a Dockerfile: RUN torchinstall --system --gpu "H100" torch, or ARG/ENV TORCHINSTALL_GPU',
)


_NOT_TOLD = frozenset(
    {"withdrawn", "backend", "not-cpu", "other-variant", "fallback-own", "fallback-own-older", "fallback-older"}
)
"""Rules that nobody asks about, or that the plan has said already."""


UNREACHABLE_TODO = (
    "try again, or look at the network and the proxy (HTTPS_PROXY)",
    (
        "--mirror URL takes the torch family from another server; a folder of wheels is used where uv or pip know it "
        "(UV_FIND_LINKS, PIP_FIND_LINKS)"
    ),
)


def worth_telling(plan: Plan) -> list[Rejection]:
    """Return the few losers that a reader asks about: the newest releases above the choice, one line each."""
    told: list[Rejection] = []
    seen: set[str] = set()
    for rejection in plan.rejected:
        if plan.torch and numbers(rejection.torch) <= numbers(plan.torch):
            break
        if rejection.torch in seen or rejection.reason.rule in _NOT_TOLD:
            continue
        seen.add(rejection.torch)
        told.append(rejection)
    return told[:3]


def summary(plan: Plan) -> str:
    """Return the plan in one line."""
    if plan.outcome in {INSTALL, SATISFIED}:
        return f"torch {plan.torch} ({plan.variant})"
    return plan.blocked.text if plan.blocked else plan.outcome


def verdict_lines(verdict: Verdict, *, verbose: bool = False) -> list[Line]:
    """Return what was proved, or the step that failed and its cause."""
    style = GOOD if verdict.outcome == PROVED else BAD if verdict.outcome == FAILED else NOTE
    heading = {PROVED: "Verified", FAILED: "Failed"}.get(verdict.outcome, "Unproven")
    lines = section(heading, [verdict.text], style)
    shown = [step for step in verdict.steps if verbose or step.state not in {"ok", "skipped"}]
    for step in shown:
        device = f" on {step.device}" if step.device else ""
        took = f" ({step.seconds:.2f} s)" if step.seconds is not None and verbose else ""
        detail = f": {step.detail}" if step.detail else ""
        lines.append(
            Line(text=f"{step.state} {step.name}{device}{took}{detail}", style=QUIET if step.state == "ok" else PLAIN)
        )
    if verbose or verdict.outcome != PROVED:
        lines += section("Warning", verdict.warnings, NOTE)
    lines += section("Do", verdict.todo)
    if verbose and verdict.tail and verdict.outcome != PROVED:
        lines += section("Output", verdict.tail.splitlines()[-15:], QUIET)
    return lines


def error_lines(error: TorchInstallError) -> list[Line]:
    """Return what was seen, why it fails, what to do next."""
    lines = section("Error", [error.what], BAD)
    if error.why:
        lines += section("Why", [error.why])
    lines += section("Do", error.todo)
    if error.details:
        lines += section("Output", error.details.rstrip().splitlines()[-12:], QUIET)
    return lines


def _choice(plan: Plan) -> list[Line]:
    verb = "Kept" if plan.outcome == SATISFIED else "Choice"
    texts = []
    last = None
    for pin in plan.packages:
        where = (
            ""
            if pin.index in {last, "installed"}
            else f" from {'the default index' if pin.index == 'default' else pin.index}"
        )
        last = pin.index
        version = pin.version
        if pin.index == "default" and pin.name == "torch" and plan.variant not in {"mps", None}:
            version = f"{pin.version} ({plan.variant})"
        texts.append(f"{pin.name} {version}{where}")
    lines = section(verb, texts, STRONG)
    if plan.variant == CPU:
        lines.append(Line(text="This is a CPU build: no accelerator will be used.", style=NOTE))
    if plan.other_packages:
        lines.append(Line(text=f"and {', '.join(plan.other_packages)}"))
    return lines


def need_text(need: Need) -> str:
    """Return something that the choice needs, in one line."""
    minimum = f" >= {need.minimum}" if need.minimum else ""
    return f"{need.what}{minimum}" + (f", {need.note}" if need.note else "")


def way_text(way: Alternative) -> str:
    """Return a way out, and what would have to change for it."""
    return f"torch {way.torch} {way.variant}, if {way.reason.text}"


def _setting(name: str, value: str) -> str:
    # A script to source is a command of its own; a variable is set by name.
    return value if value.startswith("source ") else f"{name}={value}"


def said(text: str, source: str, verbose: bool) -> str:
    """Return a sentence, with its source where it is wanted."""
    return f"{text} [{source}]" if verbose and source else text


def _system(machine: Machine) -> str:
    system = machine.os
    named = {"macos": "macOS", "windows": "Windows"}.get(system.name or "", "")
    version = system.version or ("" if named else system.name or "unknown system")
    parts = [f"{named} {version}".strip(), machine.arch or "unknown architecture"]
    if system.glibc:
        parts.append(f"glibc {system.glibc}")
    if system.musl:
        parts.append(f"musl {system.musl}")
    if system.wsl:
        parts.append("WSL2")
    python = machine.python
    if python.version:
        kind = f" ({python.environment})" if python.environment else ""
        threads = " free-threaded" if python.free_threaded else ""
        parts.append(f"Python {python.version}{threads}{kind}")
    if machine.declared:
        parts.append("declared")
    return ", ".join(parts)


def _box(machine: Machine) -> list[str]:
    texts = []
    box = machine.container
    # Of a machine that is only declared, the container that one sits in tells nothing.
    if box is not None and box.kind and not machine.declared:
        access = {True: ", a device is reachable", False: ", no device is reachable", None: ""}[box.gpu_access]
        texts.append(f"container: {box.kind}{', image build' if box.build else ''}{access}")
        if box.evidence:
            texts.append(f"seen: {'; '.join(box.evidence)}")
    if machine.jetson is not None:
        board = machine.jetson
        pack = f" (JetPack {board.jetpack})" if board.jetpack else ""
        texts.append(f"{board.model or 'Jetson'}: L4T {board.l4t or 'unknown'}{pack}")
    if machine.hpc:
        texts.append(f"cluster: {machine.hpc}")
    return texts


def _drivers(machine: Machine) -> list[str]:
    texts = []
    nvidia = machine.nvidia
    if nvidia is not None:
        parts = [f"NVIDIA driver {nvidia.version or 'unknown'}"]
        if nvidia.state and nvidia.state != "ok":
            parts.append(nvidia.state)
        if nvidia.cuda:
            parts.append(f"announces CUDA {nvidia.cuda}")
        if nvidia.kernel_module:
            parts.append(f"{nvidia.kernel_module} kernel module")
        if nvidia.libcuda and nvidia.libcuda != nvidia.cuda:
            parts.append(f"libcuda answers CUDA {nvidia.libcuda}")
        texts.append(", ".join(parts))
    if machine.amd is not None and any(machine.amd.__dict__.values()):
        texts.append(
            f"AMD: ROCm {machine.amd.rocm or 'not installed'}, amdgpu {machine.amd.amdgpu or 'in-tree'}"
            + _ailing(machine.amd.state)
        )
    if machine.intel is not None and machine.intel.kernel_module:
        texts.append(
            f"Intel: {machine.intel.kernel_module}, Level Zero {machine.intel.level_zero or 'unknown'}"
            + _ailing(machine.intel.state)
        )
    if machine.ascend is not None and any(machine.ascend.__dict__.values()):
        texts.append(
            f"Ascend: driver {machine.ascend.driver or 'unknown'}, CANN {machine.ascend.cann or 'unknown'}"
            + _ailing(machine.ascend.state)
        )
    return texts


def _ailing(state: str | None) -> str:
    return f", {state}" if state not in {None, "ok"} else ""
