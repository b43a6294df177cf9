"""Refreshed rows over shipped ones: merged by key, and taken whole or not at all."""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from torchinstall.catalog.catalog import Catalog
from torchinstall.catalog.load import FolderReader, load_catalog, overlaid
from torchinstall.catalog.locate import cache_dir, overlay_dir
from torchinstall.catalog.merge import merged, without_unused_sources
from torchinstall.catalog.overlay import base_url, overlay_name, stamp, stamp_file
from torchinstall.catalog.schema import check
from torchinstall.errors import CatalogError

DATA = Path(__file__).resolve().parents[2] / "index_data"
SHIPPED = FolderReader(DATA)
X86 = "linux_x86_64"
TAGS = {"manylinux_2_28_x86_64": ["cp312"]}


def row(variant: str, status: str = "published", **more) -> dict[str, Any]:
    return {
        "variant": variant, "platform": X86, "local": f"+{variant}", "status": status, "source": "page",
        "checked": "2026-12-01", "wheels": TAGS, **more,
    }  # fmt: skip


def companion(version: str, *variants: str, status: str = "published") -> dict[str, Any]:
    return {
        "name": "torchvision", "version": version, "variants": list(variants), "platforms": [X86], "status": status,
        "source": "page", "checked": "2026-12-01", "wheels": TAGS,
    }  # fmt: skip


def release(torch: str, *builds: dict, companions: tuple = (), **more) -> dict[str, Any]:
    return {
        "torch": torch, "date": "2026-12-01", "requires_python": ">=3.11", "yanked": False, "warnings": [],
        "builds": list(builds), "companions": list(companions), **more,
    }  # fmt: skip


def document(**releases: list[dict]) -> dict[str, Any]:
    documents: dict[str, Any] = {
        f"releases/torch-{minor}.json": {"schema": 1, "sources": {"page": "seen on a page"}, "releases": rows}
        for minor, rows in releases.items()
    }
    return {
        "schema": 1, "date": "2026-12-01", "index": base_url(SHIPPED), "documents": documents, "measured": [],
        "pages": [{"variant": "cu130", "project": "torch", "state": "seen", "checked": "2026-12-01"}],
    }  # fmt: skip


GOOD = document(
    **{
        "2.15": [
            release("2.15.0", row("cu130"), row("cu126"), companions=(companion("0.29.2", "cu130", "cpu"),)),
        ],
        "2.16": [
            release(
                "2.16.0",
                row("cu134", "measured", default=True),
                row("cu132"),
                companions=(companion("0.31.0", "cu134"),),
            ),
        ],
    }
)
GOOD["documents"]["arch.json"] = {
    "schema": 1, "sources": {"code": "measured in the wheel"},
    "arch_lists": [
        {
            "torch": "2.16.0", "variant": "cu134", "platform": X86, "sass": [80, 86], "status": "measured",
            "source": "code", "checked": "2026-12-01",
        },
    ],
}  # fmt: skip
GOOD["documents"]["indexes.json"] = {
    "schema": 1, "sources": {"page": "seen on a page"}, "indexes": [],
    "variants": [
        {"variant": "cu136", "path": "cu136", "status": "published", "source": "page", "checked": "2026-12-01"},
    ],
}  # fmt: skip


def load(folder: Path, content: object) -> Catalog:
    path = folder / "overlay.json"
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return overlaid(SHIPPED, path)


def build(catalog: Catalog, torch: str, variant: str, platform: str = X86):
    found = catalog.release(torch)
    assert found is not None
    return next(b for b in found.builds if (b.variant, b.platform) == (variant, platform))


# -- merging -------------------------------------------------------------------


def test_rows_are_laid_over_by_key(tmp_path) -> None:
    catalog = load(tmp_path, GOOD)
    assert catalog.refused == ""
    assert catalog.date == "2026-12-01"
    assert build(catalog, "2.15.0", "cu130").status == "published"
    assert build(catalog, "2.15.0", "cu130", "linux_aarch64").status == "unverified"
    assert build(catalog, "2.15.0", "cu132").status == "measured"
    assert build(catalog, "2.15.0", "cu126").status == "withdrawn"  # whatever an overlay says
    assert [r.torch for r in catalog.releases[:2]] == ["2.16.0", "2.15.0"]
    assert catalog.default_variant("2.16.0", X86) == "cu134"
    arch = catalog.arch_list(build(catalog, "2.16.0", "cu134"))
    assert arch is not None
    assert arch.sass == (80, 86)
    plain = load_catalog(DATA)
    assert catalog.release("2.14.1") == plain.release("2.14.1")
    assert catalog.card("10de:2684") == plain.card("10de:2684")
    assert catalog.index_url("cu130") == plain.index_url("cu130")


