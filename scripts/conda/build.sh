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
# A conda build forbids pip its requirements and index, for packages that conda is to provide; these are our own.
unset PIP_NO_DEPENDENCIES PIP_NO_INDEX PIP_NO_BUILD_ISOLATION PIP_IGNORE_INSTALLED
"$PREFIX/bin/python" -m pip install --disable-pip-version-check --no-compile --no-warn-script-location \
    --target "$home/site" "$@"

# Of the commands that came with the libraries only uv is called.
find "$home/site/bin" -type f ! -name 'uv*' -delete

# Compiled here, since the tool itself never writes into the environment.
"$PREFIX/bin/python" -m compileall -q "$home/site/torchinstall" "$home/site/packaging" "$home/site/resolvelib"

cp "$here/run.py" "$here/link.py" "$home/"
cp "$here/torchinstall.sh" "$PREFIX/bin/torchinstall"
cp "$here/post-link.sh" "$PREFIX/bin/.torchinstall-post-link.sh"
cp "$here/pre-unlink.sh" "$PREFIX/bin/.torchinstall-pre-unlink.sh"
chmod 755 "$PREFIX/bin/torchinstall" "$PREFIX/bin/.torchinstall-post-link.sh" "$PREFIX/bin/.torchinstall-pre-unlink.sh"
