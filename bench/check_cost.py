#!/usr/bin/env python3
"""Measures what checks and guard pages cost whole programs, beside other tools.

usage: check_cost.py [options] BUILD_DIR

Every workload (programs.py) runs under alloctap-run with OPTIONS, and in each of the ways that it is
compared with, in turn, once a round: untracked, plain (alloctap-run as it comes), heaptrack and
memcheck. CPU is user and system time of the process; a column has the median, over all rounds, of
that with OPTIONS / that of the other way, and "spread" is how far the ratios of the first one lie
apart. To hold: --options=--guard-pages=1/1000 at most 1.05 times plain.
"""

import argparse
import json
import pathlib
import statistics
import tempfile

import programs
import tracking

PLAIN = "plain"
WAYS = [tracking.UNTRACKED, PLAIN, tracking.HEAPTRACK, tracking.MEMCHECK]


def names(text):
    return [word for word in text.split(",") if word]


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-n", "--rounds", type=int, default=11, help="runs of each (default: 11)")
    parser.add_argument(
        "--options",
        type=str.split,
        default=["--guard-pages=1/1000"],
        help="alloctap-run's, with spaces between (default: --guard-pages=1/1000)",
    )
    parser.add_argument(
        "--against",
        type=names,
        default=[PLAIN],
        help=f"what it is compared with, of {','.join(WAYS)} (default: {PLAIN})",
    )
    parser.add_argument(
        "--workloads", type=names, default=[], help="names, with commas between (default: all)"
    )
    parser.add_argument(
        "--scale", type=float, default=1, help="operations of our own programs (default: 1)"
    )
    parser.add_argument("--json", metavar="FILE", help="write all numbers there too")
    parser.add_argument("build_directory", metavar="BUILD_DIR")
    arguments = parser.parse_args()
    unknown = set(arguments.against) - set(WAYS)
    if unknown or not arguments.against:
        parser.error(f"--against: {', '.join(unknown) or 'nothing'}: there are {', '.join(WAYS)}")
    return arguments


def other_ways(arguments, folder):
    """Those of --against whose tools are installed."""
    known = {
        tracking.UNTRACKED: tracking.Way(tracking.UNTRACKED),
        PLAIN: tracking.alloctap_way(arguments.build_directory, [], PLAIN, folder),
        tracking.HEAPTRACK: tracking.heaptrack_way(folder),
        tracking.MEMCHECK: tracking.memcheck_way(),
    }
    return [known[name] for name in arguments.against if known[name]]


def ratios_of(runner, command, checked, others, rounds):
    """Name of the other way -> ratios of CPU times, one a round."""
    ratios = {way.name: [] for way in others}
    for _ in range(rounds):
        cost = runner.run(command, checked).cpu
        for way in others:
            ratios[way.name].append(cost / runner.run(command, way).cpu)
    return ratios


def measure_all(arguments, folder):
    """Program -> the other way -> the median ratio."""
    build = arguments.build_directory
    checked = tracking.alloctap_way(build, arguments.options, "checked", folder)
    others = other_ways(arguments, folder)
    runner = tracking.Runner(build, folder)
    columns = "".join(f"{'/ ' + way.name:>13}" for way in others)
    print(f"{' '.join(arguments.options)}\n{'program':20}{columns}{'spread':>8}")
    medians = {}
    chosen = programs.installed_programs(folder, build, arguments.workloads, arguments.scale)
    for program in chosen:
        ratios = ratios_of(runner, program.command, checked, others, arguments.rounds)
        medians[program.name] = {name: statistics.median(row) for name, row in ratios.items()}
        first = ratios[others[0].name]
        cells = "".join(f"{ratio:13.3f}" for ratio in medians[program.name].values())
        print(f"{program.name:20}{cells}{max(first) - min(first):8.3f}", flush=True)
    return medians


def main():
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory() as name:
        medians = measure_all(arguments, pathlib.Path(name))
    if not medians:
        raise SystemExit("check_cost.py: none of the programs is installed")
    columns = zip(*(row.values() for row in medians.values()))
    means = "".join(f"{statistics.geometric_mean(column):13.3f}" for column in columns)
    print(f"{'geometric mean':20}{means}")
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(medians, indent=1) + "\n")


if __name__ == "__main__":
    main()
