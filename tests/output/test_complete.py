"""Every sentence for people has a Chinese one: what stands in the source is held against the tables."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest

from output.collected import PACKAGE, plain
from output.roots import sentences
from torchinstall.model.sentences import ENGLISH
from torchinstall.model.sentences_zh import WORDS
from torchinstall.output.messages import translated
from torchinstall.output.phrases_zh import HEADINGS, PHRASES

DATA = PACKAGE.parents[1] / "index_data"
HOLE = re.compile(r"(?<!\{)\{(\w*)\}(?!\})")
COMMANDS = re.compile(r"(torchinstall|uv|pip|sudo|docker|python) ")
SAME = {
    "### torchinstall doctor": "goes into an issue, which is read by maintainers",
    "- action: {}": "as above",
    "torchinstall plan": "a command",
    "torchinstall catalog show": "a command",
    "torchinstall catalog show {}": "a command",
    "torchinstall catalog refresh": "a command",
    "torchinstall catalog {}": "a command",
    "torchinstall torch": "a command",
    "torchinstall --venv {} torch": "a command",
    "torchinstall install --from {} --venv DIR": "a command",
    "pip install uv": "a command",
    "uv self update": "a command",
    "uv pip uninstall --python {} {}": "a command",
    "uv pip uninstall --python  {}": "a command",
    "sudo usermod -aG render,video $USER": "a command",
    "sudo usermod -aG render $USER": "a command",
    "sudo modprobe amdgpu": "a command",
    "torch {}+{}": "a build",
    "torch {} ({})": "a build",
    "`python -m torch.utils.collect_env`": "a command",
    "driver library": "a source of a fact, shown with -v",
    "kernel module file": "as above",
    "torch.amp.autocast('cuda', ...)": "code",
    "torch.amp.GradScaler('cuda', ...)": "code",
    "torch.amp.autocast('cpu', ...), torch.amp.GradScaler('cpu', ...)": "code",
    "torch.onnx.export(..., dynamo=True)": "code",
    "kDLCUDA, kDLCUDAHost": "code",
    "torch.utils.data.DataLoader, torchdata.nodes, StatefulDataLoader": "code",
    "{} on {}: ": "no reason is empty",
    "{} on {}: {}": "names; the reason is a sentence of its own",
    "{}; if the message names an index for torch  itself, it is wrong: there is no such wheel": "there is a release",
    "{} is {}": "a value and its place in a JSON document",
}
BY_HAND = {
    "argparse": (
        "unrecognized arguments: {}",
        "the following arguments are required: {}",
        "argument {}: expected one argument",
        "argument {}: expected at least one argument",
        "argument {}: invalid choice: {} (choose from {})",
        "argument {}: not allowed with argument {}",
        "argument {}: ignored explicit argument {}",
        "ambiguous option: {} could match {}",
    ),
    "the system's words for errors of files and connections": (
        "[Errno {}] {}",
        "Failed to resolve '{}' ([Errno {}] {})",
        "Name or service not known",
        "Temporary failure in name resolution",
        "Connection refused",
        "Connection reset by peer",
        "Connection timed out",
        "Network is unreachable",
        "No route to host",
        "[Errno {}] {}: {}",
        "No such file or directory",
        "Permission denied",
        "Is a directory",
        "Not a directory",
        "File exists",
        "No space left on device",
        "Read-only file system",
        "the file is read-only",
    ),
    "the script that runs in the target's Python (verify/_check_torch.py), and the line of one step": (
        "failed {}: {}",
        "failed {} on {}: {}",
        "skipped {}: {}",
        "skipped {} on {}: {}",
        "crashed {}",
        "crashed {} on {}",
        "this torch has no {}",
        "this build has no NCCL",
        "is_available() is {} and device_count() is {}",
        "wrong result: {} numbers instead of {}",
        "wrong result: number {} is {} instead of {}",
        "{} shared libraries, nothing missing",
    ),
    "values of verify/judge.py and verify/survey.py that fill sentences": (
        "the device",
        "the CPU",
        "unknown variant",
        "an older version",
        "it ended with {} and said nothing",
        "user site",
        "environment",
    ),
    "where a requirement comes from (app/draw_in.py)": ("what was planned before", "the needs of {}"),
    "rows and notes of the catalogue (app/catalog_show.py, app/survey.py, catalog/load.py)": (
        "{} (default index)",
        "no wheel known",
        "{} is of {}, older than the data that came with torchinstall",
        "couldn't be read into: {}",
        "its hash on the page isn't the one of the last refresh; it is read again",
        "on the default index, and no row says for which CANN it is",
    ),
    "cli/main.py, where little may be imported": ("the output can't be written: {}",),
    "a finding of a scan with what belongs to it (output/sarif.py)": (
        "{}; instead: {}",
        "{}; the code there is ready for it",
        "{} (torch {})",
    ),
    "what a plan needs, with its note (output/text.py: need_text)": (
        "amdgpu, {}",
        "librocdxg, {}",
        "adrenalin, {}",
        "level-zero, {}",
        "intel-graphics-driver, {}",
        "{} >= {}, {}",
    ),
    "a plan's heading": ("Kept",),
    "model.sentences, where the Chinese takes the advice in Chinese": (
        "{} is here, and PyTorch publishes no wheels for {}; take {}",
    ),
}
"""Entries whose English stands elsewhere, with where."""


@cache
def tables() -> dict[str, dict[str, str]]:
    return {path.name: json.loads(path.read_text("utf-8")) for path in (PACKAGE / "output" / "zh").glob("*.json")}


@cache
def table() -> dict[str, str]:
    return {english: chinese for one in tables().values() for english, chinese in one.items()}


def data() -> dict[str, str]:
    """Return the sentences in the data that reach a user."""
    found: dict[str, str] = {}

    def take(name: str, part: str, *keys: str) -> None:
        for row in json.loads((DATA / f"{name}.json").read_text("utf-8"))[part]:
            for key in keys:
                texts = row.get(key) or []
                for text in [texts] if isinstance(texts, str) else texts:
                    found.setdefault(plain(text), f"{name}.json: {row.get('id', row.get('name'))}")

    take("signatures", "rows", "cause", "remedy")
    take("verify_causes", "rows", "text", "todo")
    take("installer_errors", "rows", "text", "why", "todo")
    take("cuda", "tegra", "advice")
    take("vendors", "vendors", "advice")
    take("rocm", "access", "what", "note")
    take("xpu", "access", "what", "note")
    take("advice", "uses", "text")
    for path in (DATA / "releases").glob("*.json"):
        for release in json.loads(path.read_text("utf-8"))["releases"]:
            for warning in release.get("warnings", []):
                found.setdefault(plain(warning), path.name)
    take("migrations", "migrations", "replacement")
    for row in json.loads((DATA / "migrations.json").read_text("utf-8"))["migrations"]:
        for change in row["changes"].values():
            found.setdefault(change[1], f"migrations.json: {row['id']}")
    return found


def is_a_name(text: str) -> bool:
    """Tell whether there is nothing to translate: fields, options, and at most one word without a space round it."""
    bare = HOLE.sub("", text.replace("{{", "").replace("}}", "")).strip()
    words = [word for word in re.split(r"[\s`'\"()]+", bare) if re.search(r"[a-z]{2,}", word)]
    return not words or (" " not in bare) or all(re.match(r"--\w|https?:|/|[a-z]+[./_]|\d", word) for word in words)


def wanted() -> dict[str, str]:
    return {
        text: where for text, where in {**sentences(), **data()}.items() if not is_a_name(text) and text not in SAME
    }


def test_every_sentence_has_its_chinese() -> None:
    known = {plain(text) for text in (*ENGLISH.values(), *PHRASES, *HEADINGS, *WORDS)} | set(table())
    missing = {text: where for text, where in wanted().items() if text not in known}
    assert not missing, "\n".join(f"{where}: {text!r}" for text, where in missing.items())


def test_no_entry_is_stale() -> None:
    stale = set(table()) - set(sentences()) - set(data()) - {text for texts in BY_HAND.values() for text in texts}
    assert not stale, "\n".join(sorted(stale))


def test_an_entry_stands_in_one_file() -> None:
    assert sum(map(len, tables().values())) == len(table())


@pytest.mark.parametrize("name", sorted(tables()))
def test_fields_commands_and_numbers_are_the_same(name: str) -> None:
    marks = {
        "command": r"`[^`]+`",
        "option": r"(?<![\w-])--?[a-z][\w-]*",
        "variable": r"\b[A-Z][A-Z0-9]*_[A-Z0-9_]+",
        "file": r"/(?:dev|usr|proc|sys)/[\w*/.-]+|\b[\w/]+\.(?:toml|json|py|txt|so|sh)\b",
        "number": r"(?<![\w.])\d+(?:\.\d+)*",
    }
    wrong = []
    for english, chinese in tables()[name].items():
        count = len(HOLE.findall(english))
        if sorted(HOLE.findall(chinese), key=int) != [str(number) for number in range(count)]:
            wrong.append(f"fields: {english!r} -> {chinese!r}")
        for what, mark in marks.items():
            ours, theirs = (sorted(re.findall(mark, HOLE.sub("_", text))) for text in (english, chinese))
            if ours != theirs:
                wrong.append(f"{what}: {english!r} -> {chinese!r}: {ours} {theirs}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", sorted(tables()))
def test_chinese_is_written_as_chinese(name: str) -> None:
    """Full-width marks after Chinese, and a space between Chinese and Latin letters or digits."""
    bad = re.compile(
        r"[\u4e00-\u9fff][,;:!?()]|[,;!?()][\u4e00-\u9fff]|[\u4e00-\u9fff][A-Za-z0-9]|[A-Za-z0-9][\u4e00-\u9fff]"
    )
    wrong = [chinese for chinese in tables()[name].values() if bad.search(chinese)]
    assert not wrong, "\n".join(wrong)


def test_files_are_in_order() -> None:
    for path in (PACKAGE / "output" / "zh").glob("*.json"):
        text = path.read_text("utf-8")
        assert text == json.dumps(json.loads(text), ensure_ascii=False, indent=1, sort_keys=True) + "\n", path.name


def test_the_collector_sees_what_is_built_in_pieces() -> None:
    found = sentences()
    for text in (
        "{} can't be read",  # a field
        "torch {} isn't in the tables: nothing known speaks against it, and nothing proves it",  # by a variable
        "the last installation ({}), which had been stopped in the middle",  # alternatives inside one sentence
        "no Python found for --python {}",  # an argument of a helper
        "the kernel module amdgpu isn't loaded",  # a table
        "update the driver{}; if it must stay: {}",  # a sum
    ):
        assert text in found
    assert isinstance(Path(next(iter(found.values())).partition(":")[0]), Path)


def test_each_entry_is_found_by_its_english() -> None:
    """No other entry stands in its way: what is filled into the English comes out in the Chinese."""
    wrong = []
    for english, chinese in table().items():
        names = iter(range(20))
        text = plain_braces(HOLE.sub(lambda _hole: f"X{next(names)}", english))  # noqa: B023 - used at once
        expected = plain_braces(HOLE.sub(lambda hole: f"X{hole[1]}", chinese))
        if translated(text, "zh") != expected:
            wrong.append(f"{text!r} -> {translated(text, 'zh')!r}, not {expected!r}")
    assert not wrong, "\n".join(wrong)


def plain_braces(text: str) -> str:
    return text.replace("{{", "{").replace("}}", "}")
