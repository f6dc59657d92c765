#!/bin/sh
# usage: sh cmake/with_aarch64_programs.sh COMMAND [ARGUMENT...]
# Runs COMMAND where programs for AArch64 can be executed like others, by qemu-user: in a user
# namespace with a binfmt_misc of its own, which Linux has since 6.7. Nothing else on the machine
# changes. Fails where that cannot be had.
set -eu

emulator=$(command -v qemu-aarch64-static)
# Files for AArch64 by their first bytes: the ELF header up to e_machine, any OS ABI, programs and
# position-independent ones. F: opened now; P: programs see the name that they were started by.
magic='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
rule=":qemu-aarch64:M::$magic:$mask:$emulator:FP"

# shellcheck disable=SC2016 # expanded by the inner shell
exec unshare --user --map-root-user --mount sh -euc '
  mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc
  printf %s "$1" >/proc/sys/fs/binfmt_misc/register
  shift
  exec "$@"' sh "$rule" "$@"
