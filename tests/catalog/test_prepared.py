"""The prepared form of the data says what the JSON files say, and gives way to them whenever they differ."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from torchinstall.catalog.catalog import Catalog
from torchinstall.catalog.load import FolderReader, load_catalog
from torchinstall.catalog.prepare import DOCUMENTS, FILE, SLACK_S, open_prepared, prepare

DATA = Path(__file__).resolve().parents[2] / "index_data"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("prepared") / "data"
    shutil.copytree(DATA, folder)
    (folder / FILE).write_bytes(prepare(load_catalog(folder), str(folder)))
    return folder


@pytest.fixture
def folder(source: Path, tmp_path: Path) -> Path:
    shutil.copytree(source, tmp_path / "data")
    return tmp_path / "data"


def both(folder: Path) -> tuple[Catalog, Catalog]:
    own = FolderReader(folder, own=True)
    assert own.prepared is not None
    return Catalog(own), Catalog(FolderReader(folder))


def test_both_forms_have_the_same_rows(source: Path) -> None:
    ready, plain = both(source)
    assert ready.releases == plain.releases
    assert [list(build.__dict__) for build in ready.releases[0].builds] == [
        list(build.__dict__) for build in plain.releases[0].builds
    ]
    platforms = {build.platform for release in plain.releases for build in release.builds}
    assert len(platforms) >= 6
    for platform in platforms:
        assert ready.builds(platform) == plain.builds(platform)
        for release in plain.releases:
            assert ready.default_variant(release.torch, platform) == plain.default_variant(release.torch, platform)
    assert ready.arch_lists() == plain.arch_lists()
    for build in plain.builds("linux_x86_64"):
        assert ready.arch_list(build) == plain.arch_list(build)
        for name in ("torchvision", "torchaudio"):
            assert ready.companions(name, build) == plain.companions(name, build)


def test_both_forms_have_the_same_tables(source: Path) -> None:
    ready, plain = both(source)
    for name in ("date", "yanked", "joint", "family", "dependents", "on_default", "mirrors", "rocm", "ascend", "xpu"):
        assert getattr(ready, name) == getattr(plain, name), name
    assert ready.cuda_floor(13) == plain.cuda_floor(13)
    assert ready.release("0.0.1") is None
    assert ready.builds("no_platform") == plain.builds("no_platform") == ()
    for name in DOCUMENTS:
        assert FolderReader(source, own=True).read(name) == FolderReader(source).read(name)


@pytest.mark.parametrize("name", ["releases/torch-2.15.json", "arch.json", "cuda.json"])
def test_a_changed_file_counts_at_once(folder: Path, name: str) -> None:
    path = folder / name
    path.write_text(path.read_text("utf-8") + " ", "utf-8")
    assert open_prepared(str(folder)) is None


def test_a_file_of_the_same_size_that_was_written_later_counts(folder: Path) -> None:
    path = folder / "arch.json"
    assert open_prepared(str(folder)) is not None
    later = (folder / FILE).stat().st_mtime + SLACK_S + 1
    os.utime(path, (later, later))
    assert open_prepared(str(folder)) is None


def test_a_release_file_that_is_added_counts(folder: Path) -> None:
    (folder / "releases" / "torch-9.9.json").write_text('{"schema": 1, "sources": {}, "releases": []}', "utf-8")
    assert open_prepared(str(folder)) is None
    assert "9.9" in FolderReader(folder, own=True).minors()


@pytest.mark.parametrize("damage", [b"", b"\0" * 40, b"{}", None])
def test_damage_leaves_the_json(folder: Path, damage: bytes | None) -> None:
    content = (folder / FILE).read_bytes()
    (folder / FILE).write_bytes(content[: len(content) // 2] if damage is None else damage)
    assert open_prepared(str(folder)) is None
    assert Catalog(FolderReader(folder, own=True)).releases


def test_data_of_the_users_own_are_read_as_they_are(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who copies the data to change a row isn't answered from the copy of what was prepared."""
    monkeypatch.setenv("TORCHINSTALL_INDEX_DATA", str(folder))
    path = folder / "meta.json"
    stamp = path.stat()
    path.write_text(path.read_text("utf-8").replace("2026-11-30", "2026-11-29"), "utf-8")
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert load_catalog().date == "2026-11-29"


def test_the_shipped_data_name_no_folder() -> None:
    """Without a network, only a user's own settings can name a folder to look into."""
    catalog = load_catalog(DATA)
    urls = [catalog.index_url("cu126"), *(row.build.index for row in catalog.rocm.builds)]
    assert all(url.startswith("https://") for url in urls)
