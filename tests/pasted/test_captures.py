"""Each file in captures/ is what a tool printed, written for these tests in the real format.

What must be read from it stands in expected.json: the whole machine, without its sources.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from torchinstall.model.machine_json import machine_from_json, machine_to_json
from torchinstall.probe.pasted import read_pasted

HERE = Path(__file__).resolve().parent
CAPTURES = sorted((HERE / "captures").iterdir())
EXPECTED = json.loads((HERE / "expected.json").read_text())


def told(machine):
    """Return the facts of a machine, without their sources and without what isn't known."""
    document = machine_to_json(machine)
    return {k: v for k, v in document.items() if k not in {"schema", "sources"} and v not in (None, {}, [])}


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name)
def test_capture(path, cards):
    machines = read_pasted(path.read_text(), cards=cards)
    assert [told(machine) for machine in machines] == EXPECTED[path.name]
    for machine in machines:
        document = machine_to_json(machine)
        assert machine_to_json(machine_from_json(json.loads(json.dumps(document)))) == document
        for number, gpu in enumerate(machine.gpus or ()):
            facts = {name for name, value in gpu.__dict__.items() if value is not None} - {"vendor"}
            assert [name for name in facts if f"gpus[{number}].{name}" not in machine.sources] == []


def test_nothing_is_expected_of_files_that_are_gone():
    assert set(EXPECTED) == {path.name for path in CAPTURES}


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name)
def test_as_forums_and_terminals_show_it(path, cards):
    """Quoted, indented, with line ends of Windows: the facts are the same."""
    plain = path.read_text()
    want = [told(machine) for machine in read_pasted(plain, cards=cards)]
    for text in (
        plain.replace("\n", "\r\n"),
        "".join(f"    {line}\n" for line in plain.splitlines()),
        "".join(f"> {line}\n" for line in plain.splitlines()),
        "\ufeff" + plain,
    ):
        assert [told(machine) for machine in read_pasted(text, cards=cards)] == want
