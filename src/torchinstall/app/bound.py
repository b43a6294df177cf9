"""Which other packages must come from the index of the torch build: those that only it has right."""

from __future__ import annotations

from torchinstall.model.variant import XPU, backend

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.app.base import App, Planned
    from torchinstall.model.plan import Pin
    from torchinstall.model.sighting import WheelFile

_OWN_SOFTWARE = frozenset({"rocm", XPU})
"""Backends whose wheels require packages of their index (triton-rocm, rocm, oneAPI) under names that are free
for anybody on the default index."""


def bound_dependencies(app: App, planned: Planned) -> dict[str, str]:
    """Return the packages to bind to the torch build's index, by name; none where nothing of it was looked at."""
    plan = planned.plan
    if backend(plan.variant or "") not in _OWN_SOFTWARE:
        return {}
    by_index: dict[str, list[Pin]] = {}
    for pin in plan.packages:
        if pin.url and pin.kind == "simple" and pin.index not in {"default", "installed"}:
            by_index.setdefault(pin.index, []).append(pin)
    if not by_index:
        return {}
    from torchinstall.index.http import Client
    from torchinstall.index.requires import carried_dependencies
    from torchinstall.resolve.wishes import markers

    client = Client(environ=app.environ, offline=planned.request.offline)
    found: dict[str, str] = {}
    for index, pins in by_index.items():
        wheels = [wheel for pin in pins if (wheel := _wheel(pin)) is not None]
        extras = {pin.name: pin.extras for pin in pins}
        found.update(
            carried_dependencies(
                wheels, index, session=client, environment=markers(planned.machine), with_extras=extras
            )
        )
    return found


def _wheel(pin: Pin) -> WheelFile | None:
    from urllib.parse import unquote, urlsplit

    from torchinstall.index.wheelname import wheel_file

    filename = unquote(urlsplit(pin.url or "").path.rpartition("/")[2])
    return wheel_file(filename, pin.url or "")
