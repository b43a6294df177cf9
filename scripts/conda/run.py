"""Runs torchinstall out of the folder that the conda package keeps it in."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "site"))
# Byte code would be files that conda knows nothing of, left behind when the package goes.
sys.dont_write_bytecode = True

from torchinstall.__main__ import run  # noqa: E402 - found by the line above

run()
