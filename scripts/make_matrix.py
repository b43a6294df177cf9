#!/usr/bin/env python3
"""Writes docs/matrix.md and docs/matrix.svg: which torch fits which card with which driver.

Every cell is a plan, made by the resolver from index_data/ alone; nothing here knows a version of torch.

    scripts/make_matrix.py            prints what would change
    scripts/make_matrix.py --write    writes both files
    scripts/make_matrix.py --check    exit code 3 where the files aren't what the data says
"""

from __future__ import annotations

import argparse
import difflib
import html
import sys
from pathlib import Path
from typing import NamedTuple

from torchinstall.app.base import App
from torchinstall.errors import TorchInstallError
from torchinstall.model.machine import Machine, Os, Python
from torchinstall.model.options import Options

ROOT = Path(__file__).resolve().parent.parent

CARDS = (
    ("Kepler", "Tesla K80"),
    ("Maxwell", "GTX 970"),
    ("Pascal", "GTX 1080 Ti"),
    ("Volta", "V100"),
    ("Turing", "RTX 2080 Ti"),
    ("Ampere", "A100"),
    ("Ampere", "RTX 3090"),
    ("Ada", "RTX 4090"),
    ("Hopper", "H100"),
    ("Blackwell", "B200"),
    ("Blackwell", "RTX 5090"),
)
"""One card a row: what stands for its generation."""

DRIVERS = ("470", "525", "535", "550", "570", "575", "580", "590")
"""Driver branches; a bare branch stands for its newest release."""

OTHERS = (
    ("AMD", "Radeon VII, MI50", ("gfx906",)),
    ("AMD", "Instinct MI250X", ("gfx90a",)),
    ("AMD", "Instinct MI300X", ("gfx942",)),
    ("AMD", "Radeon RX 6800", ("gfx1030",)),
    ("AMD", "Radeon RX 7900 XTX", ("gfx1100",)),
    ("AMD", "Ryzen AI Max (Strix Halo)", ("gfx1151",)),
    ("AMD", "Radeon RX 9070 XT", ("gfx1201",)),
    ("Intel", "Arc A770", ("arc-a770",)),
    ("Intel", "Arc B580", ("arc-b580",)),
    ("Huawei", "Ascend 910B3", ("910B3",)),
)

NONE = "#eeeeee"
MACHINE = Machine(os=Os(name="linux", glibc="2.35"), arch="x86_64", python=Python(version="3.12.4"), gpus=())


class Cell(NamedTuple):
    """One plan: what is chosen, or the rule that stands against it."""

    torch: str = ""
    variant: str = ""
    why_not: str = ""

    @property
    def text(self) -> str:
        return f"{self.torch} {self.variant}" if self.torch else "-"


def cell(app: App, **declared: object) -> Cell:
    """Plan for a declared Linux machine, by the catalogue alone: no setting of this machine shows in the page."""
    from torchinstall.resolve.resolve import resolve

    options = Options(offline=True, **declared)  # type: ignore[arg-type]
    try:
        machine = app.declared(MACHINE, options)
        plan = resolve(machine, app.request(options, None, machine), app.catalog)
    except TorchInstallError as error:
        return Cell(why_not=error.what)
    if plan.torch and plan.outcome == "install":
        return Cell(plan.torch, plan.variant or "")
    return Cell(why_not=plan.blocked.text if plan.blocked else plan.outcome)


def table(app: App) -> list[tuple[str, str, list[Cell]]]:
    """Return the rows of the matrix."""
    return [
        (generation, card, [cell(app, gpus=(card,), drivers=(branch,)) for branch in DRIVERS])
        for generation, card in CARDS
    ]


def page(app: App, rows: list[tuple[str, str, list[Cell]]]) -> str:
    """Return the Markdown page."""
    lines = [
        "# Which torch for which card and driver",
        "",
        f"Made by `scripts/make_matrix.py` from the data of {app.catalog.date}: every cell is a plan for Linux on",
        "x86_64 with Python 3.12, by the shipped data alone. On your machine `torchinstall plan` says the same with",
        "its reasons; for Windows, another Python or a fleet see `torchinstall plan --help`.",
        "",
        "![Cards down, drivers across; the greener, the newer the torch that runs](matrix.svg)",
        "",
        "## NVIDIA",
        "",
        "| generation | card | " + " | ".join(f"driver {branch}" for branch in DRIVERS) + " |",
        "|---|---|" + "---|" * len(DRIVERS),
    ]
    lines += [
        f"| {generation} | {card} | " + " | ".join(one.text for one in cells) + " |" for generation, card, cells in rows
    ]
    lines += ["", "A dash: nothing that was published runs. Why:", ""]
    reasons: dict[tuple[str, str], list[str]] = {}
    for _, card, cells in rows:
        for branch, one in zip(DRIVERS, cells, strict=True):
            if one.why_not:
                why = one.why_not.replace(f"driver {branch} ", "the driver ")
                reasons.setdefault((card, why), []).append(branch)
    lines += [f"- {card}, driver {', '.join(branches)}: {why}" for (card, why), branches in reasons.items()]
    lines += ["", "## Others", "", "| maker | device | torch |", "|---|---|---|"]
    for maker, name, specs in OTHERS:
        one = cell(app, gpus=specs)
        lines.append(f"| {maker} | {name} (`{specs[0]}`) | {one.text if one.torch else one.why_not} |")
    lines += [
        "",
        "Apple silicon takes the plain macOS wheel, with MPS; a plan names the macOS that it needs.",
    ]
    return "\n".join(lines) + "\n"


