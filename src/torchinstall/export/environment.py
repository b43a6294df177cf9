"""A plan as a conda ``environment.yml``: Python from conda, the torch family by pip inside it. Pure."""

from __future__ import annotations

import json

from torchinstall.export.places import python_version, title
from torchinstall.export.requirements import body

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.model.plan import Plan


def environment_text(plan: Plan, *, name: str = "torch") -> str:
    """Return the file. ``pip:`` is a requirements file inside YAML: conda hands its lines to pip as they are."""
    lines = [
        f"# {title(plan)}",
        f"# made by `torchinstall export`; data of {plan.catalog.date}",
        "# No pytorch of a channel beside it: two builds in one environment overwrite each other.",
        f"name: {name}",
        "channels:",
        "  - conda-forge",
        "dependencies:",
        f"  - python={python_version(plan)}",
        "  - pip",
        "  - pip:",
        # A JSON string is a YAML string, whatever stands in it.
        *(f"      - {json.dumps(line, ensure_ascii=False)}" for line in body(plan)),
    ]
    lines += _variables(plan)
    return "\n".join(lines) + "\n"


def _variables(plan: Plan) -> list[str]:
    values = {name: value for name, value in plan.environment.items() if not value.startswith("source ")}
    return ["variables:", *(f"  {name}: {json.dumps(value)}" for name, value in values.items())] if values else []
