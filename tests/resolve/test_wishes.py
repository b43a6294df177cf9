"""What pip takes, sorted: the torch family, other packages, places, options of files."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.requirements import Requirement

from hand import FAMILY, RTX_4090, linux
from torchinstall.catalog.catalog import Catalog
from torchinstall.errors import RequirementError, UsageError
from torchinstall.model.options import Options
from torchinstall.output.text import plan_lines
from torchinstall.resolve.asked import request_of
from torchinstall.resolve.resolve import resolve
from torchinstall.resolve.wishes import parse, parse_file, versions_of

DIGEST = "sha256:" + "0" * 64


def test_names_specifiers_extras_and_variants() -> None:
    found = parse(["Torch[opt_einsum]>=2.11,<2.15", "torch==2.6.0+cu124", "torchvision"], FAMILY, origin="x").wishes
    assert [(w.name, w.specifier, w.variant, w.extras) for w in found] == [
        ("torch", "<2.15,>=2.11", None, ("opt_einsum",)),
        ("torch", "==2.6.0", "cu124", ()),
        ("torchvision", "", None, ()),
    ]


@pytest.mark.parametrize(
    "text",
    ["./pkg", ".", "..", "../a b", "/srv/x", "~/x", "git+https://127.0.0.1/a.git", "http://127.0.0.1/a-1-py3-none-any.whl",
     "a-1.0-py3-none-any.whl", "-e ./pkg"],
)  # fmt: skip
def test_places_are_the_installers_to_judge(text: str) -> None:
    assert parse([text], FAMILY, origin="x").others == (text,)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "==2",
        "torch==",
        "torch>=x y",
        "transformers=>4",
        "@",
        "torch @ file:///x.whl",
        "./w/torch-2.1.0-cp311-cp311-linux_x86_64.whl",
    ],
)
def test_nonsense_is_refused(text: str) -> None:
    with pytest.raises(RequirementError):
        parse([text], FAMILY, origin="x")


def test_a_requirements_file() -> None:
    text = f"""\ufeff# comment
--index-url http://user:secret@127.0.0.1/simple
--require-hashes
-r more.txt
-c limits.txt
-e ./mine
torch==2.12.1 \\
    --hash={DIGEST}  # trailing
