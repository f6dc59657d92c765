#!/bin/sh
# usage: sh cmake/run_by_qemu.sh PROGRAM [ARGUMENTS...]
# Runs an AArch64 program by qemu-user. Its exit status is the program's.
#
# A test may let the program have no more mappings, of which the emulator needs some of its own: so it
# takes the memory that it works with at once, in one piece. The program sees nothing of these settings.
set -eu

export MALLOC_ARENA_MAX=1 MALLOC_MMAP_MAX_=0 MALLOC_TOP_PAD_=$((512 * 1024 * 1024))
exec qemu-aarch64-static -U MALLOC_ARENA_MAX -U MALLOC_MMAP_MAX_ -U MALLOC_TOP_PAD_ "$@"
