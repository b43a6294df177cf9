#!/bin/sh
# Proves the torch of the image on the device that it was started with, then runs the command.
#   TORCHINSTALL_GUARD=warn  goes on though the proof fails;  off  doesn't ask for it
set -eu

case ${TORCHINSTALL_GUARD:-strict} in
    off) ;;
    warn) torchinstall verify --quiet >&2 || printf 'torchinstall: going on, as TORCHINSTALL_GUARD=warn says\n' >&2 ;;
    strict) torchinstall verify --quiet >&2 ;;
    *)
        printf 'torchinstall: TORCHINSTALL_GUARD=%s is none of strict, warn and off\n' "$TORCHINSTALL_GUARD" >&2
        exit 2
        ;;
esac
exec "$@"
