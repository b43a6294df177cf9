#!/bin/sh
# Runs before the package leaves $PREFIX: takes with it what its link script added.
"$PREFIX/bin/python" -I "$PREFIX/share/torchinstall/link.py" pre-unlink "$PREFIX" || :
exit 0
