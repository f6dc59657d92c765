#!/usr/bin/env python3
"""Runs tests of CPython's own suite by themselves and under alloctap-run, and prints what differs.

usage: tests/cpython_tests.py ALLOCTAP_RUN [TEST...]

Needs Debian's package libpython3.11-testsuite. By hand: it takes half an hour. Without TEST, those that
start threads and processes, send signals or ask for descriptors. Exit code 1 if a test passes by itself
and not under the tracker.
"""
import os
import signal
import subprocess
import sys
import tempfile
import time

TESTS = ["test_threading", "test_subprocess", "test_multiprocessing_fork", "test_signal",
         "test_asyncio", "test_os"]
HOOKS = ["interpose", "plt", "inline"]
TIMEOUT_S = 1200


def run(prefix, test):
    """Whether `test` passes behind `prefix`, how long it takes in seconds, and its last lines."""
    command = prefix + [sys.executable, "-m", "test", test]
    start = time.monotonic()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                   start_new_session=True)
        try:
            code = process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            code = f"no end in {TIMEOUT_S} s"
        output.seek(0)
        lines = output.read().decode(errors="replace").splitlines()
    return code == 0, time.monotonic() - start, lines[-40:]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    alloctap_run, tests = os.path.abspath(sys.argv[1]), sys.argv[2:] or TESTS
    differs = False
    with tempfile.TemporaryDirectory() as reports:
        for test in tests:
            passed, seconds, _ = run([], test)
            print(f"{test} alone: {'passes' if passed else 'FAILS'}, {seconds:.0f} s", flush=True)
            for hook in HOOKS:
                for follow in [[], ["--follow-children"]]:
                    prefix = [alloctap_run, f"--hook={hook}", f"--dump=text={reports}/%p.txt", *follow, "--"]
                    tracked, seconds, lines = run(prefix, test)
                    print(f"{test} {hook} {' '.join(follow)}: {'passes' if tracked else 'FAILS'}, "
                          f"{seconds:.0f} s", flush=True)
                    if passed and not tracked:
                        differs = True
                        print("\n".join(lines), flush=True)
    sys.exit(differs)


if __name__ == "__main__":
    main()
