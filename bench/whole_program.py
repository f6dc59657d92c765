#!/usr/bin/env python3
"""Compares what tracking costs whole programs: alloctap-run, and heaptrack's preloaded object.

usage: whole_program.py [options] BUILD_DIR...

Every workload (programs.py) runs untracked and tracked in turn, once a round. Printed are medians:
CPU is user and system time of the process, so it holds what fresh memory costs; "ns" is the CPU
time added per allocation with its free; "vs heaptrack" the added CPU time / heaptrack's. What
counts as cost is said in tracking.py. With several build directories or stacks, each is a way of
its own, so two versions can be compared.
"""

import argparse
import dataclasses
import json
import pathlib
import statistics
import sys
import tempfile

import programs
import tracking
from tracking import HEAPTRACK, UNTRACKED

GEOMETRIC_MEAN_TARGET = 0.15
WORST_TARGET = 0.40
# Noise can make a cost nothing or less, which would make a geometric mean nothing too.
LEAST_RATIO = 0.01
# Throughput / heaptrack's at least, CPU time / untracked at most.
RATE_TARGETS = {"larson-2": (8, 2.5)}


@dataclasses.dataclass(frozen=True)
class Summary:
    """Of one program, run one way. Ratios are to untracked; rates are operations per second."""

    cpu_seconds: float
    cpu_ratio: float
    wall_ratio: float
    resident_ratio: float
    added_ns: float
    spread: float
    rate: float = None
    versus_heaptrack: float = None


def measure(runner, command, ways, rounds):
    """Way -> list of Cost, one a round."""
    costs = {way.name: [] for way in ways}
    for _ in range(rounds):
        for way in ways:
            costs[way.name].append(runner.run(command, way))
    return costs


def print_cost_of_start(runner, ways, rounds):
    """Part of every number that follows."""
    costs = measure(runner, ["true"], ways, rounds)
    medians = {way: value_of(runs, "cpu", statistics.median) for way, runs in costs.items()}
    times = (f"{way} {1e3 * median:.1f} ms" for way, median in medians.items())
    print("CPU time of a program that does nothing: " + ", ".join(times))


def value_of(costs, part, estimate):
    return estimate(getattr(cost, part) for cost in costs)


def rate_of(costs, estimate):
    """Operations per second."""
    told = [json.loads(cost.output) for cost in costs]
    return 1 / estimate(t["seconds"] / t["operations"] for t in told)


def spread_of(costs):
    times = [cost.cpu for cost in costs]
    return (max(times) - min(times)) / statistics.median(times)


def compared(added, way):
    return added[way] / added[HEAPTRACK] if HEAPTRACK in added and way != UNTRACKED else None


def summarize(program, costs, allocations, estimate):
    """Way -> Summary. `estimate` makes one number of a round's."""
    base = {part: value_of(costs[UNTRACKED], part, estimate) for part in tracking.PARTS}
    values = {
        way: {part: value_of(runs, part, estimate) for part in tracking.PARTS}
        for way, runs in costs.items()
    }
    added = {way: value["cpu"] - base["cpu"] for way, value in values.items()}
    return {
        way: Summary(
            cpu_seconds=value["cpu"],
            cpu_ratio=value["cpu"] / base["cpu"],
            wall_ratio=value["wall"] / base["wall"],
            resident_ratio=value["resident"] / base["resident"],
            added_ns=1e9 * added[way] / allocations,
            spread=spread_of(costs[way]),
            rate=rate_of(costs[way], estimate) if program.tells_rate else None,
            versus_heaptrack=compared(added, way),
        )
        for way, value in values.items()
    }


def number(value, form):
    return "-" if value is None else format(value, form)


HEADINGS = ["way", "CPU s", "CPU", "wall", "peak RSS", "ns", "vs heaptrack", "spread", "Mop/s"]


def print_row(cells):
    widths = [18, 7, 7, 7, 8, 8, 12, 6, 8]
    first, *others = zip(cells, widths)
    print(f"  {first[0]:{first[1]}}" + " ".join(f"{c:>{w}}" for c, w in others), flush=True)


def print_program(name, allocations, summaries):
    print(f"{name}: {allocations:,} allocations")
    for way, s in summaries.items():
        row = [way, f"{s.cpu_seconds:.3f}", f"{s.cpu_ratio:.2f}", f"{s.wall_ratio:.2f}"]
        row += [f"{s.resident_ratio:.2f}", f"{s.added_ns:.0f}"]
        row += [number(s.versus_heaptrack, ".3f"), f"{s.spread:.0%}"]
        row += [number(s.rate and s.rate / 1e6, ".2f")]
        print_row(row)


