"""Clusters: which batch system's client commands are here. A login node has them and no card."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.probe.system import System

_CLIENTS = (
    ("slurm", ("sbatch", "srun", "sinfo")),
    ("lsf", ("bsub",)),
    ("sge", ("qconf",)),
    ("pbs", ("qsub", "pbsnodes")),
)


def batch_system(system: System) -> str | None:
    """Return slurm, lsf, sge or pbs by its client commands; ``None`` where there are none."""
    for name, commands in _CLIENTS:
        if any(system.which(command) for command in commands):
            return name
    return None