def picture(rows: list[tuple[str, str, list[Cell]]]) -> str:
    """Return the same as a picture: one look says where the border runs."""
    wide, high, left, top = 92, 34, 210, 56
    width, height = left + wide * len(DRIVERS) + 10, top + high * len(rows) + 46
    versions = sorted({one.torch for _, _, cells in rows for one in cells if one.torch}, key=_numbers)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        '<g font-family="system-ui, sans-serif" font-size="12">',
        "<title>Newest torch that runs, by card and NVIDIA driver</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        '<text x="10" y="22" font-size="15" font-weight="600">Newest torch that runs, by card and NVIDIA driver</text>',
    ]
    for number, branch in enumerate(DRIVERS):
        out.append(
            f'<text x="{left + wide * number + wide / 2:.0f}" y="{top - 8}" text-anchor="middle">{branch}</text>'
        )
    for row, (generation, card, cells) in enumerate(rows):
        y = top + high * row
        out.append(f'<text x="10" y="{y + 21}">{html.escape(card)} <tspan fill="#777777">{generation}</tspan></text>')
        for number, one in enumerate(cells):
            x = left + wide * number
            title = html.escape(f"{card}, driver {DRIVERS[number]}: {one.text if one.torch else one.why_not}")
            out.append(
                f'<g><title>{title}</title><rect x="{x}" y="{y}" width="{wide - 3}" height="{high - 3}" rx="3"'
                f' fill="{_colour(one, versions)}"/>'
            )
            middle = x + (wide - 3) / 2
            if one.torch:
                out.append(
                    f'<text x="{middle:.0f}" y="{y + 13}" text-anchor="middle" font-weight="600">{one.torch}</text>'
                )
                out.append(
                    f'<text x="{middle:.0f}" y="{y + 26}" text-anchor="middle" font-size="10">{one.variant}</text>'
                )
            else:
                out.append(f'<text x="{middle:.0f}" y="{y + 20}" text-anchor="middle" fill="#999999">none</text>')
            out.append("</g>")
    x = left
    out.append(f'<text x="10" y="{height - 16}" fill="#555555">older torch to newer torch</text>')
    for version in versions:
        shade = _colour(Cell(version, "-"), versions)
        out.append(f'<rect x="{x}" y="{height - 30}" width="52" height="20" rx="3" fill="{shade}"/>')
        out.append(f'<text x="{x + 26}" y="{height - 16}" text-anchor="middle" font-size="10">{version}</text>')
        x += 55
    return "\n".join([*out, "</g>", "</svg>"]) + "\n"


def _colour(one: Cell, versions: list[str]) -> str:
    """Return a shade from sand to green: readable in grey too, since it also goes from light to dark."""
    if not one.torch:
        return NONE
    share = versions.index(one.torch) / max(len(versions) - 1, 1)
    old, new = (0xF3, 0xE3, 0xB3), (0x63, 0xB9, 0x8A)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in zip(old, new, strict=True))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def main(argv: list[str] | None = None) -> int:
    """Print, write or check."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--into", type=Path, default=ROOT / "docs", metavar="DIR")
    arguments = parser.parse_args(argv)
    # An environment of nothing: no setting of this machine may show in the page.
    app = App({}, arguments.into if arguments.into.is_dir() else ROOT)
    rows = table(app)
    made = {"matrix.md": page(app, rows), "matrix.svg": picture(rows)}
    differs = False
    for name, text in made.items():
        path = arguments.into / name
        was = path.read_text("utf-8") if path.is_file() else ""
        if was == text:
            continue
        differs = True
        if arguments.write:
            path.write_text(text, "utf-8")
        else:
            sys.stdout.writelines(difflib.unified_diff(was.splitlines(True), text.splitlines(True), name, name, n=0))
    return 3 if differs and arguments.check else 0


if __name__ == "__main__":
    sys.exit(main())