def print_totals(results, ways):
    """How each way of alloctap stands against heaptrack over all programs."""
    totals = {}
    for way in (w.name for w in ways if w.name not in (UNTRACKED, HEAPTRACK)):
        ratios = {p: result["ways"][way].versus_heaptrack for p, result in results.items()}
        mean = statistics.geometric_mean(max(r, LEAST_RATIO) for r in ratios.values())
        worst = max(ratios, key=ratios.get)
        totals[way] = {"geometric_mean": mean, "worst": ratios[worst], "worst_program": worst}
        print(
            f"{way}: added CPU / heaptrack's: geometric mean {mean:.3f}"
            f" (target {GEOMETRIC_MEAN_TARGET}), worst {ratios[worst]:.3f}"
            f" (target {WORST_TARGET}), {worst}"
        )
        for program in (p for p, ratio in ratios.items() if ratio < LEAST_RATIO):
            print(f"  {program}: lost in the noise; counted as {LEAST_RATIO}")
        print_rates(results, way)
    return totals


def print_rates(results, way):
    """Of the programs that tell their operations per second."""
    for program, result in results.items():
        rates = {name: s.rate for name, s in result["ways"].items()}
        if rates[way] is None:
            continue
        least, most = RATE_TARGETS.get(program, (None, None))
        print(
            f"  {program}: {rates[way] / rates[HEAPTRACK]:.1f} times heaptrack's throughput"
            + (f" (target {least})" if least else "")
            + f", {result['ways'][way].cpu_ratio:.2f} times the untracked CPU time"
            + (f" (target {most})" if most else "")
        )


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-n", "--rounds", type=int, default=5, help="runs of each (default: 5)")
    parser.add_argument(
        "--least", action="store_true", help="the least of all rounds: others use the machine"
    )
    parser.add_argument("--workloads", default="", help="names, with commas between (default: all)")
    parser.add_argument(
        "--stacks", default="", help="choices of --stack, with commas; 'all' (default: its default)"
    )
    parser.add_argument(
        "--scale", type=float, default=1, help="operations of our own programs (default: 1)"
    )
    parser.add_argument("--no-heaptrack", action="store_true", help="leave it out")
    parser.add_argument("--tmp", help="where heaptrack's raw data goes: up to 1 GB at a time")
    parser.add_argument("--json", metavar="FILE", help="write all numbers there too")
    parser.add_argument("build_directories", nargs="+", metavar="BUILD_DIR")
    return parser.parse_args()


def listed(text):
    return [word for word in text.split(",") if word]


def measure_all(arguments, ways, folder):
    """Program -> its allocations, its Summary and CPU times of each way."""
    build = arguments.build_directories[0]
    runner = tracking.Runner(build, folder)
    print_cost_of_start(runner, ways, arguments.rounds)
    print_row(HEADINGS)
    results = {}
    wanted = listed(arguments.workloads)
    for program in programs.installed_programs(folder, build, wanted, arguments.scale):
        allocations = tracking.totals_of(program.command, build, folder)["allocations"]
        costs = measure(runner, program.command, ways, arguments.rounds)
        estimate = min if arguments.least else statistics.median
        summaries = summarize(program, costs, allocations, estimate)
        print_program(program.name, allocations, summaries)
        results[program.name] = {
            "allocations": allocations,
            "ways": summaries,
            "cpu_seconds": {way: [c.cpu for c in runs] for way, runs in costs.items()},
        }
    return results


def write_results(path, results, totals):
    text = json.dumps({"programs": results, "totals": totals}, default=dataclasses.asdict, indent=1)
    pathlib.Path(path).write_text(text + "\n")


def main():
    arguments = parse_arguments()
    stacks = listed(arguments.stacks)
    if stacks == ["all"]:
        stacks = tracking.accepted_stacks(arguments.build_directories[0])
    with tempfile.TemporaryDirectory(dir=arguments.tmp) as name:
        folder = pathlib.Path(name)
        ways = tracking.ways_to_track(arguments.build_directories, stacks, folder)
        if arguments.no_heaptrack:
            ways = [way for way in ways if way.name != HEAPTRACK]
        results = measure_all(arguments, ways, folder)
    if not results:
        sys.exit("whole_program.py: none of the programs is installed")
    has_peer = any(way.name == HEAPTRACK for way in ways)
    totals = print_totals(results, ways) if has_peer else {}
    if arguments.json:
        write_results(arguments.json, results, totals)


if __name__ == "__main__":
    main()
