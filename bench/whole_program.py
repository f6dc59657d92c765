#!/usr/bin/env python3
"""Compares what tracking costs whole programs: alloctap-run, with each --stack, and heaptrack.

usage: whole_program.py [-n RUNS] [--only PROGRAM,...] [--stacks STACK,...] BUILD_DIR...

Every program of workloads/ runs untracked and tracked in turn, RUNS times; tables show ratios of
medians. System time belongs to the picture: it holds what fresh memory costs. With several build
directories each is a way of its own, so two versions can be compared. heaptrack, where it is
installed, counts twice: what it costs inside the program, and with its process that interprets.
"""

import argparse
import collections
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile

WORKLOADS = pathlib.Path(__file__).resolve().parent / "workloads"
HEAPTRACK_OBJECT = "lib/heaptrack/libheaptrack_preload.so"
ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "LC_ALL": "C",
    "PERL_HASH_SEED": "0",
    "PYTHONHASHSEED": "0",
    "PYTHONMALLOC": "malloc",
}
UNTRACKED = "untracked"
HEAPTRACK = "heaptrack"

# `both` is user and system time.
Cost = collections.namedtuple("Cost", "user both resident")


def write_inputs(folder):
    items = (
        f'{{"id": {i}, "name": "item {i}", "tags": ["a{i % 7}", "b{i % 11}"]}}'
        for i in range(15000)
    )
    (folder / "items.json").write_text("[" + ",\n".join(items) + "]\n")
    items = (
        f'<item id="{i}"><name>item {i}</name><tag>a{i % 7}</tag></item>' for i in range(60000)
    )
    (folder / "items.xml").write_text("<items>" + "\n".join(items) + "</items>\n")


def programs(folder):
    """Name -> command, of those that are installed."""
    every = [
        ["sqlite3", ":memory:", f".read {WORKLOADS}/sqlite3.sql"],
        ["python3", "-S", f"{WORKLOADS}/python3.py"],
        ["perl", f"{WORKLOADS}/perl.pl"],
        ["jq", "-c", "-f", f"{WORKLOADS}/jq.jq", f"{folder}/items.json"],
        ["xmllint", "--noout", "--xpath", "count(//item[tag='a3'])", f"{folder}/items.xml"],
    ]
    return {c[0]: c for c in every if shutil.which(c[0], path=ENVIRONMENT["PATH"])}


def ways_to_track(build_directories, stacks, folder):
    """Name -> (what goes in front of the command, what goes into its environment)."""
    ways = {UNTRACKED: ([], {})}
    for directory in build_directories:
        mark = pathlib.Path(directory).name + ":" if len(build_directories) > 1 else ""
        tool = str(pathlib.Path(directory) / "bin" / "alloctap-run")
        if not shutil.which(tool):
            raise SystemExit(f"whole_program.py: no {tool}; build the release preset first")
        for stack in stacks:
            front = [tool, f"--stack={stack}", f"--dump=text={folder}/report", "--"]
            ways[mark + stack] = (front, {})
    heaptrack = shutil.which(HEAPTRACK, path=ENVIRONMENT["PATH"])
    if heaptrack:
        preload = pathlib.Path(heaptrack).resolve().parent.parent / HEAPTRACK_OBJECT
        inside = {"LD_PRELOAD": str(preload), "DUMP_HEAPTRACK_OUTPUT": "/dev/null"}
        ways[f"{HEAPTRACK} inside"] = ([], inside)
        ways[HEAPTRACK] = ([heaptrack, "-o", f"{folder}/heaptrack"], {})
    return ways


def cost_of(command, extra_environment):
    with tempfile.TemporaryFile() as complaints:
        process = subprocess.Popen(
            command,
            env=ENVIRONMENT | extra_environment,
            stdout=subprocess.DEVNULL,
            stderr=complaints,
        )
        # Counts what the command has waited for too: heaptrack's interpreter, for one.
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            complaints.seek(0)
            raise SystemExit(f"{command} failed:\n{complaints.read().decode(errors='replace')}")
    return Cost(usage.ru_utime, usage.ru_utime + usage.ru_stime, usage.ru_maxrss)


def measure(command, ways, runs):
    """Way -> Cost, each number the median of its own."""
    costs = {way: [] for way in ways}
    for _ in range(runs):
        for way, (front, environment) in ways.items():
            costs[way].append(cost_of(front + command, environment))
    return {way: Cost(*map(statistics.median, zip(*of_way))) for way, of_way in costs.items()}


def print_table(title, results, part, base):
    ways = [way for way in next(iter(results.values())) if way not in (UNTRACKED, base)]
    widths = [max(len(way), 6) for way in ways]
    print(f"\n{title}\n{'':8}  " + "  ".join(f"{w:>{n}}" for w, n in zip(ways, widths)))
    for program, costs in results.items():
        ratios = (getattr(costs[way], part) / getattr(costs[base], part) for way in ways)
        print(f"{program:8}  " + "  ".join(f"{r:{n}.2f}" for r, n in zip(ratios, widths)))


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-n", "--runs", type=int, default=5, help="runs of each (default: 5)")
    parser.add_argument("--only", default="", help="programs, with commas between")
    parser.add_argument("--stacks", default="none,frame-pointer,backtrace")
    parser.add_argument("build_directories", nargs="+", metavar="BUILD_DIR")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_inputs(folder)
        ways = ways_to_track(arguments.build_directories, arguments.stacks.split(","), folder)
        wanted = arguments.only.split(",") if arguments.only else programs(folder)
        results = {
            program: measure(command, ways, arguments.runs)
            for program, command in programs(folder).items()
            if program in wanted
        }
    if not results:
        raise SystemExit("whole_program.py: none of the programs is installed")
    print_table("user time / untracked", results, "user", UNTRACKED)
    print_table("user and system time / untracked", results, "both", UNTRACKED)
    print_table("peak resident memory / untracked", results, "resident", UNTRACKED)
    if HEAPTRACK in ways:
        print_table("user time / heaptrack", results, "user", HEAPTRACK)


if __name__ == "__main__":
    main()
