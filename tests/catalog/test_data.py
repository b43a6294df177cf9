"""The shipped data: schemas, layout, sources, and what holds between the files."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from packaging.specifiers import SpecifierSet

from torchinstall.catalog.catalog import Catalog
from torchinstall.catalog.rows import CHOSEN_OFFLINE, STATUSES
from torchinstall.model.variant import backend, toolkit
from torchinstall.model.version import numbers

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "index_data"
FORMATTER = ROOT / "scripts" / "format_index_data.py"

FILES = sorted(p.relative_to(DATA).as_posix() for p in DATA.rglob("*.json") if p.parent.name != "schema")
CATALOG_FILES = [
    "arch.json", "cuda.json", "family.json", "gpus/amd.json", "gpus/intel.json", "gpus/nvidia.json", "gpus/others.json",
    "indexes.json",
    "macos.json", "advice.json", "migrations.json", *(name for name in FILES if name.startswith("releases/torch-")),
]  # fmt: skip
PLATFORMS = ("linux_x86_64", "linux_aarch64", "win_amd64", "win_arm64", "macos_arm64", "macos_x86_64")


def load(name: str) -> Any:
    return json.loads((DATA / name).read_text(encoding="utf-8"))


def schema_of(name: str) -> str:
    if name.startswith("releases/"):
        return "release"
    return name.removesuffix(".json").replace("/", "-")


def rows_of(item: Any) -> list[dict[str, Any]]:
    """All rows of a document: the objects in lists, releases and the like left out."""
    if isinstance(item, list):
        return [row for entry in item for row in rows_of(entry)]
    if isinstance(item, dict):
        inner = [row for value in item.values() if isinstance(value, list) for row in rows_of(value)]
        return inner or [item]
    return []


def test_all_files_are_there() -> None:
    assert {"meta.json", *CATALOG_FILES} <= set(FILES)
    assert [name for name in FILES if name.startswith(("releases/", "gpus/")) and name not in CATALOG_FILES] == []


@pytest.mark.parametrize("name", FILES)
def test_schema(name: str) -> None:
    schema = load(f"schema/{schema_of(name)}.schema.json")
    Draft202012Validator.check_schema(schema)
    faults = [
        f"{list(e.absolute_path)}: {e.message[:200]}" for e in Draft202012Validator(schema).iter_errors(load(name))
    ]
    assert faults == []


@pytest.mark.parametrize("path", sorted((DATA / "schema").glob("*.json")), ids=lambda p: p.stem)
def test_schemas_forbid_unknown_fields(path: Path) -> None:
    def objects(item: Any) -> list[dict[str, Any]]:
        found = [item] if isinstance(item, dict) and "properties" in item else []
        children = item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
        return found + [o for child in children for o in objects(child)]

    schema = json.loads(path.read_text(encoding="utf-8"))
    assert schema["$schema"].endswith("2020-12/schema")
    assert all(o["additionalProperties"] is False for o in objects(schema))


def test_schema_refuses_an_unknown_status() -> None:
    document = load("releases/torch-2.15.json")
    document["releases"][0]["builds"][0]["status"] = "sure"
    assert not Draft202012Validator(load("schema/release.schema.json")).is_valid(document)


def test_canonical_layout() -> None:
    done = subprocess.run(
        [sys.executable, FORMATTER, "--check"], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_formatter_names_what_is_out_of_order_and_mends_it(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    shutil.copy(DATA / "macos.json", folder)
    text = (folder / "macos.json").read_text(encoding="utf-8")
    (folder / "macos.json").write_text(json.dumps(json.loads(text)), encoding="utf-8")
    call = [sys.executable, str(FORMATTER), "--root", str(folder)]
    checked = subprocess.run([*call, "--check"], capture_output=True, text=True, timeout=60, check=False)
    assert (checked.returncode, checked.stdout) == (1, "not canonical: macos.json\n")
    assert subprocess.run(call, capture_output=True, timeout=60, check=False).returncode == 0
    assert (folder / "macos.json").read_text(encoding="utf-8") == text


@pytest.mark.parametrize("name", CATALOG_FILES)
def test_every_row_says_how_sure_whence_and_when(name: str) -> None:
    document = load(name)
    rows = rows_of([value for key, value in document.items() if key != "sources"])
    assert rows
    for row in rows:
        assert row["status"] in STATUSES, row
        assert row["source"] in document["sources"], row
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", row["checked"]), row
    named = {row[key] for row in rows for key in row if key == "source" or key.endswith("_source")}
    assert named == set(document["sources"]), "a source that no row names, or one that isn't explained"


def test_sources_are_for_readers() -> None:
    for name in CATALOG_FILES:
        for text in load(name)["sources"].values():
            assert not re.search(r"read_file|public source|tools/(meta|cc|rzip|measure|gpus)|raw/|/work|/root", text), (
                name,
                text,
            )


def test_releases_newest_first(catalog: Catalog) -> None:
    versions = [release.torch for release in catalog.releases]
    assert len(versions) == len(set(versions)) >= 28
    assert versions == sorted(versions, key=numbers, reverse=True)
    assert [v for v in versions if numbers(v) <= (2, 15, 0)][:4] == ["2.15.0", "2.14.1", "2.14.0", "2.13.0"]
    assert versions[-1] == "2.0.0"
    dates = {release.torch: release.date for release in catalog.releases}
    assert dates["2.15.0"] == "2026-10-28"
    assert all(release.date <= catalog.date for release in catalog.releases)


def test_releases_stand_in_the_file_of_their_minor() -> None:
    for name in FILES:
        if name.startswith("releases/"):
            minor = name.removeprefix("releases/torch-").removesuffix(".json")
            assert all(r["torch"].startswith(f"{minor}.") for r in load(name)["releases"])


def test_one_default_build_a_platform(catalog: Catalog) -> None:
    for release in catalog.releases:
        for platform in PLATFORMS:
            defaults = [b for b in release.builds if b.platform == platform and b.default]
            served = platform in {"linux_x86_64", "linux_aarch64", "win_amd64", "macos_arm64"} or (
                platform == "macos_x86_64" and release.torch < "2.3" and len(release.torch.split(".")[1]) == 1
            )
            assert len(defaults) == served, (release.torch, platform)
            assert all(b.status == "measured" and b.wheels and not b.inherited for b in defaults)


def test_cuda_builds_have_code_floor_and_index(catalog: Catalog) -> None:
    checked = 0
    for platform in PLATFORMS:
        for build in catalog.builds(platform):
            assert catalog.index_url(build.variant).startswith("https://download.pytorch.org/whl/")
            if backend(build.variant) != "cuda" or build.status not in CHOSEN_OFFLINE:
                continue
            arch = catalog.arch_list(build)
            assert arch is not None, build
            assert arch.sass
            assert catalog.cuda_floor(int(toolkit(build.variant).split(".")[0])) is not None, build
            checked += 1
    assert checked > 150


def test_every_variant_has_an_index_row(catalog: Catalog) -> None:
    variants = {b.variant for release in catalog.releases for b in release.builds}
    assert variants == {row["variant"] for row in load("indexes.json")["variants"]}


def test_local_parts(catalog: Catalog) -> None:
    for release in catalog.releases:
        for build in release.builds:
            if build.platform.startswith("macos"):
                assert build.local == ""
            elif build.variant == "cpu" and build.platform == "linux_aarch64":
                assert build.local in {None, "", "+cpu"}  # None: nobody has looked
            else:
                assert build.local == f"+{build.variant}"


def test_pythons_agree_with_requires_python(catalog: Catalog) -> None:
    for release in catalog.releases:
        allowed = SpecifierSet(release.requires_python)
        for build in release.builds:
            for tag in catalog.pythons(build):
                assert allowed.contains(f"3.{tag[3:].rstrip('t')}.99"), (build, tag)


def test_wheel_tags_are_of_the_platform(catalog: Catalog) -> None:
    ends = {
        "linux_x86_64": "_x86_64", "linux_aarch64": "_aarch64", "win_amd64": "win_amd64",
        "win_arm64": "win_arm64", "macos_arm64": "_arm64", "macos_x86_64": "_x86_64",
    }  # fmt: skip
    for release in catalog.releases:
        rows = [(b.wheels, b.platform) for b in release.builds]
        rows += [(c.wheels, p) for c in release.companions for p in c.platforms]
        for wheels, platform in rows:
            for wheel in wheels:
                assert wheel.platform.endswith(ends[platform])
                assert wheel.platform.startswith("macosx") == platform.startswith("macos")


def test_companions_belong_to_builds(catalog: Catalog) -> None:
    """A companion row is never surer than the build it goes with, and always for a build that may exist."""
    for release in catalog.releases:
        builds = {(b.variant, b.platform): b for b in release.builds}
        for row in release.companions:
            for variant in row.variants:
                for platform in row.platforms:
                    build = builds[variant, platform]
                    assert build.status != "withdrawn"
                    if row.status == "measured":
                        assert build.default, (release.torch, row)


def test_every_default_build_has_its_torchvision(catalog: Catalog) -> None:
    for release in catalog.releases:
        for build in release.builds:
            if build.default:
                rows = catalog.companions("torchvision", build)
                assert rows, build
                assert rows[0].status == "measured", build


def test_generations_cover_cards_and_code(catalog: Catalog) -> None:
    names = {row["name"] for row in load("cuda.json")["generations"]}
    for row in load("gpus/nvidia.json")["cards"]:
        generation = catalog.generation(row["compute_capability"])
        assert generation is not None, row
        assert row["generation"] in names, row
    for row in load("gpus/nvidia.json")["products"]:
        assert catalog.generation(row["compute_capability"]) is not None, row
    for row in load("cuda.json")["generations"]:
        assert all(re.fullmatch(r"\d+\.\d", capability) for capability in row["compute_capabilities"])


def test_card_ids_are_sorted_and_unique() -> None:
    for vendor in ("nvidia", "amd", "intel", "others"):
        ids = [row["id"] for row in load(f"gpus/{vendor}.json")["cards"]]
        assert len(ids) == len(set(ids))
        assert ids == sorted(ids)


def test_mps_floors_leave_no_gap(catalog: Catalog) -> None:
    assert {r.torch: (catalog.mps_floor(r.torch) or ("", ""))[0] for r in catalog.releases} == {
        r.torch: "14.0" if int(r.torch.split(".")[1]) >= 8 else "13.0" if int(r.torch.split(".")[1]) >= 5 else "12.3"
        for r in catalog.releases
    }


def test_no_registry_host_names() -> None:
    hosts = ("pypi" + ".org", "pythonhosted" + ".org")
    for path in DATA.rglob("*.json"):
        text = path.read_text(encoding="utf-8")
        assert not any(host in text for host in hosts), path
