#!/usr/bin/env python3
"""Runs two sets of benchmarks in turn and prints the ratio of their medians.

usage: compare.py [options] EXECUTABLE WORD OTHER_WORD
       compare.py [options] EXECUTABLE OTHER_EXECUTABLE

The first form compares each benchmark whose name holds WORD with the one whose name holds
OTHER_WORD in its place: compare.py build/release/bin/queue_bench DirectQueue BufferQueue. The
second compares benchmarks of the same name in two builds. A ratio above 1 means that the other one
takes longer.
"""

import argparse
import collections
import json
import re
import statistics
import subprocess


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("executable")
    parser.add_argument("others", nargs="+", metavar="WORD OTHER_WORD | OTHER_EXECUTABLE")
    parser.add_argument("-n", "--rounds", type=int, default=9, help="runs of each (default: 9)")
    parser.add_argument("--filter", default="", help="only names that match this regex")
    parser.add_argument("--min-time", default="0.1", help="seconds of one run (default: 0.1)")
    parser.add_argument("--wall", action="store_true", help="elapsed time instead of CPU time")
    arguments = parser.parse_args()
    if len(arguments.others) > 2:
        parser.error("give two words, or one other executable")
    return arguments


def names_in(executable):
    listed = subprocess.run(
        [executable, "--benchmark_list_tests"], capture_output=True, text=True, check=True
    )
    return listed.stdout.split()


def pairs_of(arguments):
    """((executable, name), (executable, name)) of what is to be compared."""
    wanted = [n for n in names_in(arguments.executable) if re.search(arguments.filter, n)]
    if len(arguments.others) == 1:
        other = arguments.others[0]
        present = set(names_in(other))
        candidates = [((arguments.executable, n), (other, n)) for n in wanted]
    else:
        word, other_word = arguments.others
        other = arguments.executable
        present = set(names_in(other))
        wanted = [n for n in wanted if word in n]
        candidates = [((other, n), (other, n.replace(word, other_word))) for n in wanted]
    return [pair for pair in candidates if pair[1][1] in present]


def run(executable, name, arguments):
    """The time of one run, in the benchmark's unit."""
    output = subprocess.run(
        [
            executable,
            "--benchmark_filter=^" + re.sub(r"[^\w/:-]", ".", name) + "$",
            "--benchmark_min_time=" + arguments.min_time,
            "--benchmark_format=json",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
    )
    result = json.loads(output.stdout)["benchmarks"][0]
    return result["real_time" if arguments.wall else "cpu_time"]


def main():
    arguments = parse_arguments()
    pairs = pairs_of(arguments)
    if not pairs:
        raise SystemExit("compare.py: no benchmark has a counterpart; see --benchmark_list_tests")
    times = collections.defaultdict(list)
    for _ in range(arguments.rounds):
        for pair in pairs:
            for side in pair:
                times[side].append(run(*side, arguments))
    first, second = [arguments.executable, *arguments.others][-2:]
    print(f"time of {second} / time of {first}")
    print_ratios(pairs, times)


def print_ratios(pairs, times):
    """`spread` is that of the ratios of single rounds."""
    print(f"{'ratio':>7}  {'spread':>6}  benchmark")
    for first, second in pairs:
        rounds = [b / a for a, b in zip(times[first], times[second])]
        ratio = statistics.median(times[second]) / statistics.median(times[first])
        spread = (max(rounds) - min(rounds)) / ratio
        print(f"{ratio:7.2f}  {spread:6.0%}  {first[1]}")


if __name__ == "__main__":
    main()
