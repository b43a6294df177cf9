#!/bin/sh
# One line for a machine that has nothing but sh, and Python 3.10 or curl:
#
#   sh install.sh --venv .venv torch torchvision
#   curl -fsSL URL-OF-THIS-FILE | sh -s -- --venv .venv torch torchvision
#
# It runs torchinstall out of an environment of its own, and passes all arguments on: torch goes into your
# environment, never into the tool's. What runs it is the first of these that is here: uv, pipx, a Python with
# pip; where none is, curl or wget fetches uv (into a private folder, PATH stays as it is).
#
#   TORCHINSTALL_FROM           what is run: a requirement, a wheel, a checkout (default: torchinstall)
#   TORCHINSTALL_HOME           where the private environment lives
#   TORCHINSTALL_UV_INSTALLER   address of uv's installer, where the usual one can't be reached
set -eu

say() { printf 'torchinstall: %s\n' "$@" >&2; }

fail() {
    say "$@"
    exit 7
}

new_enough() {
    command -v "$1" >/dev/null 2>&1 && "$1" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null
}

find_python() {
    for candidate in "${TORCHINSTALL_BOOTSTRAP_PYTHON:-python3}" python3 python3.14 python3.13 python3.12 python3.11 python3.10 python; do
        if new_enough "$candidate"; then
            printf '%s' "$candidate"
            return 0
        fi
    done
    return 1
}

# A Python that can make an environment with pip in it; Debian's can't without python3-venv.
with_python() {
    python=$1
    shift
    key=$(printf '%s\n' "$from" "$("$python" -c 'import sys; print(sys.version, sys.base_prefix)')" | cksum | tr -d ' ')
    env=$home/one-line-$key
    if [ ! -f "$env/.ready" ]; then
        say "preparing its own environment in $env (once)"
        rm -rf "$env"
        mkdir -p "$home" || fail "$home can't be written; name another place in TORCHINSTALL_HOME"
        log=$env.log
        if ! {
            "$python" -m venv "$env" &&
                env -u PIP_TARGET -u PIP_PREFIX -u PIP_USER -u PIP_CONSTRAINT -u PIP_REQUIRE_VIRTUALENV -u PYTHONPATH \
                    "$env/bin/python" -m pip install --quiet --disable-pip-version-check "$from" &&
                : >"$env/torchinstall-private" && : >"$env/.ready"
        } >"$log" 2>&1; then
            tail -n 8 "$log" >&2
            rm -rf "$env"
            return 1
        fi
        rm -f "$log"
    fi
    exec "$env/bin/python" -I -m torchinstall "$@"
}

fetch() {
    if command -v curl >/dev/null 2>&1; then
        curl -fsSL "$1" -o "$2"
    elif command -v wget >/dev/null 2>&1; then
        wget -q "$1" -O "$2"
    else
        fail "there is neither uv, pipx nor a Python 3.10 with pip here, and neither curl nor wget to fetch uv" \
            "install Python (for example: apt-get install python3 python3-venv), then run this again"
    fi
}

with_fetched_uv() {
    uv=$home/uv/uv
    if [ ! -x "$uv" ]; then
        installer=${TORCHINSTALL_UV_INSTALLER:-https://astral.sh/uv/install.sh}
        mkdir -p "$home/uv" || fail "$home can't be written; name another place in TORCHINSTALL_HOME"
        say "fetching uv into $home/uv (once), by $installer"
        fetch "$installer" "$home/uv/install.sh" ||
            fail "$installer can't be reached" "name a mirror in TORCHINSTALL_UV_INSTALLER, or install Python 3.10 or newer"
        # Unmanaged: no PATH is edited and nothing updates itself.
        UV_UNMANAGED_INSTALL="$home/uv" sh "$home/uv/install.sh" >&2 || fail "uv's installer failed"
    fi
    exec "$uv" tool run --from "$from" torchinstall "$@"
}

# In a function, so that a download that breaks off runs nothing.
main() {
    home=${TORCHINSTALL_HOME:-${XDG_DATA_HOME:-${HOME:-/tmp}/.local/share}/torchinstall}
    from=${TORCHINSTALL_FROM:-torchinstall}
    # The variables are this script's; the tool would take them for options.
    unset TORCHINSTALL_FROM
    if command -v uv >/dev/null 2>&1; then
        exec uv tool run --from "$from" torchinstall "$@"
    fi
    if command -v pipx >/dev/null 2>&1; then
        exec pipx run --spec "$from" torchinstall "$@"
    fi
    if python=$(find_python); then
        with_python "$python" "$@" || say "$python can't make the environment; trying with uv"
    fi
    with_fetched_uv "$@"
}

main "$@"
