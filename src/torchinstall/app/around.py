"""Round an installation: what is checked and said before it, what is written and said after it."""

from __future__ import annotations

from pathlib import Path

from torchinstall.model.plan import INSTALL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.app.base import App, Planned
    from torchinstall.app.install import Installed
    from torchinstall.install.backend import Installer, Job
    from torchinstall.install.preflight import Space
    from torchinstall.install.target import Target
    from torchinstall.model.options import Options


def installer(app: App, options: Options) -> Installer:
    """Return the back end that was asked for."""
    from torchinstall.catalog.locate import find_index_data
    from torchinstall.install.uv import Uv

    return Uv(app.environ, index_data=find_index_data())


def beforehand(app: App, planned: Planned, target: Target) -> list[str]:
    """Return what is good to know before anything changes, in words."""
    return []


def project_risks(app: App, planned: Planned, target: Target) -> list[str]:
    """Return the risky questions that the place of the environment asks."""
    return []


def needed_space(app: App, job: Job) -> Space | None:
    """Return what the installation takes."""
    return None


def afterwards(app: App, done: Installed, job: Job, options: Options) -> Installed:
    """Do and find what comes after success."""
    return done