torchvision ; python_version < "3"
numpy>=1 ; python_version > "3"
git+https://127.0.0.1/x.git#egg=x
"""
    found = parse_file(text, FAMILY, origin="r.txt", environment={"python_version": "3.12"})
    assert [(w.name, w.specifier, w.origin, w.hashes) for w in found.wishes] == [
        ("torch", "==2.12.1", "r.txt:7", (DIGEST,))
    ]
    assert found.hints == ("--index-url http://user:secret@127.0.0.1/simple", "--require-hashes")
    assert (found.includes, found.constraint_files) == (("more.txt",), ("limits.txt",))
    assert found.others == ("-e ./mine", 'numpy>=1 ; python_version > "3"', "git+https://127.0.0.1/x.git#egg=x")


def test_a_files_options_are_said_without_secrets_and_passed_on(catalog: Catalog) -> None:
    files = {
        "r.txt": f"--extra-index-url http://user:secret@127.0.0.1/simple\ntorch==2.12.* --hash={DIGEST}\nnumpy\n-r sub/more.txt\n",
        "sub/more.txt": "torchvision\n-c ../limits.txt\n",
        "sub/../limits.txt": "torch<2.12.1\n",
    }
    machine = linux(RTX_4090, driver="580.95.05")
    options = Options(requirement_files=("r.txt",))
    request = request_of(options, machine, catalog, read=files.__getitem__)
    plan = resolve(machine, request, catalog)
    assert (plan.torch, [pin.name for pin in plan.packages]) == ("2.12.0", ["torch", "torchvision"])
    assert plan.packages[0].hashes == (DIGEST,)
    assert plan.others == ("--extra-index-url http://user:secret@127.0.0.1/simple", "numpy")
    said = [warning.text for warning in plan.warnings if warning.rule == "index-hint"]
    assert len(said) == 1
    assert "secret" not in said[0]
    assert (plan.options, plan.other_packages) == (plan.others[:1], ("numpy",))
    shown = [line.text for line in plan_lines(plan.replace(others=(*plan.others, "-e ./mine")))]
    assert "and numpy, -e ./mine" in shown, "an option is no package"
    alone = [line.text for line in plan_lines(plan.replace(others=plan.options))]
    assert not any(text.startswith("and ") for text in alone)


def test_files_that_include_each_other_end(catalog: Catalog) -> None:
    with pytest.raises(UsageError, match="itself"):
        request_of(Options(requirement_files=("a.txt",)), None, catalog, read=lambda _name: "-r a.txt\n")


_SPACE = st.sampled_from(["", "", " ", "  "])
_VERSION = st.from_regex(r"[0-9]{1,2}(\.[0-9]{1,2}){0,2}(a1|rc2|\.post1|\.dev3|\.\*|\+cu126)?", fullmatch=True)
_CLAUSE = st.tuples(st.sampled_from(["==", "!=", "<=", ">=", "<", ">", "~=", "===", "="]), _SPACE, _VERSION).map(
    "".join
)
_TAIL = st.sampled_from(["", "", "", ",", ";", " x", "[opt]", "; python_version < '3.12'", " @ file:///x", ")", "#c"])


@given(
    st.sampled_from(["torch", "Torch", "torch_", "torch.vision", "torchvision", "t"]),
    _SPACE,
    st.lists(_CLAUSE, min_size=1, max_size=3),
    st.sampled_from([",", " , ", ", "]),
    _TAIL,
)
@settings(max_examples=400)
def test_versions_alone_are_read_as_the_whole_grammar_reads_them(name, space, clauses, comma, tail):
    text = f"{name}{space}{comma.join(clauses)}{tail}"
    short = versions_of(text)
    if short is not None:
        whole = Requirement(text)
        assert short == str(whole.specifier)
        assert (whole.extras, whole.marker, whole.url) == (set(), None, None)


def test_the_usual_requirements_are_read_the_short_way():
    for text in ("torch==2.13.0", "torch >=2.1, <2.5", "torch==2.12.*", "torch==2.14.1+cu126", "torch~=2.9"):
        assert versions_of(text) is not None, text


SPLIT = [
    "torch==2.2.2 ; sys_platform == 'darwin' and platform_machine == 'x86_64'",
    "torch>=2.5 ; sys_platform != 'darwin'",
    "torchvision==0.17.2 ; sys_platform == 'darwin'",
    "torch<2.14 ; python_version < '3.11'",
]


def test_an_unknown_python_does_not_make_markers_of_the_system_true(catalog: Catalog) -> None:
    unknown = linux(RTX_4090, driver="580.95.05", python=None)
    request = request_of(Options(requirements=tuple(SPLIT), offline=True), unknown, catalog, read=str)
    assert [wish.text for wish in request.wishes] == [SPLIT[1]]
    assert resolve(unknown, request, catalog).torch == "2.15.0"
    old = linux(RTX_4090, driver="580.95.05", python="3.10.2")
    request = request_of(Options(requirements=tuple(SPLIT), offline=True), old, catalog, read=str)
    assert [wish.text for wish in request.wishes] == [SPLIT[1], SPLIT[3]]


def test_a_marker_that_holds_for_every_python_counts(catalog: Catalog) -> None:
    text = "torch==2.13.0 ; python_version >= '3.8' and sys_platform == 'linux'"
    unknown = linux(RTX_4090, driver="580.95.05", python=None)
    request = request_of(Options(requirements=(text,), offline=True), unknown, catalog, read=str)
    assert [wish.specifier for wish in request.wishes] == ["==2.13.0"]
