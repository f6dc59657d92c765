#!/usr/bin/env python3
"""Prints what capturing a stack takes, by depth: our policies and other unwinders.

usage: capture_cost.py [options] BUILD_DIR

Runs stack_capture_bench, whose code has frame pointers, and stack_capture_ordinary_bench, whose
code has none, in turn, ROUNDS times, and shows medians in ns. "identify" is what a tracker does for
an allocation; "frames" writes every frame, which is all that the others can do. "steady" captures
come from one stack; between two "varying" ones the program returns and calls again, and the time of
`none`, which is that of the calls, is taken off. "(captured)" is how many frames were found: the
fewest and the most where ways differ. The stack_capture_bench.exe of a build for Windows is run by
Wine where this is not Windows.
"""

import argparse
import collections
import itertools
import json
import os
import pathlib
import statistics
import subprocess

import tracking

CALLS_ALONE = "none"
RUN_BY_WINE = pathlib.Path(__file__).resolve().parent.parent / "cmake" / "run_by_wine.sh"


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-n", "--rounds", type=int, default=5, help="default: 5")
    parser.add_argument("--min-time", default="0.05", help="seconds of one run (default: 0.05)")
    parser.add_argument("--filter", default="", help="only names that match this regex")
    parser.add_argument("--least", action="store_true", help="least of all rounds, not medians")
    parser.add_argument(
        "--versus", metavar="WHO", help="show time / that of WHO too, and how far rounds lie apart"
    )
    parser.add_argument("--json", metavar="FILE", help="write all numbers there too")
    parser.add_argument("build_directory", metavar="BUILD_DIR")
    return parser.parse_args()


def commands_of(build_directory):
    windows = pathlib.Path(build_directory).resolve() / "bin" / "stack_capture_bench.exe"
    if not windows.exists():
        names = ("stack_capture_bench", "stack_capture_ordinary_bench")
        return [[tracking.executable(build_directory, name)] for name in names]
    return [[windows] if os.name == "nt" else ["sh", RUN_BY_WINE, windows]]


def run_once(command, arguments):
    """(name, time in ns, frames) of every benchmark."""
    output = subprocess.run(
        [
            *command,
            f"--benchmark_filter={arguments.filter or '.'}",
            f"--benchmark_min_time={arguments.min_time}",
            "--benchmark_format=json",
        ],
        stdout=subprocess.PIPE,
        stderr=None if RUN_BY_WINE in command else subprocess.DEVNULL,
        text=True,
        check=True,
    )
    # Nothing is written where no name matches. Windows knows no CPU time of so little work.
    benchmarks = json.loads(output.stdout)["benchmarks"] if output.stdout else []
    return [(b["name"], b.get("cpu_time", b["real_time"]), b["frames"]) for b in benchmarks]


def run_all(arguments):
    """Two of (what, pattern) -> who -> depth: the times of all rounds in ns, and the frames."""
    times, frames = (collections.defaultdict(lambda: collections.defaultdict(dict)) for _ in "tf")
    commands = commands_of(arguments.build_directory) * arguments.rounds
    for name, time, captured in itertools.chain(*(run_once(one, arguments) for one in commands)):
        what, pattern, who, depth = name.split("/")
        title, depth = f"{what}, {pattern}", int(depth)
        times[title][who].setdefault(depth, []).append(time)
        frames[title][who][depth] = captured
    return times, frames


def without_calls(title, table, summarize):
    """The summary of each list of times, and those of its rounds."""
    calls = table.get(CALLS_ALONE, {}) if "varying" in title else {}
    summaries = collections.defaultdict(dict)
    rounds = collections.defaultdict(dict)
    for who, row in table.items():
        if calls and who == CALLS_ALONE:
            continue
        for depth, times in row.items():
            off = calls.get(depth, [0] * len(times))
            summaries[who][depth] = summarize(times) - summarize(off)
            rounds[who][depth] = [a - b for a, b in zip(times, off)]
    return summaries, rounds


def print_table(title, table, frames):
    depths = sorted({depth for row in table.values() for depth in row})
    print(f"{title:26}" + "".join(f"{depth:>9}" for depth in depths))
    for who, row in table.items():
        cells = (f"{row[depth]:9.1f}" if depth in row else f"{'-':>9}" for depth in depths)
        print(f"  {who:24}" + "".join(cells))
    walks = [row for who, row in frames.items() if who != CALLS_ALONE]
    if walks:
        cells = (range_of([row[depth] for row in walks if depth in row]) for depth in depths)
        print(f"  {'(captured)':24}" + "".join(f"{cell:>9}" for cell in cells))


def range_of(numbers):
    if not numbers:
        return "-"
    return "-".join(sorted({f"{bound:.0f}" for bound in (min(numbers), max(numbers))}, key=float))


def print_ratios(title, table, rounds, versus):
    """The ratio of the summaries; behind it (largest - smallest) / that, of the rounds' ratios."""
    others = [who for who in table if who not in (versus, CALLS_ALONE)]
    if versus not in table or not others:
        return
    depths = sorted(table[versus])
    print(f"{title + ' / ' + versus:36}" + "".join(f"{depth:>13}" for depth in depths))
    for who in others:
        cells = ""
        for depth in depths:
            if depth not in table[who]:
                cells += f"{'-':>13}"
                continue
            ratio = table[who][depth] / table[versus][depth]
            singles = [a / b for a, b in zip(rounds[who][depth], rounds[versus][depth])]
            cells += f"{ratio:7.2f} {(max(singles) - min(singles)) / ratio:5.0%}"
        print(f"  {who:34}" + cells)


def main():
    arguments = parse_arguments()
    all_times, frames = run_all(arguments)
    if not all_times:
        raise SystemExit(f"no benchmark was run: no name matches {arguments.filter!r}, or no rounds")
    summarize = min if arguments.least else statistics.median
    tables = {}
    for title, times in all_times.items():
        tables[title], rounds = without_calls(title, times, summarize)
        print_table(title, tables[title], frames[title])
        if arguments.versus:
            print_ratios(title, tables[title], rounds, arguments.versus)
    if arguments.json:
        results = {"nanoseconds": tables, "frames": frames}
        pathlib.Path(arguments.json).write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
