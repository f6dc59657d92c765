#!/bin/sh
# usage: check_needed.sh OBJECT
# Succeeds if OBJECT makes the loader load the C library at most.
set -eu
needed=$(LC_ALL=C readelf --dynamic --wide "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
for library in $needed; do
  case $library in
    libc.so.* | libm.so.* | ld-linux*.so.*) ;;
    *)
      echo "check_needed.sh: $1 needs $library" >&2
      exit 1
      ;;
  esac
done
