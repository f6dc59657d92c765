#!/usr/bin/env python3
"""Compares the time of a report in JSON with the time that heaptrack_print takes for its own file.

usage: dump_time.py [options] BUILD_DIR

The program (many_stacks) ends with many live blocks from many stacks. A report's time is that of a
run that writes one, less that of a run whose report goes to a pipe that nobody reads, which ends
before anything is named. heaptrack_print reads, names nothing any more and prints what heaptrack
wrote of the same program; heaptrack_interpret has named it before, in a process of its own, and is
not counted.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile
import time

import tracking


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-n", "--rounds", type=int, default=5)
    parser.add_argument("--blocks", type=int, default=1_000_000)
    parser.add_argument("--stacks", type=int, default=50_000)
    parser.add_argument("--format", default="json", help="another of alloctap-run's formats")
    parser.add_argument("--tmp", help="where the files go")
    parser.add_argument("--json", metavar="FILE", help="write all numbers there too")
    parser.add_argument("build_directory", metavar="BUILD_DIR")
    return parser.parse_args()


def seconds_of(command):
    start = time.monotonic()
    result = subprocess.run(
        command, env=tracking.ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    if result.returncode != 0:
        raise SystemExit(f"dump_time.py: {command} failed:\n{result.stderr.decode()}")
    return time.monotonic() - start


class Comparison:
    def __init__(self, arguments, folder):
        build = arguments.build_directory
        self._program = [
            str(tracking.executable(build, "many_stacks")),
            str(arguments.blocks),
            str(arguments.stacks),
        ]
        self._unread = tracking.alloctap_way(build, [], "alloctap", folder)
        self.dump = folder / "dump"
        tool = str(tracking.executable(build, "alloctap-run"))
        self._reporting = [tool, f"--dump={arguments.format}={self.dump}", "--"]
        self._data = folder / "heaptrack"

    def record_with_heaptrack(self):
        """The file that heaptrack made of a run."""
        seconds_of(["heaptrack", "-o", str(self._data), *self._program])
        (self._file,) = self._data.parent.glob("heaptrack.*")

    def round(self):
        """The seconds of a report, and of heaptrack_print."""
        without = seconds_of([*self._unread.front, *self._program])
        reporting = seconds_of([*self._reporting, *self._program])
        return reporting - without, seconds_of(["heaptrack_print", "-f", str(self._file)])


def main():
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory(dir=arguments.tmp) as name:
        comparison = Comparison(arguments, pathlib.Path(name))
        comparison.record_with_heaptrack()
        rounds = [comparison.round() for _ in range(arguments.rounds)]
        size = comparison.dump.stat().st_size
    ours, theirs = (statistics.median(seconds) for seconds in zip(*rounds))
    print(
        f"{arguments.blocks:,} live blocks, {arguments.stacks:,} stacks:"
        f" {arguments.format} of {size / 2**20:.1f} MiB in {ours:.2f} s;"
        f" heaptrack_print {theirs:.2f} s; ratio {ours / theirs:.2f} (target 1)"
    )
    if arguments.json:
        results = {"report_seconds": ours, "heaptrack_print_seconds": theirs, "bytes": size}
        pathlib.Path(arguments.json).write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
