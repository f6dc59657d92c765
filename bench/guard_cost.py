#!/usr/bin/env python3
"""Compares a program that is tracked with one that is tracked and has some blocks beside guard pages.

usage: guard_cost.py [options] BUILD_DIR

Every workload (programs.py) runs under alloctap-run as it comes, and with --guard-pages, in turn,
once a round. CPU is user and system time of the process; "ratio" is the median, over all rounds, of
guarded / plain, and "spread" how far these ratios lie apart. To hold: 1.05 for 1/1000.
"""

import argparse
import pathlib
import statistics
import tempfile

import programs
import tracking

RATIO_TARGET = 1.05


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-n", "--rounds", type=int, default=11, help="runs of each (default: 11)")
    parser.add_argument("--guard-pages", default="1/1000", help="as alloctap-run's (default: 1/1000)")
    parser.add_argument("--workloads", default="", help="names, with commas between (default: all)")
    parser.add_argument(
        "--scale", type=float, default=1, help="operations of our own programs (default: 1)"
    )
    parser.add_argument("build_directory", metavar="BUILD_DIR")
    return parser.parse_args()


def ratios_of(runner, command, plain, guarded, rounds):
    """Of CPU times, one a round."""
    return [
        runner.run(command, guarded).cpu / runner.run(command, plain).cpu for _ in range(rounds)
    ]


def main():
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        build = arguments.build_directory
        plain = tracking.alloctap_way(build, [], "plain", folder)
        option = f"--guard-pages={arguments.guard_pages}"
        guarded = tracking.alloctap_way(build, [option], "guarded", folder)
        runner = tracking.Runner(build, folder)
        medians = []
        print(f"{'program':20}{'ratio':>8}{'spread':>8}")
        wanted = [word for word in arguments.workloads.split(",") if word]
        for program in programs.installed_programs(folder, build, wanted, arguments.scale):
            ratios = ratios_of(runner, program.command, plain, guarded, arguments.rounds)
            medians.append(statistics.median(ratios))
            spread = max(ratios) - min(ratios)
            print(f"{program.name:20}{medians[-1]:8.3f}{spread:8.3f}", flush=True)
        mean = statistics.geometric_mean(medians)
        print(f"geometric mean {mean:.3f}, worst {max(medians):.3f}; to hold: {RATIO_TARGET}")


if __name__ == "__main__":
    main()
