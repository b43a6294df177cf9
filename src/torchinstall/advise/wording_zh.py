"""The sentences of advice that aren't in the data, in Chinese."""

from __future__ import annotations

CHINESE = {
    "nothing": "没有规则催促这次升级，也没有规则反对",
    "installed": "已安装 torch {installed}",
    "newer": "已安装 torch {installed}，比 {to} 更新",
    "limit": "如果这个限制由你决定，请先改它",
    "use-named": "由 --uses 指明",
    "use-installed": "已安装：{packages}",
    "use-card": "这里有昇腾卡",
    "use-conda": "这个 torch 由 conda 安装",
    "use-found": "见于 {file} 第 {line} 行",
    "use-assumed-stable": "假定：已安装 torch",
    "use-assumed-new": "假定：这里没有安装 torch",
}
