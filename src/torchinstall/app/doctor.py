"""Doctor: what is wrong, from the machine, the environment and texts of reports; changes nothing."""

from __future__ import annotations

import time

from torchinstall.errors import UsageError
from torchinstall.model.machine import Machine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from torchinstall.app.base import App
    from torchinstall.errors import TorchInstallError
    from torchinstall.model.finding import Diagnosis
    from torchinstall.model.options import Options

CHUNK = 1 << 20
READ_LIMIT_S = 10.0
"""Seconds for reading one report; what was read until then counts."""

_WHOLE = 2_000_000
"""Characters up to which a report is searched as a whole for a machine; of more, only its telling parts."""


def doctor_lines(
    app: App, lines: Iterable[str], options: Options
) -> Iterator[tuple[object, Diagnosis | TorchInstallError]]:
    """Diagnose one JSON line after the other, by the tables alone."""
    from torchinstall.diagnose.batch import diagnoses

    return diagnoses(
        lines,
        app.request(options, None, None),
        app.catalog,
        lambda machine: app.declared(app.completed(machine), options),
    )


def doctor_texts(app: App, options: Options, machine_text: str | None = None) -> list[Diagnosis]:
    """Diagnose a machine document, texts of reports, or both; one diagnosis a machine that they tell of."""
    from torchinstall.diagnose.doctor import diagnose

    texts = [read_report(app, name) for name in options.reports]
    request = app.request(options, None, None)
    joined = "\n".join(cleaned for _raw, cleaned in texts)
    if machine_text is not None:
        told = [(app.read_machine(machine_text, options), joined)]
    else:
        # What isn't told is filled in: the running machine's system, and what the options declare.
        told = [(app.declared(app.completed(machine), options), text) for machine, text in _machines(app, texts)]
    return [diagnose(machine, request, app.catalog, text=text) for machine, text in told]


def read_report(app: App, name: str) -> tuple[str, str]:
    """Return a report as it is (``""`` for a huge one) and its telling parts; ``-`` is standard input.

    Read in parts and for a limited time: a log of any size ends. Raises ``UsageError`` for a file that can't
    be read.
    """
    import sys

    from torchinstall.diagnose.text import Digest, decode

    kept, raw = Digest(), ""
    begin = time.monotonic()
    rest = b""
    try:
        stream = sys.stdin.buffer if name == "-" else (app.cwd / name).open("rb")
        try:
            encoding = ""
            while chunk := stream.read(CHUNK):
                if not encoding:
                    encoding = _encoding(chunk)
                data = rest + chunk
                cut = len(data) if encoding else max(data.rfind(b"\n") + 1, len(data) - 4)
                data, rest = (data, b"") if encoding else (data[:cut], data[cut:])
                text = data.decode(encoding, "replace") if encoding else decode(data)
                if kept.characters + len(text) <= _WHOLE:
                    raw += text
                kept.add(text)
                if time.monotonic() - begin > READ_LIMIT_S:
                    break
            if rest:
                text = decode(rest)
                raw += text
                kept.add(text)
        finally:
            if name != "-":
                stream.close()
    except OSError as error:
        raise UsageError(f"the report {name} can't be read", why=error.strerror or str(error)) from None
    return (raw if kept.characters <= _WHOLE else ""), kept.text()


def _encoding(head: bytes) -> str:
    """Return the encoding of a file that says it or shows it in its first bytes, else ``""``."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if head[:400].count(b"\0") > len(head[:400]) // 4:
        return "utf-16-le"
    return ""


def _machines(app: App, texts: Sequence[tuple[str, str]]) -> list[tuple[Machine, str]]:
    """Return the machines that the texts tell of, each with the text that is about it.

    Plain texts are read together, as parts of one machine, unless a tool's report begins in them more than
    once. Texts that tell of no machine are about an unknown one.
    """
    from torchinstall.diagnose.text import reports_in
    from torchinstall.probe.pasted import read_pasted

    cards = app.catalog.card
    documents = [raw for raw, _cleaned in texts if raw.lstrip().startswith(("{", "["))]
    plain = "\n".join(cleaned for raw, cleaned in texts if raw not in documents or not raw)
    found = [(machine, plain) for raw in documents for machine in read_pasted(raw, cards=cards)]
    for part in reports_in(plain):
        found += [(machine, part) for machine in read_pasted(part, cards=cards)]
    return found or [(Machine(), "\n".join(cleaned for _raw, cleaned in texts))]
