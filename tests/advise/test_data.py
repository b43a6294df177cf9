"""The rows behind advice: what a faulty row is told as, and what holds between the rows."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from packaging.specifiers import SpecifierSet

from torchinstall.advise.wording import ENGLISH as ENGLISH_WORDS
from torchinstall.advise.wording_zh import CHINESE
from torchinstall.catalog.advice import parse_advice
from torchinstall.catalog.catalog import Catalog
from torchinstall.errors import CatalogError
from torchinstall.model.advice import ERROR, NOTE, SEVERITIES
from torchinstall.model.sentences import ENGLISH
from torchinstall.model.version import numbers

DATA = Path(__file__).resolve().parents[2] / "index_data"
ADVICE = json.loads((DATA / "advice.json").read_text(encoding="utf-8"))
MIGRATIONS = json.loads((DATA / "migrations.json").read_text(encoding="utf-8"))


def rule(**changes: Any) -> Callable[[Any, Any], None]:
    return lambda advice, _: advice["rules"][0].update(changes)


def migration(**changes: Any) -> Callable[[Any, Any], None]:
    return lambda _, migrations: migrations["migrations"][0].update(changes)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (rule(verdict="perhaps"), r"advice\.json, rules row 1 .*: 'verdict' is 'perhaps'"),
        (rule(to="2.12"), r"'to' is '2\.12', which isn't a version specifier"),
        (rule(when={}), r"'when' isn't an object with conditions"),
        (rule(when={"colour": ["red"]}), r"a condition that isn't known: colour"),
        (rule(when={"vendor": "nvidia"}), r"a condition that isn't known: vendor"),
        (rule(when={"uses": ["magic"]}), r"names the use 'magic'"),
        (rule(source="hearsay"), r"'source' is 'hearsay'"),
        (rule(text=3), r"'text' is a number"),
        (lambda advice, _: advice["rules"].append(copy.deepcopy(advice["rules"][0])), r"stands there twice"),
        (lambda advice, _: advice["uses"].append(copy.deepcopy(advice["uses"][0])), r"stands there twice"),
        (lambda advice, _: advice.update(schema=2), r"advice\.json: 'schema' is 2"),
        (lambda _, migrations: migrations.pop("migrations"), r"migrations\.json: has no 'migrations'"),
        (migration(detect="smell"), r"migrations row 1 .*'detect' is 'smell'"),
        (migration(changes={}), r"'changes' isn't an object of versions"),
        (migration(changes={"2.x": ["error", "gone"]}), r"'changes' at '2\.x'"),
        (migration(changes={"2.9": ["fatal", "gone"]}), r"'changes' at '2\.9'"),
        (migration(changes={"2.9": "gone"}), r"'changes' at '2\.9'"),
        (migration(pattern="("), r"'pattern' isn't a regular expression"),
        (migration(flag="magic"), r"'flag' is 'magic'"),
        (migration(argument={"name": "x"}), r"'argument' needs"),
        (migration(names="torch.load"), r"'names' is a text"),
        (lambda _, m: m["migrations"].append(copy.deepcopy(m["migrations"][0])), r"stands there twice"),
    ],
)
def test_a_faulty_row_is_named(spoil: Callable[[Any, Any], None], message: str) -> None:
    advice, migrations = copy.deepcopy(ADVICE), copy.deepcopy(MIGRATIONS)
    spoil(advice, migrations)
    with pytest.raises(CatalogError, match=message):
        parse_advice(advice, migrations)


def test_conditions_name_what_exists(catalog: Catalog) -> None:
    generations = {g["name"] for g in json.loads((DATA / "cuda.json").read_text(encoding="utf-8"))["generations"]}
    migrations = {one.id for one in catalog.advice.migrations}
    for one in catalog.advice.rules:
        for name in one.when.get("generation", ()):
            assert any(have == name or have.startswith(name + " ") for have in generations), (one.id, name)
        for name in (*one.when.get("blocked_by", ()), *one.when.get("default_lost_by", ())):
            assert name in ENGLISH, (one.id, name)
        assert set(one.when.get("found", ())) <= migrations, one.id


def test_every_rule_is_about_releases_that_exist(catalog: Catalog) -> None:
    releases = [release.torch for release in catalog.releases]
    for one in catalog.advice.rules:
        assert any(SpecifierSet(one.to).contains(release) for release in releases), one.id
        assert not one.forbids or "uses" in one.when, one.id


def test_the_thresholds_of_the_resolver_stand_in_no_rule() -> None:
    """Driver floors and compute capabilities are the resolver's: a rule can only point at its reasons."""
    for one in ADVICE["rules"]:
        conditions = json.dumps(one["when"])
        assert "driver_" not in conditions, one["id"]
        assert "cc_" not in conditions, one["id"]
        if one["verdict"] == "must_not":
            assert one.get("forbids") or {"blocked_by", "blocked"} & set(one["when"]), one["id"]


def test_every_rule_is_said_in_chinese_with_the_same_parts(catalog: Catalog) -> None:
    for one in catalog.advice.rules:
        assert re.search("[\u4e00-\u9fff]", one.zh["text"]), one.id
        assert bool(one.zh["correction"]) == bool(one.correction), one.id
        assert (len(one.zh["before"]), len(one.zh["after"])) == (len(one.before), len(one.after)), one.id
        # Versions and commands are the same in both.
        english, chinese = (set(re.findall(r"\d+(?:\.\d+)+|cu\d+", text)) for text in (one.text, one.zh["text"]))
        assert english == chinese, one.id
    assert CHINESE.keys() == ENGLISH_WORDS.keys()


def test_changes_get_no_milder(catalog: Catalog) -> None:
    for one in catalog.advice.migrations:
        steps = [SEVERITIES.index(c.severity) for c in sorted(one.changes, key=lambda c: numbers(c.since))]
        assert steps == sorted(steps, reverse=True), one.id
        removed = [change for change in one.changes if change.severity == ERROR]
        assert len(removed) <= 1, one.id


def test_traps_are_notes(catalog: Catalog) -> None:
    assert {one.id for one in catalog.advice.rules if one.verdict == NOTE} == {
        one.id for one in catalog.advice.rules if one.id.startswith("T")
    }
