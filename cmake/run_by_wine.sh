#!/bin/sh
# usage: sh cmake/run_by_wine.sh PROGRAM [ARGUMENTS...]
# Runs a Windows program by Debian's wine64, without a display and without messages of Wine's own, in
# a Wine home of its own below $XDG_CACHE_HOME/alloctap. Its exit status is the program's.
set -eu

export WINEPREFIX="${WINEPREFIX:-${XDG_CACHE_HOME:-$HOME/.cache}/alloctap/wine}"
export WINEDEBUG="${WINEDEBUG:--all}"
# Neither .NET nor a browser, which Wine offers to download.
export WINEDLLOVERRIDES="${WINEDLLOVERRIDES:-mscoree,mshtml=}"
unset DISPLAY
mkdir -p "$WINEPREFIX"

exec /usr/lib/wine/wine64 "$@"
