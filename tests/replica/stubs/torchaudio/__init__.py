"""A stand-in for torchaudio in tests."""

from __future__ import annotations

import json
from pathlib import Path

import torch

from torchaudio import version

_FACTS = json.loads(Path(__file__).with_name("behaviour.json").read_text())
if _FACTS["name"] == "import-error":
    raise OSError(_FACTS["text"] or "libcudart.so.13: cannot open shared object file: No such file")

__version__ = version.__version__
__all__ = ["torch", "version"]
