#!/usr/bin/env python3
"""Compares what alloctap's stack table takes with heaptrack's tree of traces, for the same program.

usage: stack_memory.py [options] BUILD_DIR

The stacks that a report of alloctap-run names are put into a table of their own
(stack_table_bytes), whose bytes are those of whole chunks of the arena. heaptrack's preloaded
object writes a line `t` for each edge of its tree; an edge takes 40 bytes and lies in the vector of
its parent, whose capacity doubles (src/track/tracetree.h), in one block of the C library's. Both
cut stacks at the same number of frames: heaptrack knows no more than 64.
"""

import argparse
import collections
import json
import pathlib
import subprocess
import tempfile

import programs
import tracking

TARGET = 1.5
EDGE_BYTES = 40
HEAPTRACK_FRAMES = 64


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workloads", default="clang-19,cc1plus", help="names, with commas")
    parser.add_argument("--tmp", help="where heaptrack's raw data goes: up to 1 GB at a time")
    parser.add_argument("--json", metavar="FILE", help="write all numbers there too")
    parser.add_argument("build_directory", metavar="BUILD_DIR")
    return parser.parse_args()


def run_quietly(command, environment=None):
    subprocess.run(
        command,
        env=tracking.ENVIRONMENT | (environment or {}),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )


def stack_table(command, build_directory, folder):
    """What the table takes for the stacks of a run."""
    dump, stacks = folder / "dump.json", folder / "stacks"
    tool = tracking.executable(build_directory, "alloctap-run")
    options = [f"--max-frames={HEAPTRACK_FRAMES}", f"--dump=json={dump}"]
    run_quietly([str(tool), *options, "--", *command])
    report = json.loads(dump.read_text())
    addresses = [f"{frame['address']:x}" for frame in report["frames"]]
    with stacks.open("w") as file:
        for stack in report["stacks"]:
            file.write(" ".join(addresses[frame] for frame in stack["frames"]) + "\n")
    count = tracking.executable(build_directory, "stack_table_bytes")
    result = subprocess.run([str(count), str(stacks)], stdout=subprocess.PIPE, check=True)
    dump.unlink()
    return json.loads(result.stdout)


def bytes_of_block(size):
    """What the C library takes for it."""
    return max(32, (size + 8 + 15) // 16 * 16)


def trace_tree(command, folder):
    """What heaptrack's tree takes for the stacks of a run."""
    way = tracking.heaptrack_way(folder)
    if way is None:
        raise SystemExit("stack_memory.py: heaptrack is not installed")
    run_quietly(command, way.environment)
    children = collections.Counter()
    with way.raw.open(errors="replace") as raw:
        for line in raw:
            if line.startswith("t "):
                children[line.split()[2]] += 1
    way.raw.unlink()
    capacities = (1 << (count - 1).bit_length() for count in children.values())
    size = sum(bytes_of_block(EDGE_BYTES * capacity) for capacity in capacities)
    return {"edges": children.total(), "bytes": size}


def compare(program, build_directory, folder):
    table = stack_table(program.command, build_directory, folder)
    tree = trace_tree(program.command, folder)
    ratio = table["bytes"] / tree["bytes"]
    print(
        f"{program.name}: {table['stacks']:,} stacks, {table['frames']:,} frames:"
        f" {table['bytes'] / 2**20:.1f} MiB; heaptrack's {tree['edges']:,} edges:"
        f" {tree['bytes'] / 2**20:.1f} MiB; ratio {ratio:.2f} (target {TARGET})",
        flush=True,
    )
    return {"table": table, "tree": tree, "ratio": ratio}


def main():
    arguments = parse_arguments()
    wanted = [word for word in arguments.workloads.split(",") if word]
    build = arguments.build_directory
    with tempfile.TemporaryDirectory(dir=arguments.tmp) as name:
        folder = pathlib.Path(name)
        results = {
            program.name: compare(program, build, folder)
            for program in programs.installed_programs(folder, build, wanted, 1)
        }
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
