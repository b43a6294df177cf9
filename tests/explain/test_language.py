"""Chinese and English: the same rules, numbers and commands; chosen by --lang, else by the locale."""

from __future__ import annotations

import io
import re
import string
import subprocess
import sys

import pytest

from hand import GTX_1080, RTX_4090, RTX_5090, linux, mac, want
from torchinstall.catalog.catalog import Catalog
from torchinstall.model.machine import DRIVER_STATES, AscendDriver, Gpu, Machine
from torchinstall.model.sentences import ENGLISH, reason, text
from torchinstall.model.sentences_zh import CHINESE, WORDS
from torchinstall.output.jsonout import dumps, plan_to_json
from torchinstall.output.language import language, localized, translated
from torchinstall.output.lines import Line, write
from torchinstall.output.phrases_zh import FACTS, PHRASES
from torchinstall.output.text import machine_lines, plan_lines
from torchinstall.output.wrap import columns, wrap
from torchinstall.resolve.resolve import resolve

MACHINES = [
    linux(GTX_1080, driver="580.95.05"),
    linux(GTX_1080, driver="590.48.01"),
    linux(GTX_1080, RTX_5090, driver="580.95.05"),
    linux(RTX_4090, driver="535.183.01", python="3.16.0"),
    linux(RTX_4090, state="missing"),
    linux(Gpu(vendor="amd", gfx="gfx906", name="Radeon VII")),
    linux(Gpu(vendor="amd", gfx="gfx1010", name="RX 5700 XT")),
    linux(Gpu(vendor="hygon", name="K100_AI")),
    linux(Gpu(vendor="ascend", soc="910B3", name="Ascend 910B3")).replace(ascend=AscendDriver(cann="8.2.RC1")),
    mac("13.6", Gpu(vendor="apple", name="Apple M2", integrated=True)),
    linux(hpc="slurm"),
    linux(),
]


def holes(sentence: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(sentence) if name}


@pytest.mark.parametrize("rule", sorted(ENGLISH))
def test_every_rule_is_said_in_both_languages(rule: str) -> None:
    assert rule in CHINESE
    chinese = {name.removesuffix("_zh") for name in holes(CHINESE[rule])}
    assert chinese == holes(ENGLISH[rule])
    assert not CHINESE[rule].isascii() or not re.search("[a-z]{4}", ENGLISH[rule])


def test_no_sentence_is_left_over() -> None:
    assert set(CHINESE) <= set(ENGLISH)


def test_phrases_have_the_same_holes() -> None:
    for english, chinese in {**PHRASES, **FACTS}.items():
        assert holes(english) == holes(chinese), english


@pytest.mark.parametrize("number", range(len(MACHINES)))
def test_numbers_and_commands_are_the_same(number: int, catalog: Catalog) -> None:
    plan = resolve(MACHINES[number], want("torch", "torchvision"), catalog)
    chinese = localized(plan, "zh")
    assert localized(plan, "en") is plan
    pairs = [
        *zip(plan.why, chinese.why, strict=True),
        *zip(plan.warnings, chinese.warnings, strict=True),
        *((a.reason, b.reason) for a, b in zip(plan.alternatives, chinese.alternatives, strict=True)),
        *((a.reason, b.reason) for a, b in zip(plan.rejected, chinese.rejected, strict=True)),
    ]
    if plan.blocked is not None and chinese.blocked is not None:
        pairs.append((plan.blocked, chinese.blocked))
    assert pairs
    for one, other in pairs:
        assert (one.rule, one.source, one.params) == (other.rule, other.source, other.params)
        assert not other.text.isascii(), other.text
        if "advice" not in one.params:  # free text of the data, said anew in Chinese
            assert sorted(re.findall(r"\d+(?:\.\d+)*", one.text)) == sorted(re.findall(r"\d+(?:\.\d+)*", other.text))
            assert set(re.findall(r"--[a-z-]+", one.text)) == set(re.findall(r"--[a-z-]+", other.text))
    # All that isn't a sentence stays as it is.
    assert chinese.packages == plan.packages
    assert chinese.commands == plan.commands


def test_words_inside_sentences_are_said_too() -> None:
    said = text("two-vendors", {"chosen": "A", "other": "B", "because": "its driver works"}, "zh")
    assert WORDS["its driver works"] in said
    inner = reason("require-gpu", because=ENGLISH["cpu-machine"])
    assert CHINESE["cpu-machine"] in text(inner.rule, inner.params, "zh")
    assert text("cann-ok", {"found": "9.1", "npu": "2.14.0", "wanted": "8.5 to 9.2"}, "zh").count("to") == 1  # torch


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, "en"), ({"LANG": "C.UTF-8"}, "en"), ({"LANG": "zh_CN.UTF-8"}, "zh"), ({"LANG": "zh_TW.Big5"}, "zh"),
        ({"LC_ALL": "en_US.UTF-8", "LANG": "zh_CN.UTF-8"}, "en"), ({"LC_ALL": "", "LANG": "zh_CN"}, "zh"),
        ({"TORCHINSTALL_LANG": "zh"}, "zh"), ({"TORCHINSTALL_LANG": "en", "LANG": "zh_CN.UTF-8"}, "en"),
        ({"TORCHINSTALL_LANG": "fr", "LANG": "zh_CN.UTF-8"}, "zh"),
    ],
)  # fmt: skip
def test_which_language(environ: dict[str, str], expected: str) -> None:
    assert language(environ) == expected


