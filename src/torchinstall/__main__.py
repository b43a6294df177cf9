"""``python -m torchinstall`` and the console script."""

import sys


def run() -> None:
    """Run the command line and leave with its exit code."""
    from torchinstall.cli.main import main

    sys.exit(main(sys.argv[1:]))


if __name__ == "__main__":
    run()
