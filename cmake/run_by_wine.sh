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
# Debian's wine64 starts a server that ends with its last program. A program that comes in that moment
# loses its connection, and dies of it. This one stays a minute. So do Wine's services: started by the
# program, they would hold its output open all that time, and who reads it would wait for its end.
# (Where a server runs already, the next one ends at once, with another status.)
begin_session() {
  flock 9 || true
  if /usr/lib/wine/wineserver64 -p60 9>&-; then
    /usr/lib/wine/wine64 wineboot.exe 9>&- || true
  fi
}
begin_session 9>"$WINEPREFIX/.alloctap-lock" </dev/null >/dev/null 2>&1

exec /usr/lib/wine/wine64 "$@"
