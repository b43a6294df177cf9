"""Tells where the Python that runs it would import from: ``python -B _look_env.py COOKIE``, not isolated.

Stands alone, in the syntax of Python 3.6. Nothing is imported: the folders are named, and whoever asked
looks into them. Run without ``-I``, since PYTHONPATH and the user's own packages are what is looked for.
"""

import sys

if __name__ == "__main__":
    # The folder of this very script stands first, and none of its modules is meant.
    del sys.path[0]

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def facts() -> "dict[str, Any]":
    """Return the path of import, and which of its folders is the user's own."""
    user = None
    try:
        import site

        user = site.getusersitepackages() if site.ENABLE_USER_SITE else None
    except Exception:  # noqa: BLE001 - an environment without site has no such folder
        user = None
    return {"path": [entry for entry in sys.path if entry], "user": user}


def main(cookie: str) -> None:
    """Print the facts."""
    sys.stdout.write("\n" + cookie + json.dumps(facts()) + cookie + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
