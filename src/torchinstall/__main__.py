"""``python -m torchinstall`` and the console script."""

import sys


def run() -> None:
    """Run the command line and leave with its exit code: the console script."""
    import gc

    from torchinstall.cli.main import main

    # What a plan makes is needed to its end: looking for garbage meanwhile finds nothing.
    gc.set_threshold(100_000, 20, 20)
    code = main(sys.argv[1:])
    if _alone() and sys.gettrace() is None and sys.getprofile() is None:
        _leave(code)
    sys.exit(code)


def _alone() -> bool:
    """Tell whether no thread is left that Python would wait for."""
    threading = sys.modules.get("threading")
    return threading is None or all(
        thread.daemon for thread in threading.enumerate() if thread is not threading.main_thread()
    )


def _leave(code: int) -> None:
    """Leave without freeing every object first, which takes a tenth of a plan; what is registered for the end runs."""
    import atexit
    import os

    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        return  # the interpreter says what is wrong with a stream, and its exit code counts
    os._exit(code)


if __name__ == "__main__":
    from torchinstall.cli.main import main

    sys.exit(main(sys.argv[1:]))
