"""A plan as the lines that Poetry or PDM want in a project file, to be pasted in. Pure.

Both bind a package to a source by name: Poetry with ``priority = "explicit"``
(its documentation, "Repositories"), PDM with ``include_packages``.
"""

from __future__ import annotations

import json

from torchinstall.export.places import DEFAULT, named, needs_own_index, public, requirement, title
from torchinstall.index.location import canonical
from torchinstall.model.value import EMPTY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from torchinstall.model.plan import Plan


def poetry_text(plan: Plan, bound: Mapping[str, str] = EMPTY) -> str:
    """Return the sources and dependencies; ``bound`` are other packages that must come from an index."""
    names = _names(plan, bound)
    lines = _head(plan, "[tool.poetry.dependencies] names the source of what stands in [project] dependencies.")
    for url, name in names.items():
        lines += ["[[tool.poetry.source]]", f"name = {_q(name)}", f"url = {_q(url)}", 'priority = "explicit"', ""]
    lines.append("[tool.poetry.dependencies]")
    for pin in plan.packages:
        source = f", source = {_q(names[public(pin.index)])}" if pin.index != DEFAULT else ""
        extras = f", extras = {json.dumps(list(pin.extras))}" if pin.extras else ""
        lines.append(f"{canonical(pin.name)} = {{ version = {_q(pin.version)}{extras}{source} }}")
    for other, url in sorted(bound.items()):
        lines.append(f'{canonical(other)} = {{ version = "*", source = {_q(names[public(url)])} }}')
    return "\n".join(lines) + "\n"


def pdm_text(plan: Plan, bound: Mapping[str, str] = EMPTY) -> str:
    """Return the sources, and the dependencies as a group of their own."""
    names = _names(plan, bound)
    lines = _head(plan, "The pins go into [project] dependencies.")
    for url, name in names.items():
        inside = [canonical(pin.name) for pin in plan.packages if public(pin.index) == url]
        inside += [canonical(other) for other, place in sorted(bound.items()) if public(place) == url]
        lines += [
            "[[tool.pdm.source]]",
            f"name = {_q(name)}",
            f"url = {_q(url)}",
            f"include_packages = {json.dumps(inside)}",
        ]
        # Without this the rest would be looked for there too, and might be found in another version.
        lines += ['exclude_packages = ["*"]', ""]
    lines += ["[project]", "dependencies = [", *(f"  {_q(requirement(pin))}," for pin in plan.packages), "]"]
    return "\n".join(lines) + "\n"


def _names(plan: Plan, bound: Mapping[str, str]) -> dict[str, str]:
    urls = dict.fromkeys(
        public(url) for url in [*(pin.index for pin in plan.packages), *bound.values()] if url != DEFAULT
    )
    return {
        url: f"torchinstall-{canonical(plan.variant or 'torch')}" + (f"-{n}" if n > 1 else "")
        for n, url in enumerate(urls, 1)
    }


def _head(plan: Plan, how: str) -> list[str]:
    lines = [f"# {title(plan)}", f"# made by `torchinstall export`; data of {plan.catalog.date}", f"# {how}"]
    if needs_own_index(plan):
        lines.append(f"# What {named(plan.packages[0])} itself requires must come from the same source.")
    return [*lines, ""]


def _q(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
