"""The behaviours of the stand-in for torchvision."""

from __future__ import annotations

import json
from pathlib import Path

_FACTS = json.loads(Path(__file__).with_name("behaviour.json").read_text())
NAME = _FACTS["name"]


def at_import():
    if NAME == "nms-missing":
        raise RuntimeError(_FACTS["text"] or "operator torchvision::nms does not exist")
    if NAME == "import-error":
        raise ImportError(_FACTS["text"] or "libc10_cuda.so: undefined symbol: _ZN3c104cuda9GetDeviceEPa")


def at_nms(place):
    if NAME == "nms-cpu" and not place.startswith("cpu"):
        backend = place.split(":")[0].upper()
        raise NotImplementedError(
            f"Could not run 'torchvision::nms' with arguments from the '{backend}' backend. This could be "
            "because the operator doesn't exist for this backend, or was omitted during the build."
        )
