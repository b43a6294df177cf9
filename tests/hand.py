"""Machines and requests written by hand, for tests."""

from __future__ import annotations

from torchinstall.model.machine import Container, Gpu, Jetson, Machine, NvidiaDriver, Os, Python
from torchinstall.model.request import Request
from torchinstall.resolve.wishes import parse

FAMILY = ("torch", "torchvision", "torchaudio")


def nvidia(name: str, cc: str | None = None, **more: object) -> Gpu:
    return Gpu(vendor="nvidia", name=name, compute_capability=cc, **more)


GTX_1080 = nvidia("NVIDIA GeForce GTX 1080", "6.1")
GTX_1080_TI = nvidia("NVIDIA GeForce GTX 1080 Ti", "6.1")
V100 = nvidia("Tesla V100-SXM2-16GB", "7.0")
RTX_3090 = nvidia("NVIDIA GeForce RTX 3090", "8.6")
RTX_4090 = nvidia("NVIDIA GeForce RTX 4090", "8.9")
RTX_5090 = nvidia("NVIDIA GeForce RTX 5090", "12.0")
H100 = nvidia("NVIDIA H100 80GB HBM3", "9.0")
T4 = nvidia("Tesla T4", "7.5")
K80 = nvidia("Tesla K80", "3.7")
M3 = Gpu(vendor="apple", name="Apple M3", integrated=True)


def linux(
    *gpus: Gpu,
    driver: str | None = None,
    state: str = "ok",
    python: str | None = "3.12.4",
    arch: str = "x86_64",
    glibc: str | None = "2.35",
    **more: object,
) -> Machine:
    card = NvidiaDriver(version=driver, state=state) if driver or state != "ok" else None
    return Machine(
        os=Os(name="linux", glibc=glibc), arch=arch, python=Python(version=python), gpus=gpus, nvidia=card, **more
    )


def windows(*gpus: Gpu, driver: str | None = None, python: str = "3.12.4", **more: object) -> Machine:
    card = NvidiaDriver(version=driver, state="ok") if driver else None
    return Machine(os=Os(name="windows"), arch="x86_64", python=Python(version=python), gpus=gpus, nvidia=card, **more)


def mac(version: str, *gpus: Gpu, python: str = "3.12.4", arch: str = "arm64") -> Machine:
    return Machine(os=Os(name="macos", version=version), arch=arch, python=Python(version=python), gpus=gpus)


def want(*texts: str, **more: object) -> Request:
    parsed = parse(texts, FAMILY, origin="the command line")
    return Request(wishes=parsed.wishes, others=parsed.others, **more)


__all__ = ["Container", "Jetson", "linux", "mac", "want", "windows"]
