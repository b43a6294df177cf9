"""Install this bundle into an environment. Needs nothing but Python: no network, no torchinstall.

    python install.py               makes .venv in the current directory and installs into it
    python install.py --venv DIR    into another environment, made if it isn't there

Where torchinstall is at hand, ``torchinstall install --from DIR`` does more: it brings the environment back if
something fails, and proves the result on the device.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

HERE = Path(__file__).resolve().parent
_MATMUL = "import torch; a = torch.ones(64, 64); assert (a @ a).sum().item() == 64 ** 3"


def main() -> int:
    """Check the files, install them with pip, and multiply two matrices; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--venv", type=Path, default=Path(".venv"), help="default: .venv here")
    parser.add_argument("--no-verify", action="store_true", help="don't multiply")
    options = parser.parse_args()
    venv = options.venv.absolute()
    manifest = json.loads((HERE / "manifest.json").read_text("utf-8"))
    free = "t" if sysconfig.get_config_var("Py_GIL_DISABLED") == 1 else ""
    running = f"{sys.version_info[0]}.{sys.version_info[1]}{free}"
    if running != manifest["python"]:
        return _say(3, f"this bundle is for Python {manifest['python']}, and this is {running}")
    for row in manifest["files"]:
        path = HERE / "wheels" / Path(row["filename"]).name
        if _sha256(path) != row["sha256"]:
            return _say(5, f"{path} is missing, or not the file that was bundled")
    python = venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    words = [python, "-m", "pip", "install", "--no-index", "--find-links", HERE / "wheels"]
    words += ["--no-deps", "--require-hashes", "-r", HERE / "requirements.txt"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    if subprocess.run(words, env=environment, check=False).returncode != 0:
        return _say(5, "pip failed; its words are above")
    if options.no_verify:
        return 0
    done = subprocess.run([python, "-c", _MATMUL], check=False, cwd=HERE)
    return _say(0, "torch computes") if done.returncode == 0 else _say(6, "torch is there, but doesn't compute")


def _say(code: int, text: str) -> int:
    print(text, file=sys.stderr)
    return code


def _sha256(path: Path) -> str | None:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while chunk := file.read(1 << 20):
                digest.update(chunk)
    except OSError:
        return None
    return digest.hexdigest()


if __name__ == "__main__":
    sys.exit(main())