def test_a_companion_row_is_split_by_what_was_seen(tmp_path) -> None:
    catalog = load(tmp_path, GOOD)
    status = {
        variant: {c.version: c.status for c in catalog.companions("torchvision", build(catalog, "2.15.0", variant))}
        for variant in ("cu130", "cpu", "xpu", "cu132")
    }
    assert status["cu130"] == {"0.29.2": "published", "0.29.1": "declared"}
    assert status["cpu"]["0.29.2"] == "published"
    assert status["xpu"]["0.29.2"] == "unverified"
    assert status["cu132"]["0.29.2"] == "measured"


def test_sources_of_one_name_and_two_meanings(tmp_path) -> None:
    over = document(**{"2.15": [release("2.15.0", {**row("cu130"), "source": "wheel"})]})
    over["documents"]["releases/torch-2.15.json"]["sources"] = {"wheel": "something else altogether"}
    catalog = load(tmp_path, over)
    assert build(catalog, "2.15.0", "cu130").source == "something else altogether"
    assert build(catalog, "2.15.0", "cu132").source.startswith("measured: METADATA")


def test_merging_changes_neither_side() -> None:
    name = "releases/torch-2.15.json"
    shipped, over = SHIPPED.read(name), GOOD["documents"][name]
    before = copy.deepcopy((shipped, over))
    whole = without_unused_sources(merged(name, shipped, over))
    assert (shipped, over) == before
    check(whole, SHIPPED.read("schema/release.schema.json"), name)
    assert merged(name, whole, over)["releases"] == whole["releases"]  # once is enough


# -- whole or not at all -----------------------------------------------------------


def spoiled(change) -> dict[str, Any]:
    made = copy.deepcopy(GOOD)
    change(made, made["documents"]["releases/torch-2.15.json"]["releases"][0])
    return made


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda d, r: r["builds"][0].update(status="sure"), "sure"),
        (lambda d, r: r["builds"][0].update(variant="xyz"), "xyz"),
        (lambda d, r: r["builds"][0].update(source="nowhere"), "nowhere"),
        (lambda d, r: r["builds"][0].update(wheels={"win_amd64": ["cp31x"]}), "cp31x"),
        (lambda d, r: r["builds"].append(row("cu132x")), "cu132x"),
        (lambda d, r: r["builds"].append(row("cu129", default=True)), "two default builds"),
        (lambda d, r: r.update(torch="2.14.9"), "2.14.9"),
        (lambda d, r: r.pop("date"), "date"),
        (lambda d, r: r.update(surprise=1), "surprise"),
        (lambda d, r: d["documents"].update({"cuda.json": {}}), "cuda.json"),
        (lambda d, r: d["documents"].update({"../x.json": {}}), "x.json"),
        (lambda d, r: d.update(schema=2), "schema"),
        (lambda d, r: d.update(date="soon"), "soon"),
        (lambda d, r: d.update(index="https://evil.example/whl"), "evil.example"),
        (lambda d, r: d["documents"]["arch.json"]["arch_lists"][0].update(sass=[]), "sass"),
        (lambda d, r: d["documents"]["indexes.json"]["variants"][0].update(path="../../evil"), "evil"),
    ],
)
def test_one_wrong_row_refuses_all(tmp_path, change, told: str) -> None:
    catalog = load(tmp_path, spoiled(change))
    assert told in catalog.refused
    assert catalog.overlay is None
    assert catalog.releases == load_catalog(DATA).releases
    assert catalog.date == load_catalog(DATA).date


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b'{"schema": 1}', b"\xff\xfe", b"[" * 100_000, b'"x"'])
def test_what_is_no_overlay_at_all(tmp_path, content: bytes) -> None:
    catalog = load(tmp_path, content)
    assert catalog.refused.startswith("overlay.json")
    assert catalog.release("2.15.0") is not None


def test_an_older_overlay_gives_way(tmp_path) -> None:
    assert "older than the data" in load(tmp_path, {**GOOD, "date": "2026-01-01"}).refused


