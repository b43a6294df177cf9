"""Results as a table, as JSON, as a page of docs/ and a part of the README, and as a plot."""

# ruff: noqa: E501, ISC004, PERF401, TC003 - text is read most easily line by line
from __future__ import annotations

from pathlib import Path

from timing import ROOT

BEGIN, END = "<!-- benchmark: begin -->", "<!-- benchmark: end -->"
SHORT = (
    "torchinstall --version", "plan --offline --machine FILE", "plan --offline, detected, target kept", "uv --version",
    "uv dry run, offline, of a package that is there", "uv dry run of torch, online", "plan of torch, online",
    "torchruntime", "gpu-installer",
    "light-the-torch",
)  # fmt: skip
"""What the README shows; names by their beginning."""

Results = dict


def lines(results: Results) -> list[str]:
    """Return the table for a terminal."""
    out = [_head(results), f"{'case':<52}{'x bare':>8}{'limit':>7}{'median ms':>11}{'min':>9}"]
    for row in results["cases"]:
        limit = f"{row['limit']:.1f}" if row.get("limit") else ""
        failed = f"   {row['failed']}" if row.get("failed") else ""
        out.append(
            f"{row['name']:<52}{row['ratio']:>8.2f}{limit:>7}{row['median_ms']:>11.1f}{row['min_ms']:>9.1f}{failed}"
        )
    for row in results["batch"]:
        out.append(f"{_batch_name(row):<52}{row['seconds']:>8.1f} s{row['peak_mib']:>9.0f} MiB")
    for name, value, limit in results["install"]:
        out.append(f"install, {name:<43}{value:>8.2f}   {limit}")
    for row in results["refresh"]:
        out.append(
            f"refresh, {row['case']:<43}{row['seconds']:>8.2f} s{row['requests']:>6} requests{row['bytes'] / 1e6:>7.1f} MB"
        )
    return out


def _head(results: Results) -> str:
    return (
        f"{results['date']}, Python {results['python']}, {results['cpus']} CPUs ({results['processor']}), "
        f"load {results['load']:.1f}; medians of {results['runs']} interleaved runs; "
        f"bare Python {results['unit_ms']:.1f} ms"
    )


def _batch_name(row: Results) -> str:
    kinds = "all different" if row["kinds"] == row["machines"] else f"{row['kinds']} kinds"
    return f"plan of {row['machines']:,} machine lines, {kinds}"


def markdown(results: Results, *, short: bool) -> str:
    """Return the table in Markdown, with date and machine above it."""
    rows = [row for row in results["cases"] if not short or row["name"].startswith(SHORT)]
    out = [_head(results) + ".", "", "| what | times bare Python | ms |", "|---|---|---|"]
    out += [f"| {row['name']} | {row['ratio']:.1f} | {row['median_ms']:.0f} |" for row in rows]
    if not short:
        out += ["", "| machines in one batch | seconds | memory of a process, at most |", "|---|---|---|"]
        out += [
            f"| {_batch_name(row)} | {row['seconds']:.1f} | {row['peak_mib']:.0f} MiB |" for row in results["batch"]
        ]
        if results["install"]:
            out += ["", "| install, beside bare uv with the same pins | | meant |", "|---|---|---|"]
            out += [f"| {name} | {value:.2f} | {limit} |" for name, value, limit in results["install"]]
        if results["refresh"]:
            out += ["", "| catalogue refresh | seconds | requests | MB |", "|---|---|---|---|"]
            out += [
                f"| {row['case']} | {row['seconds']:.2f} | {row['requests']} | {row['bytes'] / 1e6:.1f} |"
                for row in results["refresh"]
            ]
    else:
        largest = [row for row in results["batch"] if row["kinds"] == row["machines"]][-1:]
        out += [f"| {_batch_name(row)} | {row['seconds']:.0f} s | {row['peak_mib']:.0f} MiB |" for row in largest]
    return "\n".join(out)


def write_between(path: Path, text: str) -> None:
    """Put a text between the markers of a page. Raises ``ValueError`` where it has none."""
    page = path.read_text("utf-8")
    before, _, rest = page.partition(BEGIN)
    _, mark, after = rest.partition(END)
    if not mark:
        raise ValueError(f"{path} has no {BEGIN} ... {END}")
    path.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", "utf-8")


def write_pages(results: Results) -> None:
    """Renew docs/benchmark.md with its plot, and the table of the README."""
    write_between(ROOT / "docs" / "benchmark.md", markdown(results, short=False))
    write_between(ROOT / "README.md", markdown(results, short=True))
    (ROOT / "docs" / "benchmark.svg").write_text(plot(results), "utf-8")


_LEFT, _WIDTH, _ROW = 330, 420, 22


def plot(results: Results) -> str:
    """Return bars of all cases in units of bare Python, as SVG; ours dark, the others' light."""
    from html import escape

    rows = [row for row in results["cases"] if not row.get("failed")]
    most = max(row["ratio"] for row in rows)
    height = _ROW * len(rows) + 46
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_LEFT + _WIDTH + 80} {height}" '
        'font-family="sans-serif" font-size="12">',
        f'<text x="8" y="18">times bare Python ({results["unit_ms"]:.0f} ms), {results["date"]}; less is better</text>',
    ]
    for number, row in enumerate(rows):
        top = 30 + number * _ROW
        # Square roots: bars of 1 and of 100 on one page, both to be seen.
        length = _WIDTH * (row["ratio"] / most) ** 0.5
        out.append(f'<text x="{_LEFT - 8}" y="{top + 13}" text-anchor="end">{escape(row["name"])}</text>')
        out.append(
            f'<rect x="{_LEFT}" y="{top}" width="{length:.1f}" height="16" fill="{"#1f6f54" if row["ours"] else "#c4c4c4"}"/>'
        )
        out.append(f'<text x="{_LEFT + length + 6:.1f}" y="{top + 13}">{row["ratio"]:.1f}</text>')
    out.append(f'<text x="8" y="{height - 6}" fill="#666">lengths are square roots</text></svg>')
    return "\n".join(out) + "\n"
