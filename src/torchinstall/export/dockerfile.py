"""A plan as a minimal Dockerfile: the target is declared, since no card can be seen in a build. Pure."""

from __future__ import annotations

import shlex

from torchinstall.export.places import public, python_version, title

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from torchinstall.model.plan import Plan

_TEMPLATE = """\
# syntax=docker/dockerfile:1
# {title}
# made by `torchinstall export`; data of {date}
ARG BASE=python:{python}-slim
FROM ${{BASE}}

# The tool, in an environment of its own. Unquoted, so that it may hold options for pip.
ARG TORCHINSTALL=torchinstall
RUN python3 -m venv /opt/torchinstall \\
 && /opt/torchinstall/bin/python -m pip install --no-cache-dir --disable-pip-version-check ${{TORCHINSTALL}} \\
 && ln -s /opt/torchinstall/bin/torchinstall /usr/local/bin/torchinstall

# What the image is for: no card is there while it is built, and the builder's doesn't count.
{declared}
# Where it comes from, where that isn't the usual place.
{places}
RUN --mount=type=cache,target=/var/cache/torch \\
    UV_CACHE_DIR=/var/cache/torch/uv TORCHINSTALL_CACHE_DIR=/var/cache/torch/own UV_LINK_MODE=copy \\
    torchinstall --venv /opt/venv {requirements}

ENV VIRTUAL_ENV=/opt/venv
ENV PATH=/opt/venv/bin:${{PATH}}
{environment}
# Where the image runs, a real kernel tells whether card, driver and wheel fit each other:
# CMD ["sh", "-c", "torchinstall verify && exec python app.py"]
"""


def dockerfile_text(plan: Plan, *, gpus: Sequence[str] = (), drivers: Sequence[str] = (), mirror: str = "") -> str:
    """Return the Dockerfile. ``gpus`` and ``drivers`` are what the plan was declared for, where it was."""
    place = f"ARG TORCHINSTALL_MIRROR={_quoted(public(mirror))}" if mirror else "ARG TORCHINSTALL_MIRROR"
    pins = [f"{pin.name}=={pin.version.partition('+')[0]}" for pin in plan.packages]
    named = {"TORCHINSTALL_VARIANT": plan.variant or "", "TORCHINSTALL_GPU": ";".join(gpus)}
    named["TORCHINSTALL_DRIVER"] = ";".join(drivers)
    set_later = [
        f"ENV {name}={_quoted(value)}" for name, value in plan.environment.items() if not value.startswith("source ")
    ]
    scripts = [
        f"# before torch is imported: {value}" for value in plan.environment.values() if value.startswith("source ")
    ]
    return _TEMPLATE.format(
        title=title(plan),
        date=plan.catalog.date,
        python=python_version(plan),
        declared="\n".join(f"ARG {name}={_quoted(value)}" for name, value in named.items() if value),
        places="\n".join(
            [place, "ARG UV_DEFAULT_INDEX", *(f"# In your requirements file: {public(o)}" for o in plan.options)]
        ),
        requirements=" ".join(shlex.quote(text) for text in [*pins, *plan.other_packages]),
        environment="".join(f"{line}\n" for line in [*set_later, *scripts]),
    )


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$")
    return f'"{escaped}"'
