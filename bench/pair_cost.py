#!/usr/bin/env python3
"""Compares what tracking adds to a pair of malloc and free below stacks of several depths.

usage: pair_cost.py [options] BUILD_DIR...

pair_loop runs untracked, under alloctap-run and under heaptrack's preloaded object in turn, once a
round. It times the loop alone: CPU time of the process per pair, medians, in ns. "steady" pairs all
come from one stack; between two "varying" ones the program returns and calls again, up to 16
levels. "vs heaptrack" is the added time / heaptrack's.
"""

import argparse
import itertools
import json
import pathlib
import statistics
import tempfile

import tracking
from tracking import HEAPTRACK, UNTRACKED

# Added time / heaptrack's, steady on one thread.
TARGETS = {16: 1 / 6, 64: 1 / 6}


def listed(text):
    return [word for word in text.split(",") if word]


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-n", "--rounds", type=int, default=5, help="runs of each (default: 5)")
    parser.add_argument(
        "--least", action="store_true", help="the least of all rounds: others use the machine"
    )
    parser.add_argument("--depths", default="8,16,32,64,256")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--patterns", default="steady,varying")
    parser.add_argument("--pairs", type=int, default=1_000_000, help="of one run (default: 1e6)")
    parser.add_argument("--stacks", default="", help="choices of --stack (default: its default)")
    parser.add_argument("--hooks", default="", help="choices of --hook (default: its default)")
    parser.add_argument("--tmp", help="where heaptrack's raw data goes")
    parser.add_argument("--json", metavar="FILE", help="write all numbers there too")
    parser.add_argument("build_directories", nargs="+", metavar="BUILD_DIR")
    return parser.parse_args()


def measure(runner, command, ways, rounds):
    """Way -> list of what pair_loop said, one a round."""
    told = {way.name: [] for way in ways}
    for _ in range(rounds):
        for way in ways:
            told[way.name].append(json.loads(runner.run(command, way).output))
    return told


def summarize(told, estimate):
    """Way -> its times in ns per pair. `estimate` makes one number of a round's."""
    times_of = {
        way: {part: estimate(run[part] for run in runs) for part in ("cpu_ns", "wall_ns")}
        for way, runs in told.items()
    }
    untracked = times_of[UNTRACKED]["cpu_ns"]
    for way, times in times_of.items():
        every = [run["cpu_ns"] for run in told[way]]
        times["added_ns"] = times["cpu_ns"] - untracked
        times["spread"] = (max(every) - min(every)) / times["cpu_ns"]
    for way, times in times_of.items():
        if HEAPTRACK in times_of and way not in (UNTRACKED, HEAPTRACK):
            times["versus_heaptrack"] = times["added_ns"] / times_of[HEAPTRACK]["added_ns"]
    return times_of


def print_case(pattern, depth, threads, times):
    print(f"{pattern}, {depth} frames, {threads} thread{'s' if threads > 1 else ''}")
    for way, t in times.items():
        line = f"  {way:22} {t['cpu_ns']:8.1f} ns"
        if way != UNTRACKED:
            line += f"  added {t['added_ns']:8.1f} ns"
        if "versus_heaptrack" in t:
            line += f"  vs heaptrack {t['versus_heaptrack']:.3f}"
            if (pattern, threads) == ("steady", 1) and depth in TARGETS:
                line += f" (target {TARGETS[depth]:.3f})"
        print(line + f"  spread {t['spread']:.0%}", flush=True)


def measure_all(arguments, folder):
    build = arguments.build_directories[0]
    runner = tracking.Runner(build, folder)
    loop = str(tracking.executable(build, "pair_loop"))
    ways = tracking.ways_to_track(
        arguments.build_directories, listed(arguments.stacks), folder, listed(arguments.hooks)
    )
    depths = map(int, listed(arguments.depths))
    threads = map(int, listed(arguments.threads))
    results = []
    for case in itertools.product(listed(arguments.patterns), depths, threads):
        pattern, depth, thread_count = case
        command = [loop, str(depth), str(thread_count), str(arguments.pairs), pattern]
        told = measure(runner, command, ways, arguments.rounds)
        times = summarize(told, min if arguments.least else statistics.median)
        print_case(*case, times)
        results.append({"pattern": pattern, "depth": depth, "threads": thread_count, "ways": times})
    return results


def main():
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory(dir=arguments.tmp) as name:
        results = measure_all(arguments, pathlib.Path(name))
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
