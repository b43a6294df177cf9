"""Sentences in Chinese by their English: exact, by template, in fields; and bounded on any text."""

from __future__ import annotations

import time

import pytest

from torchinstall.output.lines import Line
from torchinstall.output.messages import Table, said, translated

TABLE = Table(
    {
        "{} can't be read": "无法读取 {0}",
        "the report {} can't be read": "无法读取报告 {0}",
        "{} takes {} from {}": "{0} 从 {2} 获取 {1}",
        "an object": "对象",
        "{} is {}, not {}": "{0} 是 {1}，而不是{2}",
        'add {{"a": 1}} to {}': '把 {{"a": 1}} 加入 {0}',
        "done": "完成",
    }
)


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("done", "完成"),
        ("done.", "done."),
        ("/tmp/a b can't be read", "无法读取 /tmp/a b"),
        ("the report x can't be read", "无法读取报告 x"),  # the template with more words of its own
        ("uv takes torch 2.9 from https://x/", "uv 从 https://x/ 获取 torch 2.9"),
        ("rows is 3, not an object", "rows 是 3，而不是对象"),  # a word of ours in a field
        ('add {"a": 1} to the file', '把 {"a": 1} 加入 the file'),
        ("a can't be read can't be read", "无法读取 无法读取 a"),  # the last words are the last literal
        (" can't be read", "无法读取 "),
        ("nothing of this is known here", "nothing of this is known here"),
        ("", ""),
    ],
)
def test_templates(english: str, chinese: str) -> None:
    assert TABLE.translated(english) == chinese


def test_what_says_little_takes_no_sentence_for_a_field() -> None:
    text = "the first of them is not what the second one says, not at all"
    assert Table({"{} is {}, not {}": "{0} 是 {1}，而不是{2}"}).translated(text) == text


def test_a_field_may_be_a_list_of_our_words() -> None:
    table = Table({"needs {}": "需要 {0}", "a list": "列表", "a number": "数字"})
    assert table.translated("needs a list, a number") == "需要 列表、数字"
    assert table.translated("needs torch, numpy") == "需要 torch, numpy"


def test_english_is_left_alone() -> None:
    assert translated("{} can't be read", "en") == "{} can't be read"
    assert translated("x can't be read", "zh") == "无法读取 x"


def test_what_tools_have_written_stays() -> None:
    lines = [
        Line(text="x can't be read", heading="Error"),
        Line(text="x can't be read", heading="Output"),
        Line(text="x can't be read"),
        Line(text="try again", heading="Do"),
    ]
    assert [line.text for line in said(lines, "zh")] == [
        "无法读取 x", "x can't be read", "x can't be read", "请重试",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "is " * 1300,
        "; ".join(["torch is in"] * 300),
        ", ".join(["x"] * 40) + " and " * 200,
        "a can't be read" * 250,
        ("{" * 1000) + ("}" * 1000),
        "x" * 1_000_000,
    ],
)
def test_hostile_text_takes_no_time(text: str) -> None:
    translated("done", "zh")  # the tables are read
    begin = time.monotonic()
    translated(text, "zh")
    assert time.monotonic() - begin < 1
