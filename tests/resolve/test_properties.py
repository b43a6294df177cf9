"""What holds for every machine: total, deterministic, and never a wheel that a card has no code for."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from torchinstall.catalog.catalog import Catalog
from torchinstall.catalog.load import load_catalog
from torchinstall.catalog.rows import CHOSEN_OFFLINE
from torchinstall.model.machine import Container, Gpu, Jetson, Machine, NvidiaDriver, Os, Python
from torchinstall.model.request import Request, Wish
from torchinstall.model.version import driver_at_least, numbers
from torchinstall.output.jsonout import dumps, plan_to_json
from torchinstall.resolve.decision import Question, decide
from torchinstall.resolve.resolve import resolve

CATALOG: Catalog = load_catalog()
CAPABILITIES = [
    "3.5",
    "3.7",
    "5.2",
    "6.0",
    "6.1",
    "7.0",
    "7.5",
    "8.0",
    "8.6",
    "8.9",
    "9.0",
    "10.0",
    "10.3",
    "12.0",
    "12.1",
]
DRIVERS = ["390.157", "450.80.02", "470.256.02", "525.60.13", "535.183.01", "550.54.15", "570.26", "575.57.08",
           "580.65.06", "580.95.05", "590.48.01", "610.47.04", "580", None]  # fmt: skip

nvidia = st.builds(
    Gpu,
    vendor=st.just("nvidia"),
    name=st.sampled_from([None, "GPU", "NVIDIA GeForce RTX 4090"]),
    compute_capability=st.sampled_from(CAPABILITIES),
    visible=st.sampled_from([None, True, False]),
    driver=st.sampled_from([None, "nvidia", "nouveau", "vfio-pci"]),
)
anything = st.builds(
    Gpu,
    vendor=st.sampled_from(["nvidia", "amd", "intel", "ascend", "apple", "hygon", "nobody"]),
    name=st.one_of(st.none(), st.text(max_size=12)),
    pci_id=st.sampled_from([None, "10de:2684", "1002:744c", "8086:e20b", "zzzz", ""]),
    compute_capability=st.one_of(st.none(), st.sampled_from([*CAPABILITIES, "x", "", "2.x"])),
    gfx=st.sampled_from([None, "gfx1100", "gfx906", "gfx"]),
    soc=st.sampled_from([None, "910B3"]),
    integrated=st.sampled_from([None, True, False]),
    visible=st.sampled_from([None, True, False]),
)
pythons = st.builds(
    Python,
    version=st.sampled_from([None, "3.6.9", "3.9.1", "3.10.14", "3.11.7", "3.12.4", "3.13.0", "3.14.0", "4.0.0", "x"]),
    free_threaded=st.sampled_from([None, True, False]),
    implementation=st.sampled_from([None, "CPython", "cpython", "PyPy"]),
    bits=st.sampled_from([None, 32, 64]),
)
machines = st.builds(
    Machine,
    os=st.builds(
        Os,
        name=st.sampled_from([None, "linux", "windows", "macos", "plan9"]),
        version=st.sampled_from([None, "13.6", "14.2", "Ubuntu 22.04"]),
        glibc=st.sampled_from([None, "2.17", "2.28", "2.39"]),
        musl=st.sampled_from([None, "1.2"]),
        wsl=st.sampled_from([None, True, False]),
    ),
    arch=st.sampled_from([None, "x86_64", "aarch64", "arm64", "ppc64le", "z80"]),
    python=pythons,
    gpus=st.one_of(st.none(), st.lists(anything, max_size=3).map(tuple)),
    nvidia=st.one_of(
        st.none(),
        st.builds(
            NvidiaDriver,
            version=st.sampled_from(DRIVERS),
            libcuda=st.sampled_from([None, "12.2", "13.0", "x"]),
            state=st.sampled_from([None, "ok", "missing", "nouveau", "no-device", "unknown", "odd"]),
        ),
    ),
    container=st.one_of(
        st.none(),
        st.builds(
            Container,
            kind=st.sampled_from([None, "docker"]),
            build=st.sampled_from([None, True, False]),
            gpu_access=st.sampled_from([None, True, False]),
            evidence=st.sampled_from([(), ("CUDA_VERSION",)]),
        ),
    ),
    jetson=st.one_of(st.none(), st.builds(Jetson, l4t=st.sampled_from([None, "36.4.3", "39.2"]))),
    hpc=st.sampled_from([None, "slurm"]),
    declared=st.booleans(),
    installed=st.sampled_from([{}, {"torch": "2.6.0+cu124"}, {"torch": "2.1.0+metax"}, {"torch": "weird"}]),
)
requests_ = st.builds(
    Request,
    wishes=st.lists(
        st.builds(
            Wish,
            name=st.sampled_from(["torch", "torchvision", "torchaudio"]),
            specifier=st.sampled_from(["", "==2.12.*", ">=2.14", "<2", "==0.26.0", "==99"]),
            variant=st.sampled_from([None, "cu124"]),
            text=st.just("wish"),
        ),
        max_size=3,
    ).map(tuple),
    variant=st.sampled_from([None, "cpu", "cu126", "cu999", "rocm7.2", "xpu", "nonsense"]),
    require_gpu=st.booleans(),
    upgrade=st.booleans(),
)
usual = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@usual
@given(machines, requests_)
def test_total_and_deterministic(machine: Machine, request: Request) -> None:
    plan = resolve(machine, request, CATALOG)
    assert plan.outcome in {"install", "satisfied", "blocked", "undetermined"}
    assert (plan.outcome in {"blocked", "undetermined"}) == (plan.blocked is not None)
    assert plan.exit_code == {"install": 0, "satisfied": 0, "blocked": 3, "undetermined": 4}[plan.outcome]
    once, twice = (dumps(plan_to_json(resolve(machine, request, CATALOG))) for _ in range(2))
    assert once == twice


def linux(gpus: tuple[Gpu, ...], driver: str | None) -> Machine:
    return Machine(
        os=Os(name="linux", glibc="2.35"),
        arch="x86_64",
        python=Python(version="3.11.7"),
        gpus=gpus,
        nvidia=NvidiaDriver(version=driver, state="ok"),
    )


@usual
@given(st.lists(nvidia, min_size=1, max_size=3).map(tuple), st.sampled_from(DRIVERS))
def test_the_choice_runs_on_every_card_that_counts(gpus: tuple[Gpu, ...], driver: str | None) -> None:
    plan = resolve(linux(gpus, driver), Request(), CATALOG)
    if plan.outcome != "install":
        return
    build = next(b for b in CATALOG.builds("linux_x86_64") if (b.torch, b.variant) == (plan.torch, plan.variant))
    assert build.status in CHOSEN_OFFLINE
    assert build.variant.startswith("cu"), "a machine with a usable card never gets a CPU build unasked"
    archs = CATALOG.arch_list(build)
    assert archs is not None
    assert plan.devices
    assert any(device.runs == "yes" for device in plan.devices)
    for device in plan.devices:
        gpu = gpus[device.gpu]
        if device.runs == "left-out":
            assert device.why
            continue
        major, minor = numbers(gpu.compute_capability or "")
        assert any(sm // 10 == major and sm % 10 <= minor for sm in archs.sass)
        assert gpu.driver not in {"nouveau", "vfio-pci"}
        assert gpu.visible is not False
        if driver is not None:
            floor = CATALOG.cuda_floor(int(build.variant[2:4]))
            assert floor is not None
            assert driver_at_least(driver, floor.linux or "0")


def fitting(gpus: tuple[Gpu, ...], driver: str | None) -> set[tuple[str, str]]:
    decision = decide(Question(machine=linux(gpus, driver), request=Request(), catalog=CATALOG))
    return {(c.build.torch, c.build.variant) for c in decision.candidates if c.why_not is None}


@usual
@given(st.sampled_from(CAPABILITIES), st.sampled_from(DRIVERS[:12]), st.sampled_from(DRIVERS[:12]))
def test_a_newer_driver_loses_no_variant_but_by_a_dropped_branch(cc: str, one: str, other: str) -> None:
    older, newer = sorted([one, other], key=numbers)
    card = (Gpu(vendor="nvidia", name="GPU", compute_capability=cc),)
    generation = CATALOG.generation(cc)
    dropped = generation.dropped_branch if generation else None
    if dropped and numbers(newer)[0] >= dropped:
        assert resolve(linux(card, newer), Request(), CATALOG).outcome == "blocked"
        return
    known = decide(Question(machine=linux(card, older), request=Request(), catalog=CATALOG)).selection.blocked is None
    if known:
        assert fitting(card, older) <= fitting(card, newer)


@usual
@given(st.lists(st.sampled_from(CAPABILITIES), min_size=1, max_size=2), st.sampled_from(CAPABILITIES))
def test_another_card_adds_no_candidate(capabilities: list[str], more: str) -> None:
    def cards(ccs: list[str]) -> tuple[Gpu, ...]:
        return tuple(Gpu(vendor="nvidia", name="GPU", compute_capability=cc) for cc in ccs)

    assert fitting(cards([*capabilities, more]), None) <= fitting(cards(capabilities), None)
