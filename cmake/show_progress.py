#!/usr/bin/env python3
"""Runs ninja or ctest and shows how far it is, in a line every few seconds.

usage: show_progress.py WHAT COMMAND [ARGUMENT]...

Passes on whatever is not progress: warnings, errors, failed tests, summaries. Exits as COMMAND does.
"""

import re
import subprocess
import sys
import time

EVERY_SECONDS = 10
# ninja: "[12/600] Building CXX object a.o". ctest: " 12/257 Test #3: a ... Passed 0.10 sec", and
# "Start 4: b" when one begins.
STEP = re.compile(r"\[(\d+)/(\d+)\] (?:Building|Linking|Generating|Automatic)\b.*?(\S+)$")
PASSED = re.compile(r"\s*(\d+)/(\d+) Test +#\d+: (\S+) .*(?:Passed|Not Run \(Disabled\))")
BEGUN = re.compile(r"\s+Start +\d+: \S+$")
OTHER_STEP = re.compile(r"\[(\d+)/(\d+)\] ")


def clock(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


class Progress:
    """Prints the state of one command, at most every few seconds."""

    def __init__(self, what):
        self.what = what
        self.start = time.monotonic()
        self.printed = self.start

    def step(self, done, total, name):
        now = time.monotonic()
        if now - self.printed < EVERY_SECONDS and done < total:
            return
        self.printed = now
        spent = now - self.start
        left = f", about {clock(spent / done * (total - done))} to go" if done < total else ""
        print(f"{self.what}: {done} of {total} in {clock(spent)}{left}  {name}", flush=True)


def is_progress(line, progress):
    """Whether the line only says how far the command is. Shows it if it is time to."""
    text = line.rstrip("\n")
    match = STEP.match(text) or PASSED.match(text)
    if match:
        progress.step(int(match[1]), int(match[2]), match[3])
        return True
    return bool(BEGUN.match(text) or OTHER_STEP.match(text))


def main():
    if len(sys.argv) < 3:
        print(__doc__.strip().splitlines()[2], file=sys.stderr)
        return 2
    progress = Progress(sys.argv[1])
    with subprocess.Popen(sys.argv[2:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace") as command:
        for line in command.stdout:
            if not is_progress(line, progress):
                print(line, end="", flush=True)
    return command.returncode if command.returncode >= 0 else 128 - command.returncode


if __name__ == "__main__":
    sys.exit(main())