@pytest.mark.parametrize(
    ("english", "untouched"),
    [
        ("torch 2.14.1 (cu126) from the default index", ["torch 2.14.1 (cu126)"]),
        ("torch 2.14.1 cu126, if X", ["torch 2.14.1 cu126", "X"]),
        ("alone: torch 2.14.1 cu126   (CUDA_VISIBLE_DEVICES=0)", ["torch 2.14.1 cu126", "CUDA_VISIBLE_DEVICES=0"]),
    ],
)
def test_fixed_phrases_keep_what_stands_in_them(english: str, untouched: list[str]) -> None:
    (line,) = translated([Line(text=english, heading="Choice")], "zh")
    assert line.heading != "Choice"
    assert line.text != english
    assert all(part in line.text for part in untouched)


_MACHINE_LINES = [
    ("Ubuntu 22.04, x86_64, glibc 2.35, Python 3.14 free-threaded (system), declared",
     "Ubuntu 22.04，x86_64，glibc 2.35，Python 3.14 自由线程（系统），按声明"),
    ("unknown system, unknown architecture", "未知系统，未知架构"),
    ("container: docker, image build, no device is reachable", "容器：docker，正在构建镜像，无法访问设备"),
    ("GPU 0: Tesla V100 (compute capability 7.0, 16 GiB, driver none, hidden)",
     "GPU 0：Tesla V100（计算能力 7.0，16 GiB，没有驱动，已隐藏）"),
    ("GPU 1: Raphael (gfx1036, 512 MiB, integrated, driver amdgpu)",
     "GPU 1：Raphael（gfx1036，512 MiB，集成，驱动 amdgpu）"),
    ("GPU 0: Ascend 910B (A2) (910B (A2), driver none)", "GPU 0：Ascend 910B (A2)（910B (A2)，没有驱动）"),
    ("NVIDIA driver unknown, missing", "NVIDIA 驱动 未知，未安装"),
    ("NVIDIA driver 580.95.05, library-mismatch, announces CUDA 13.0, open kernel module, libcuda answers CUDA 12.9",
     "NVIDIA 驱动 580.95.05，库与内核模块版本不同，声明支持 CUDA 13.0，开源内核模块，libcuda 回答 CUDA 12.9"),
    ("AMD: ROCm not installed, amdgpu in-tree, not-loaded", "AMD：ROCm 未安装，amdgpu 为内核自带，未加载"),
    ("Intel: xe, Level Zero unknown, no-device", "Intel：xe，Level Zero 未知，没有设备"),
    ("Ascend: driver unknown, CANN unknown, missing", "昇腾：驱动未知，CANN 未知，未安装"),
]  # fmt: skip


@pytest.mark.parametrize(("english", "chinese"), _MACHINE_LINES)
def test_the_words_of_a_machine_are_said_too(english: str, chinese: str) -> None:
    heading = "Machine" if "x86_64" in english or "unknown system" in english else ""
    (line,) = translated([Line(text=english, heading=heading)], "zh")
    assert line.text == chinese


def test_every_state_of_a_driver_has_a_word() -> None:
    for state in DRIVER_STATES:
        machine = linux(RTX_4090, driver="580.95.05", state=state)
        text = next(line.text for line in translated(machine_lines(machine), "zh") if line.text.startswith("NVIDIA "))
        assert state in {"ok", "nouveau"} or state not in text


def test_a_source_is_no_phrase() -> None:
    english = "somebody measured 5 things [read from the wheel]"
    (line,) = translated([Line(text=english)], "zh")
    assert line.text == english


@pytest.mark.parametrize("width", [30, 47, 90])
def test_chinese_lines_fit_the_terminal(width: int, catalog: Catalog) -> None:
    plan = resolve(MACHINES[1], want("torch"), catalog)
    for line in plan_lines(plan, lang="zh"):
        for part in wrap(line.text, width):
            longest = max((columns(word) for word in part.split()), default=0)
            assert columns(part) <= max(width, longest) + 4
        assert "".join("".join(wrap(line.text, width)).split()) == "".join(line.text.split())


def test_headings_stand_in_one_column() -> None:
    stream = io.StringIO()
    write([Line(text="x", heading="Why"), Line(text="y")], stream, {"TORCHINSTALL_LANG": "zh"})
    first, second = stream.getvalue().splitlines()
    assert columns(first[: first.index("x")]) == columns(second[: second.index("y")]) == 10


def run(*words: str, machine: Machine | None = None) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "torchinstall", *words], capture_output=True, text=True, timeout=60, check=False
    )
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


def test_on_the_command_line() -> None:
    target = ("--gpu", "GTX 1080", "--driver", "590.48.01", "--os", "linux", "--python", "3.12", "--offline")
    english, chinese = run("plan", *target), run("plan", "--lang", "zh", *target)
    assert "no longer supports" in english
    assert CHINESE["blocked-dropped"].split("{card}")[0].split("}")[-1] in chinese
    assert "590.48.01" in chinese
    # JSON is for programs: English, unless another language is asked for by name.
    document = run("plan", "--json", *target)
    assert "no longer supports" in document


def test_json_is_in_english_whatever_the_locale(catalog: Catalog) -> None:
    plan = resolve(MACHINES[0], want("torch"), catalog)
    assert dumps(plan_to_json(plan)).isascii()
