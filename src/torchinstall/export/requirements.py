"""A plan as a requirements file for pip, or for uv. Pure.

The torch family is never left to the order of indexes: pip takes the highest
version of all that it is given (pip documentation, "Finding packages"), and so
a file with an extra index installs whatever is published last, anywhere.
"""

from __future__ import annotations

from torchinstall.export.places import named, needs_own_index, page, public, requirement, title, wheel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.model.plan import Plan

PIP = "pip"
UV = "uv"


def requirements_text(plan: Plan, *, flavour: str = PIP) -> str:
    """Return the file.

    pip's flavour names each wheel by its URL and hash, which uv reads too; uv's flavour has pins with hashes,
    which uv checks without asking for those of every dependency, as pip would. Where the wheels aren't known
    (offline, or no Python was named) both have pins that carry the variant, and the page that has them.
    """
    lines = [f"# {title(plan)}", f"# made by `torchinstall export`; data of {plan.catalog.date}", *body(plan, flavour)]
    return "\n".join(lines) + "\n"


def body(plan: Plan, flavour: str = PIP) -> list[str]:
    """Return the lines after the heading, options first."""
    options: list[str] = []
    pins: list[str] = []
    own = needs_own_index(plan)
    for pin in plan.packages:
        exact = wheel(pin, plan)
        where = page(pin)
        if own and where is not None:
            index = public(pin.index)
            options.append(f"--find-links {index}" if pin.kind != "simple" else f"--index-url {index}")
            pins.append(_with_hash(requirement(pin), pin.sha256, plan, flavour))
        elif exact is not None and flavour == PIP:
            digest = f"#sha256={pin.sha256}" if pin.sha256 else ""
            pins.append(f"{named(pin)} @ {exact}{digest}")
        else:
            options += [f"--find-links {where}"] if where is not None else []
            pins.append(_with_hash(requirement(pin), pin.sha256, plan, flavour))
    others = [] if own and "--index-url" in " ".join(options) else list(plan.others)
    return [*dict.fromkeys(options), *pins, *others]


def left_out(plan: Plan) -> tuple[str, ...]:
    """Return the requirements that don't fit into the same file, since it names another index for all of it."""
    return tuple(text for text in plan.others if text not in body(plan)) if needs_own_index(plan) else ()


def _with_hash(text: str, sha256: str | None, plan: Plan, flavour: str) -> str:
    # One hash makes pip ask for those of all dependencies; and a hash is one Python's wheel.
    if flavour != UV or sha256 is None or plan.python is None:
        return text
    return f"{text} --hash=sha256:{sha256}"
