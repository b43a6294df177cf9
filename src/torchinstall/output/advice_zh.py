"""The fixed words of advice in Chinese. Rules have theirs in the data; findings of a scan are in English."""

from __future__ import annotations

CHINESE: dict[str, str] = {
    "upgrade now": "直接升级",
    "worth it, no hurry": "值得升级，但不急",
    "wait": "先别升",
    "must not": "不能升",
    "nothing to do": "无需升级",
    "can't be said": "无法判断",
    "{verdict}: from torch {installed} to {target}": "{verdict}：torch {installed} → {target}",
    "{verdict}: torch {target}": "{verdict}：torch {target}",
    "Verdict": "结论",
    "Counted": "计入",
    "Trap": "陷阱",
    "Command": "命令",
    "After": "事后",
    "Found": "发现",
    "Scanned": "已扫描",
    "Passed by": "略过",
    "corrected since: {text}": "此后更正：{text}",
    "source: {text}": "出处：{text}",
    "torch {torch} ({variant}) is the newest that may be had here": "torch {torch}（{variant}）是这里能用的最新版本",
    "stay with torch {installed}": "留在 torch {installed}",
    "by hand: {command}": "手动：{command}",
    "name the target: --gpu 'RTX 4090', --gpu none, or --machine FILE": (
        "指明目标：--gpu 'RTX 4090'、--gpu none 或 --machine FILE"
    ),
    "  and at {count} more places": "  另有 {count} 处",
    "{count} more are shown with -v": "另有 {count} 条，加 -v 显示",
    "and {count} more": "另有 {count} 个",
    "{files} files, {lines} lines of Python: {found}": "{files} 个文件，{lines} 行 Python：{found}",
    "nothing to change": "没有要改的",
    "; {count} ignored, as their lines say": "；另有 {count} 条按注释忽略",
}


def phrase(words: str, lang: str, **facts: object) -> str:
    """Return a fixed phrase in a language, its holes filled."""
    return (CHINESE.get(words, words) if lang == "zh" else words).format(**facts)
