# ruff: noqa: INP001
"""Sphinx: ``uv run --group docs sphinx-build -W docs build/docs``. The pages read as plain Markdown too."""

project = "torchinstall"
author = "the torchinstall contributors"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
html_theme = "furo"
html_title = "torchinstall"
myst_heading_anchors = 3
