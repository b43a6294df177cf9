"""``--mirror auto``: the fastest source that really has the build, measured by its first bytes."""

from __future__ import annotations

import contextlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.app.base import App
    from torchinstall.catalog.mirrors import Mirror
    from torchinstall.index.http import Client
    from torchinstall.install.target import Target
    from torchinstall.model.machine import Machine
    from torchinstall.model.options import Options
    from torchinstall.model.plan import Pin

_LIMIT_S = 3.0
_SAMPLE = 1 << 18
"""Bytes of the wheel that are read from each source to measure it."""


def fastest(app: App, machine: Machine, options: Options, target: Target | None) -> str | None:
    """Return the name of the mirror to take, ``None`` where the PyTorch index itself is faster or none has the build.

    All of them are asked side by side, and none is waited for longer than a few seconds.
    """
    import queue
    import threading
    import time

    plan = app.planned(machine, options.replace(mirror=None), target).plan
    pins = [pin for pin in plan.packages if pin.index not in {"default", "installed"}]
    if not pins or plan.variant is None or options.offline:
        return None
    python = "".join((plan.python or "").rstrip("t").split(".")[:2])  # cp314 is also the first tag of cp314t wheels
    done: queue.SimpleQueue[tuple[float, str | None]] = queue.SimpleQueue()

    def measure(mirror: Mirror | None) -> None:
        client = app.client()
        if mirror is None:
            url = next((pin.url for pin in pins if pin.name == "torch"), None)
        else:
            url = _torch_url(mirror, pins, str(plan.variant), f"cp{python}", client)
        seconds = _seconds(url, client) if url else None
        done.put((float("inf") if seconds is None else seconds, mirror.name if mirror else None))

    contestants: list[Mirror | None] = [None, *app.catalog.mirrors]
    for mirror in contestants:
        threading.Thread(target=measure, args=(mirror,), daemon=True).start()
    deadline = time.monotonic() + 2 * _LIMIT_S
    results: list[tuple[float, str | None]] = []
    with contextlib.suppress(queue.Empty):
        while len(results) < len(contestants):
            results.append(done.get(timeout=max(0.0, deadline - time.monotonic())))
    timed = [result for result in results if result[0] != float("inf")]
    return min(timed, key=lambda result: result[0])[1] if timed else None


def _torch_url(mirror: Mirror, pins: list[Pin], variant: str, python: str, client: Client) -> str | None:
    """Return the address of torch on a mirror that has all the pins, else ``None``."""
    from torchinstall.index.look import Question, look

    url = mirror.url.replace("{variant}", variant)
    listings = look(
        [Question(url=url, project=pin.name, kind=mirror.kind, variant=variant) for pin in pins],
        limit_s=_LIMIT_S,
        session=client,
    )
    torch = None
    for pin, listing in zip(pins, listings, strict=True):
        names = {pin.url.rpartition("/")[2].replace("%2B", "+")} if pin.url else None
        fitting = [
            wheel
            for wheel in listing.wheels
            if (wheel.filename in names if names else wheel.version == pin.version and python in {*wheel.python, "cp"})
        ]
        if not fitting:
            return None
        if pin.name == "torch":
            torch = fitting[0].url
    return torch


def _seconds(url: str, client: Client) -> float | None:
    """Return how long the first bytes of a file take, ``None`` where it can't be read."""
    import time

    import requests

    began = time.monotonic()
    try:
        with client.session().get(
            url, headers={"Range": f"bytes=0-{_SAMPLE - 1}"}, timeout=_LIMIT_S, stream=True
        ) as answer:
            if not answer.ok:
                return None
            got = 0
            for chunk in answer.iter_content(1 << 15):
                got += len(chunk)
                if got >= _SAMPLE or time.monotonic() - began > _LIMIT_S:
                    break
    except (requests.RequestException, OSError, ValueError):
        return None
    return (time.monotonic() - began) / max(got, 1) * _SAMPLE
