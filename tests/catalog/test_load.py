"""Finding and reading the data: laziness, look-ups on data of our own, and every way a file can be broken."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from torchinstall.catalog.catalog import Catalog
from torchinstall.catalog.load import FolderReader, load_catalog
from torchinstall.catalog.locate import find_index_data
from torchinstall.errors import EXIT_USAGE, CatalogError

Data = dict[str, Any]
Write = Callable[[Data], Path]
RELEASES = "releases/torch-9.9.json"


class Counting(FolderReader):
    """A reader that remembers what was read."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.names: list[str] = []

    def read(self, name: str) -> Any:
        self.names.append(name)
        return super().read(name)


# -- where ---------------------------------------------------------------------


def test_the_checkout_has_its_data() -> None:
    folder = find_index_data()
    assert folder.name in {"index_data", "_index_data"}
    assert load_catalog().date == json.loads((folder / "meta.json").read_text(encoding="utf-8"))["date"]


def test_environment_replaces_the_data(small_data: Data, write_data: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_data(small_data)
    monkeypatch.setenv("TORCHINSTALL_INDEX_DATA", str(folder))
    assert find_index_data() == folder
    assert [release.torch for release in load_catalog().releases] == ["9.10.0", "9.9.0"]


def test_environment_that_names_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHINSTALL_INDEX_DATA", str(tmp_path / "none"))
    with pytest.raises(CatalogError, match="TORCHINSTALL_INDEX_DATA names") as caught:
        find_index_data()
    assert caught.value.todo
    assert caught.value.exit_code == EXIT_USAGE


def test_import_touches_no_data_and_stays_light() -> None:
    code = (
        "import sys; import torchinstall.catalog.load as load; load.load_catalog().card('10de:2684');"
        "print(sorted({'requests', 'rich', 'jsonschema', 'resolvelib', 'dataclasses'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"


# -- laziness ------------------------------------------------------------------


def test_files_are_read_when_asked_for_and_once(small_data: Data, write_data: Write) -> None:
    reader = Counting(write_data(small_data))
    catalog = Catalog(reader)
    assert reader.names == ["meta.json"]
    catalog.release("9.10.0")
    assert reader.names[1:] == ["releases/torch-9.10.json"]
    catalog.card("10de:2684")
    catalog.card("10de:ffff")
    assert reader.names[2:] == ["gpus/nvidia.json"]
    for _ in range(2):
        for build in catalog.builds("linux_x86_64"):
            catalog.arch_list(build)
            catalog.companions("torchvision", build)
    assert sorted(reader.names) == sorted(set(reader.names))


# -- look-ups ------------------------------------------------------------------


@pytest.fixture
def own(small_data: Data, write_data: Write) -> Catalog:
    return load_catalog(write_data(small_data))


def test_versions_are_compared_as_numbers(own: Catalog) -> None:
    assert [release.torch for release in own.releases] == ["9.10.0", "9.9.0"]
    assert [c.version for c in own.companions("torchvision", own.builds("linux_x86_64")[0])] == ["1.10.0", "1.9.0"]


def test_a_star_pairs_with_every_variant(own: Catalog) -> None:
    assert [c.version for c in own.companions("torchvision", own.builds("linux_x86_64")[1])] == ["1.9.0"]


def test_wheel_tags_are_inherited_and_ordered(own: Catalog) -> None:
    default, other = own.builds("linux_x86_64")
    assert (other.variant, other.inherited, other.wheels) == ("cu126", True, default.wheels)
    assert own.pythons(other) == ("cp310", "cp312", "cp313", "cp313t")


def test_sources_are_given_in_full(own: Catalog) -> None:
    assert own.builds("linux_x86_64")[0].source == "read out of the wheel"


def test_an_inherited_list_is_declared_at_best(own: Catalog) -> None:
    build = own.builds("linux_x86_64")[0].replace(platform="win_amd64")
    arch = own.arch_list(build)
    assert arch is not None
    assert (arch.platform, arch.inherited_from, arch.status, arch.sass) == (
        "win_amd64",
        "linux_x86_64",
        "declared",
        (75, 80),
    )


def test_an_inherited_list_is_no_surer_than_its_origin(small_data: Data, write_data: Write) -> None:
    small_data["arch.json"]["arch_lists"][0]["status"] = "unverified"
    catalog = load_catalog(write_data(small_data))
    arch = catalog.arch_list(catalog.builds("linux_x86_64")[0].replace(platform="win_amd64"))
    assert arch is not None
    assert arch.status == "unverified"


def test_a_list_is_taken_from_linux_x86_64_alone(own: Catalog) -> None:
    assert own.arch_list(own.builds("linux_x86_64")[1]) is None
    assert own.arch_list(own.builds("win_amd64")[0]) is not None
    assert own.arch_list(own.builds("win_amd64")[0].replace(platform="linux_aarch64")) is None


@pytest.mark.parametrize("torch", ["9.9", "9.9.1", "8.0.0", "", "9.9.0+cu130", "../9.9.0"])
def test_unknown_release(own: Catalog, torch: str) -> None:
    assert own.release(torch) is None
    assert own.default_variant(torch, "linux_x86_64") is None


def test_rows_are_frozen(own: Catalog) -> None:
    with pytest.raises(AttributeError, match="frozen"):
        own.builds("linux_x86_64")[0].status = "withdrawn"  # type: ignore[misc]


def test_verify_causes_have_their_sources(own: Catalog) -> None:
    assert [(cause.id, cause.source) for cause in own.verify_causes] == [("boom", "read out of the wheel")]


def test_index_url_has_no_slash_at_the_end(own: Catalog) -> None:
    assert own.index_url("mps") == "https://wheels.example/whl/cpu"
    assert own.index_url("cu130") == "https://wheels.example/whl/cu130"


def test_mps_floor_ends_below_its_bound(own: Catalog) -> None:
    assert own.mps_floor("9.9.0") == ("14.0", "read out of the wheel")
    assert own.mps_floor("9.10.0") is None


# -- broken files --------------------------------------------------------------


def ask_everything(folder: Path) -> None:
    catalog = load_catalog(folder)
    for build in catalog.builds("linux_x86_64"):
        catalog.arch_list(build)
    catalog.cuda_floor(13)
    catalog.card("10de:2684")
    catalog.index_url("cpu")
    catalog.mps_floor("9.9.0")
    catalog.gfx_is_target("gfx9999")
    assert catalog.verify_causes
    assert catalog.family


def build_row(data: Data, number: int = 0) -> Data:
    row: Data = data[RELEASES]["releases"][0]["builds"][number]
    return row


def drop_status(data: Data) -> None:
    del build_row(data)["status"]


def odd_status(data: Data) -> None:
    build_row(data)["status"] = "sure"


def number_for_text(data: Data) -> None:
    build_row(data)["variant"] = 130


def unknown_source(data: Data) -> None:
    build_row(data, 1)["source"] = "hearsay"


def unknown_platform(data: Data) -> None:
    build_row(data)["platform"] = "linux_riscv64"


def twice_the_build(data: Data) -> None:
    rows = data[RELEASES]["releases"][0]["builds"]
    rows.append(dict(rows[1]))


def two_defaults(data: Data) -> None:
    build_row(data, 1).update(default=True, wheels={"manylinux_2_28_x86_64": ["cp312"]})


def nothing_to_inherit(data: Data) -> None:
    data[RELEASES]["releases"][0]["builds"][0] = {**build_row(data, 1), "variant": "cu124"}


def withdrawn_default(data: Data) -> None:
    build_row(data)["status"] = "withdrawn"


def wheels_as_list(data: Data) -> None:
    build_row(data)["wheels"] = ["cp312"]


def pythons_as_text(data: Data) -> None:
    build_row(data)["wheels"] = {"manylinux_2_28_x86_64": "cp312"}


def row_as_text(data: Data) -> None:
    data[RELEASES]["releases"][0]["builds"].append("cu126")


def twice_the_companion(data: Data) -> None:
    rows = data[RELEASES]["releases"][0]["companions"]
    rows.append(dict(rows[0]))


def twice_the_release(data: Data) -> None:
    rows = data[RELEASES]["releases"]
    rows.append(dict(rows[0]))


def no_warnings(data: Data) -> None:
    del data[RELEASES]["releases"][0]["warnings"]


def newer_schema(data: Data) -> None:
    data[RELEASES]["schema"] = 2


def text_in_sass(data: Data) -> None:
    data["arch.json"]["arch_lists"][0]["sass"] = ["sm_80"]


def truth_in_sass(data: Data) -> None:
    data["arch.json"]["arch_lists"][0]["sass"] = [True]


def twice_the_list(data: Data) -> None:
    data["arch.json"]["arch_lists"].append(dict(data["arch.json"]["arch_lists"][1]))


def twice_the_floor(data: Data) -> None:
    data["cuda.json"]["floors"] *= 2


def twice_the_capability(data: Data) -> None:
    data["cuda.json"]["generations"].append({**data["cuda.json"]["generations"][0], "name": "Lovelace"})


def floor_as_text(data: Data) -> None:
    data["cuda.json"]["generations"][0]["floor"] = "520"


def odd_module(data: Data) -> None:
    data["cuda.json"]["generations"][0]["open_module"] = "maybe"


def no_generations(data: Data) -> None:
    del data["cuda.json"]["generations"]


def twice_the_card(data: Data) -> None:
    data["gpus/nvidia.json"]["cards"] *= 2


def card_without_capability(data: Data) -> None:
    del data["gpus/nvidia.json"]["cards"][0]["compute_capability"]


def no_base(data: Data) -> None:
    data["indexes.json"]["indexes"] = []


def twice_the_variant(data: Data) -> None:
    data["indexes.json"]["variants"] *= 2


def number_for_macos(data: Data) -> None:
    data["macos.json"]["mps_floors"][0]["macos"] = 14


def document_as_list(data: Data) -> None:
    data["family.json"] = []


def target_without_gfx(data: Data) -> None:
    del data["gpus/amd.json"]["integrated_targets"][0]["gfx"]


def cause_without_pattern(data: Data) -> None:
    del data["verify_causes.json"]["rows"][0]["pattern"]


def cause_with_more(data: Data) -> None:
    data["verify_causes.json"]["rows"][0]["colour"] = "red"


def no_file(data: Data) -> None:
    del data["macos.json"]


BREAKS: list[tuple[Callable[[Data], None], str]] = [
    (
        drop_status,
        r"releases/torch-9\.9\.json, releases row 1 \(9\.9\.0\), builds row 1 \(cu130 linux_x86_64\): has no 'status'",
    ),
    (odd_status, r"torch-9\.9\.json, .*builds row 1 .*'status' is 'sure', not one of measured, "),
    (number_for_text, r"builds row 1 \(linux_x86_64\): 'variant' is a number, not a text"),
    (unknown_source, r"builds row 2 \(cu126 linux_x86_64\): 'source' is 'hearsay'"),
    (unknown_platform, r"builds row 1 .*'platform' is 'linux_riscv64'"),
    (twice_the_build, r"builds row 3 .*cu126 on linux_x86_64 stands there twice"),
    (two_defaults, r"builds row 2 .*linux_x86_64 has two default builds"),
    (nothing_to_inherit, r"builds row 1 \(cu124 linux_x86_64\): inherits its wheel tags"),
    (withdrawn_default, r"builds row 1 .*is withdrawn"),
    (wheels_as_list, r"builds row 1 .*'wheels' isn't an object"),
    (pythons_as_text, r"builds row 1 .*wheels: 'manylinux_2_28_x86_64' is a text, not a list of texts"),
    (row_as_text, r"builds row 3: is a text, not an object"),
    (twice_the_companion, r"companions row 3 \(torchvision 1\.9\.0\): torchvision 1\.9\.0 \* \* stands there twice"),
    (twice_the_release, r"torch-9\.9\.json, releases row 2 \(9\.9\.0\): torch 9\.9\.0 stands there twice"),
    (no_warnings, r"releases row 1 \(9\.9\.0\): has no 'warnings'"),
    (newer_schema, r"torch-9\.9\.json: 'schema' is 2"),
    (
        text_in_sass,
        r"arch\.json, arch_lists row 1 \(9\.9\.0 cu130 linux_x86_64\): 'sass' is a list, not a list of whole numbers",
    ),
    (truth_in_sass, r"arch\.json, arch_lists row 1 .*'sass'"),
    (twice_the_list, r"arch\.json, arch_lists row 3 .*9\.10\.0 cu130 win_amd64 stands there twice"),
    (twice_the_floor, r"cuda\.json, floors row 2: CUDA 13 stands there twice"),
    (twice_the_capability, r"cuda\.json, generations row 2 \(Lovelace\): compute capability 8\.9 stands there twice"),
    (floor_as_text, r"cuda\.json, generations row 1 \(Ada\), floor: is a text, not an object"),
    (odd_module, r"cuda\.json, generations row 1 \(Ada\): 'open_module' is 'maybe'"),
    (no_generations, r"cuda\.json: has no 'generations'"),
    (twice_the_card, r"gpus/nvidia\.json, cards row 2 .*10de:2684 stands there twice"),
    (card_without_capability, r"gpus/nvidia\.json, cards row 1 .*has no 'compute_capability'"),
    (no_base, r"indexes\.json: 'indexes' must have exactly one row named pytorch"),
    (twice_the_variant, r"indexes\.json, variants row 2 \(mps\): mps stands there twice"),
    (number_for_macos, r"macos\.json, mps_floors row 1 \(9\.9\): 'macos' is a number, not a text"),
    (document_as_list, r"family\.json: is a list, not an object"),
    (target_without_gfx, r"gpus/amd\.json, integrated_targets row 1: has no 'gfx'"),
    (cause_without_pattern, r"verify_causes\.json, rows row 1 \(boom\): has no 'pattern'"),
    (cause_with_more, r"verify_causes\.json, rows: don't make causes: Cause has no 'colour'"),
    (no_file, r"macos\.json: can't be read"),
]


@pytest.mark.parametrize(("spoil", "message"), BREAKS, ids=lambda v: v.__name__ if callable(v) else "")
def test_a_broken_file_is_named_with_its_row(
    small_data: Data, write_data: Write, spoil: Callable[[Data], None], message: str
) -> None:
    spoil(small_data)
    with pytest.raises(CatalogError, match=message) as caught:
        ask_everything(write_data(small_data))
    assert caught.value.why
    assert caught.value.todo


def test_the_small_data_is_whole(small_data: Data, write_data: Write) -> None:
    ask_everything(write_data(small_data))


def test_bad_json_is_named_with_its_line(small_data: Data, write_data: Write) -> None:
    folder = write_data(small_data)
    (folder / "cuda.json").write_text('{\n "schema": 1,\n "floors" [\n', encoding="utf-8")
    with pytest.raises(CatalogError, match=r"cuda\.json, line 3, column 11: isn't JSON"):
        load_catalog(folder).cuda_floor(13)


def test_other_encodings_are_refused(small_data: Data, write_data: Write) -> None:
    folder = write_data(small_data)
    (folder / "family.json").write_bytes(b'{"schema": 1, "note": "\xff"}')
    with pytest.raises(CatalogError, match=r"family\.json: isn't UTF-8 \(byte 23\)"):
        _ = load_catalog(folder).family


def test_a_broken_file_spoils_only_its_own_questions(small_data: Data, write_data: Write) -> None:
    folder = write_data(small_data)
    (folder / "gpus" / "amd.json").write_text("{", encoding="utf-8")
    catalog = load_catalog(folder)
    assert catalog.card("10de:2684") is not None
    with pytest.raises(CatalogError, match=r"gpus/amd\.json"):
        catalog.card("1002:744c")


def test_fields_of_a_later_time_are_passed_over(small_data: Data, write_data: Write) -> None:
    build_row(small_data)["sha256"] = "0" * 64
    assert load_catalog(write_data(small_data)).release("9.9.0") is not None
