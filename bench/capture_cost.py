#!/usr/bin/env python3
"""Prints what capturing a stack takes, by depth: our policies and other unwinders.

usage: capture_cost.py [options] BUILD_DIR

Runs stack_capture_bench ROUNDS times and shows medians in ns. "identify" is what a tracker does for
an allocation; "frames" writes every frame, which is all that the others can do. "steady" captures
come from one stack; between two "varying" ones the program returns and calls again, and the time of
`none`, which is that of the calls, is taken off.
"""

import argparse
import collections
import json
import pathlib
import statistics
import subprocess

import tracking

CALLS_ALONE = "none"


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-n", "--rounds", type=int, default=5, help="default: 5")
    parser.add_argument("--min-time", default="0.05", help="seconds of one run (default: 0.05)")
    parser.add_argument("--filter", default="", help="only names that match this regex")
    parser.add_argument("--json", metavar="FILE", help="write all numbers there too")
    parser.add_argument("build_directory", metavar="BUILD_DIR")
    return parser.parse_args()


def run_once(arguments):
    """(name, time in ns) of every benchmark."""
    output = subprocess.run(
        [
            tracking.executable(arguments.build_directory, "stack_capture_bench"),
            f"--benchmark_filter={arguments.filter or '.'}",
            f"--benchmark_min_time={arguments.min_time}",
            "--benchmark_format=json",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
    )
    return [(b["name"], b["cpu_time"]) for b in json.loads(output.stdout)["benchmarks"]]


def medians(arguments):
    """(what, pattern) -> who -> depth -> ns."""
    times = collections.defaultdict(list)
    for _ in range(arguments.rounds):
        for name, time in run_once(arguments):
            times[name].append(time)
    tables = collections.defaultdict(lambda: collections.defaultdict(dict))
    for name, values in times.items():
        what, pattern, who, depth = name.split("/")
        tables[f"{what}, {pattern}"][who][int(depth)] = statistics.median(values)
    return tables


def without_calls(title, table):
    calls = table.get(CALLS_ALONE)
    if "varying" not in title or calls is None:
        return table
    return {
        who: {depth: time - calls[depth] for depth, time in row.items()}
        for who, row in table.items()
        if who != CALLS_ALONE
    }


def print_table(title, table):
    depths = sorted({depth for row in table.values() for depth in row})
    print(f"{title:26}" + "".join(f"{depth:>9}" for depth in depths))
    for who, row in table.items():
        cells = (f"{row[depth]:9.1f}" if depth in row else f"{'-':>9}" for depth in depths)
        print(f"  {who:24}" + "".join(cells))


def main():
    arguments = parse_arguments()
    tables = {title: without_calls(title, t) for title, t in medians(arguments).items()}
    for title, table in tables.items():
        print_table(title, table)
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(tables, indent=1) + "\n")


if __name__ == "__main__":
    main()
