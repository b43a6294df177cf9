"""A program that uses the interface; checked by mypy --strict, never run."""

from __future__ import annotations

import torchinstall
from torchinstall import install
from torchinstall.model.machine import Machine
from torchinstall.model.plan import Plan


def fleet(machines: list[Machine]) -> list[Plan]:
    return [torchinstall.plan("torch", machine=machine, offline=True) for machine in machines]


def here() -> str:
    machine: Machine = torchinstall.detect()
    plan: Plan = torchinstall.plan("torch", "torchvision", gpu=["RTX 4090"], driver="580.95.05")
    done = install("torch", venv=".venv", yes=True)
    verdict = torchinstall.verify(venv=".venv")
    found = torchinstall.diagnose(verify=True)
    outcome: str = verdict.outcome
    action: str = found.action
    changed: bool = done.changed
    try:
        torchinstall.install(cpu=True)
    except torchinstall.TorchInstallError as error:
        return f"{error.what} {error.exit_code}"
    return f"{machine.arch} {plan.torch} {outcome} {action} {changed}"
