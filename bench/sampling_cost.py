#!/usr/bin/env python3
"""Compares a program that is sampled with one that is not recorded at all, below the same object.

usage: sampling_cost.py [options] BUILD_DIR...

Every workload (programs.py) runs with liballoctap-run-chosen.so preloaded, once with recording off
(it was told nothing, so every call passes through), once under alloctap-run --sample, in turn, once
a round. CPU is user and system time of the process; "ratio" sampled / off; "ns" the CPU time added
per allocation with its free. What sampling costs at the start and at the end, of which a long
program feels nothing, is measured with a program that does nothing else ("true"): "without start"
is the ratio with that taken off.
"""

import argparse
import json
import pathlib
import statistics
import tempfile

import programs
import tracking

OFF = "off"
START = "true"
RATIO_TARGET = 1.03


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-n", "--rounds", type=int, default=11, help="runs of each (default: 11)")
    parser.add_argument(
        "--least", action="store_true", help="the least of all rounds: others use the machine"
    )
    parser.add_argument("--sample", default="512K", help="bytes between samples (default: 512K)")
    parser.add_argument("--workloads", default="", help="names, with commas between (default: all)")
    parser.add_argument(
        "--scale", type=float, default=1, help="operations of our own programs (default: 1)"
    )
    parser.add_argument("--json", metavar="FILE", help="write all numbers there too")
    parser.add_argument("build_directories", nargs="+", metavar="BUILD_DIR")
    return parser.parse_args()


def ways_of(build_directories, sample, folder):
    """Off and sampled, for each build."""
    ways = []
    for directory in build_directories:
        mark = tracking.mark_of(directory, build_directories)
        library = pathlib.Path(directory).resolve() / "lib/alloctap/liballoctap-run-chosen.so"
        ways.append(tracking.Way(mark + OFF, environment={"LD_PRELOAD": str(library)}))
        options = [f"--sample={sample}"]
        ways.append(tracking.alloctap_way(directory, options, mark + sample, folder))
    return ways


def cpu_times(runner, command, ways, rounds, estimate):
    """Way -> CPU seconds."""
    costs = {way.name: [] for way in ways}
    for _ in range(rounds):
        for way in ways:
            costs[way.name].append(runner.run(command, way).cpu)
    return {way: estimate(times) for way, times in costs.items()}


def compare(times, start, allocations):
    """Sampled way -> its numbers. Ways come in pairs: off, sampled."""
    names = list(times)
    rows = {}
    for off, sampled in zip(names[::2], names[1::2]):
        added = times[sampled] - times[off]
        rest = added - (start[sampled] - start[off])
        rows[sampled] = {
            "cpu_off": times[off],
            "cpu_sampled": times[sampled],
            "ratio": 1 + added / times[off],
            "without_start": 1 + rest / times[off],
            "added_ns": 1e9 * rest / allocations,
        }
    return rows


def print_program(name, allocations, rows):
    for way, row in rows.items():
        print(
            f"{name:20} {way:18} {allocations:>10,} {row['cpu_off']:7.3f} {row['ratio']:7.3f}"
            f" {row['without_start']:14.3f} {row['added_ns']:6.1f}",
            flush=True,
        )


def measure_all(arguments, folder):
    build = arguments.build_directories[0]
    runner = tracking.Runner(build, folder)
    ways = ways_of(arguments.build_directories, arguments.sample, folder)
    estimate = min if arguments.least else statistics.median
    start = cpu_times(runner, [START], ways, 2 * arguments.rounds, estimate)
    text = ", ".join(f"{way} {1e3 * time:.1f} ms" for way, time in start.items())
    print("CPU time of a program that does nothing: " + text)
    print(
        f"{'program':20} {'way':18} {'allocations':>10} {'off s':>6} {'ratio':>7}"
        f" {'without start':>14} {'ns':>6}"
    )
    results = {}
    wanted = [word for word in arguments.workloads.split(",") if word]
    for program in programs.installed_programs(folder, build, wanted, arguments.scale):
        allocations = tracking.totals_of(program.command, build, folder)["allocations"]
        times = cpu_times(runner, program.command, ways, arguments.rounds, estimate)
        results[program.name] = compare(times, start, allocations)
        print_program(program.name, allocations, results[program.name])
    return {"start": start, "programs": results}


def print_means(results):
    """Over all programs."""
    rows = list(results["programs"].values())
    for way in rows[0]:
        for part in ("ratio", "without_start"):
            mean = statistics.geometric_mean(row[way][part] for row in rows)
            print(f"{way}: {part.replace('_', ' ')}: geometric mean {mean:.3f}"
                  f" (target {RATIO_TARGET})")


def main():
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory() as name:
        results = measure_all(arguments, pathlib.Path(name))
    if not results["programs"]:
        raise SystemExit("sampling_cost.py: none of the programs is installed")
    print_means(results)
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
