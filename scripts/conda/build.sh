#!/bin/sh
# Fills the package: the tool in share/torchinstall, its command, and the two link scripts.
set -eu

home=$PREFIX/share/torchinstall
here=checkout/scripts/conda
mkdir -p "$home" "$PREFIX/bin"

if [ -n "${TORCHINSTALL_WHEELS:-}" ]; then
    set -- --no-index --find-links "$TORCHINSTALL_WHEELS" torchinstall
else
    set -- ./checkout
fi
"$PREFIX/bin/python" -m pip install --disable-pip-version-check --no-compile --no-warn-script-location \
    --target "$home/site" "$@"

cp "$here/run.py" "$here/link.py" "$home/"
cp "$here/torchinstall.sh" "$PREFIX/bin/torchinstall"
cp "$here/post-link.sh" "$PREFIX/bin/.torchinstall-post-link.sh"
cp "$here/pre-unlink.sh" "$PREFIX/bin/.torchinstall-pre-unlink.sh"
chmod 755 "$PREFIX/bin/torchinstall" "$PREFIX/bin/.torchinstall-post-link.sh" "$PREFIX/bin/.torchinstall-pre-unlink.sh"
