#!/bin/sh
# Runs when the package has been linked into $PREFIX. Never fails the transaction: what goes wrong is said.
python=$PREFIX/bin/python
if [ -x "$python" ]; then
    "$python" -I "$PREFIX/share/torchinstall/link.py" post-link "$PREFIX" && exit 0
    why="its link script failed"
else
    why="there is no Python in $PREFIX"
fi
printf 'torchinstall: torch was not installed: %s; later: "%s/bin/torchinstall" --python "%s"\n' \
    "$why" "$PREFIX" "$python" >>"$PREFIX/.messages.txt"
exit 0