def test_a_stamp_saves_the_check_of_these_very_bytes_only(tmp_path) -> None:
    path = tmp_path / "overlay.json"
    wrong = json.dumps(spoiled(lambda d, r: r.update(surprise=1))).encode()
    stamp_file(path).write_text(stamp(json.dumps(GOOD).encode()))
    assert "surprise" in load(tmp_path, wrong).refused
    stamp_file(path).write_bytes(b"\xff")
    assert load(tmp_path, GOOD).refused == ""
    # With a stamp of its own only the loader's rules are left, and they hold for every row.
    broken = json.dumps(spoiled(lambda d, r: r["builds"][0].update(status="sure"))).encode()
    stamp_file(path).write_text(stamp(broken))
    assert "sure" in load(tmp_path, broken).refused


WORDS = st.sampled_from(["", "cu130", "2.15.0", "measured", "*", "torch", "variant", "x" * 30])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 200) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=4,
)


def paths_of(item: Any, here: tuple = ()) -> list[tuple]:
    children = item.items() if isinstance(item, dict) else enumerate(item) if isinstance(item, list) else ()
    return [here, *(path for key, child in children for path in paths_of(child, (*here, key)))]


@st.composite
def overlays(draw) -> Any:
    """A good overlay with something replaced, removed or doubled somewhere, a few times over."""
    made = copy.deepcopy(GOOD)
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(paths_of(made)))
        if not path:
            return draw(JSON)
        parent = made
        for key in path[:-1]:
            parent = parent[key]
        act = draw(st.sampled_from(["replace", "remove", "double"]))
        if act == "replace":
            parent[path[-1]] = draw(JSON)
        elif act == "remove":
            del parent[path[-1]]
        elif isinstance(parent, list):
            parent.append(copy.deepcopy(parent[path[-1]]))
    return made


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(overlays())
def test_any_overlay_is_right_in_every_row_or_refused_whole(tmp_path, made: Any) -> None:
    catalog = load(tmp_path, made)
    if catalog.overlay is None:
        assert catalog.refused
        assert catalog.releases == _plain().releases
        return
    for release_ in catalog.releases:
        for one in release_.builds:
            assert catalog.index_url(one.variant)
            catalog.arch_list(one)
            catalog.pythons(one)
            for name in ("torchvision", "torchaudio"):
                catalog.companions(name, one)
    assert build(catalog, "2.15.0", "cu126").status == "withdrawn"


_PLAIN: list[Catalog] = []


def _plain() -> Catalog:
    if not _PLAIN:
        _PLAIN.append(load_catalog(DATA))
    return _PLAIN[0]


@settings(max_examples=80, deadline=None)
@given(overlays())
def test_our_schema_check_says_what_jsonschema_says(made: Any) -> None:
    pairs = [(made, "overlay")]
    documents = made.get("documents") if isinstance(made, dict) else None
    for name, part in documents.items() if isinstance(documents, dict) else ():
        kind = "release" if name.startswith("releases") else name.removesuffix(".json")
        pairs.append((part, kind))
    for item, kind in pairs:
        if not (DATA / "schema" / f"{kind}.schema.json").is_file():
            continue  # a document of no kind that we have: refused for its name
        schema = SHIPPED.read(f"schema/{kind}.schema.json")
        try:
            check(item, schema, kind)
            ours = True
        except CatalogError:
            ours = False
        assert ours == Draft202012Validator(schema).is_valid(item)


@pytest.mark.parametrize("name", ["arch.json", "indexes.json", "releases/torch-2.15.json", "releases/torch-2.0.json"])
def test_our_schema_check_takes_the_shipped_files(name: str) -> None:
    kind = "release" if name.startswith("releases/") else name.removesuffix(".json")
    check(SHIPPED.read(name), SHIPPED.read(f"schema/{kind}.schema.json"), name)


# -- where it lies ---------------------------------------------------------------


def test_the_cache_folder(tmp_path) -> None:
    assert cache_dir({"TORCHINSTALL_CACHE_DIR": str(tmp_path)}) == tmp_path
    assert cache_dir({"XDG_CACHE_HOME": str(tmp_path)}) == tmp_path / "torchinstall"
    if os.name == "posix":
        assert cache_dir({"HOME": str(tmp_path)}).is_relative_to(tmp_path)
    assert overlay_dir({"XDG_CACHE_HOME": str(tmp_path)}) == tmp_path / "torchinstall" / "catalog"


def test_each_index_has_an_overlay_of_its_own() -> None:
    assert overlay_name("https://a.example/whl/") == overlay_name("https://a.example/whl")
    assert overlay_name("https://a.example/whl") != overlay_name("https://b.example/whl")
