#!/bin/sh
# torchinstall in a conda environment: the environment's Python runs it, its own folder has its libraries.
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
exec "$here/python" -I "$here/../share/torchinstall/run.py" "$@"
