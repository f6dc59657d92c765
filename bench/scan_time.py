#!/usr/bin/env python3
"""Measures the scan for unreachable blocks in a big heap.

usage: scan_time.py [options] BUILD_DIR

The program (pointed_heap) makes a heap of blocks that point at each other, tells how long a fork of
it takes (the least of five), and ends. In turn it is run under alloctap-run --leaks=live, then under
--leaks=unreachable, whose report says how long threads were stopped for the copy and how long the
scan took, and built with LeakSanitizer (gcc -fsanitize=leak), which looks for leaks at the end while
all is stopped. What a leak check costs is the time of a run less that of a run without it.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

import tracking


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-n", "--rounds", type=int, default=3)
    parser.add_argument("--mib", type=int, default=2048)
    parser.add_argument("--block-bytes", type=int, default=256)
    parser.add_argument("build_directory", metavar="BUILD_DIR")
    return parser.parse_args()


def timed(command, **environment):
    start = time.monotonic()
    result = subprocess.run(
        command,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        check=False,
    )
    if result.returncode != 0:
        raise SystemExit(f"scan_time.py: {command} failed:\n{result.stderr.decode()}")
    return time.monotonic() - start, result.stdout.decode()


def build_with_leak_sanitizer(folder):
    source = pathlib.Path(__file__).parent / "workloads" / "pointed_heap.cpp"
    program = folder / "with_leak_sanitizer"
    command = ["g++", "-std=c++20", "-O2", "-fsanitize=leak", str(source), "-o", str(program)]
    built = subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode == 0
    return str(program) if built else None


def measure(arguments, folder, sanitized):
    build = arguments.build_directory
    heap = [str(arguments.mib), str(arguments.block_bytes)]
    program = [str(tracking.executable(build, "pointed_heap")), *heap]
    tool = str(tracking.executable(build, "alloctap-run"))
    report = folder / "report.json"
    options = [f"--dump=json={report}", "--stack=none"]
    numbers = {}
    live, _ = timed([tool, *options, "--leaks=live", "--", *program])
    scanned, fork = timed([tool, *options, "--leaks=unreachable", "--", *program])
    told = json.loads(report.read_text())
    scan = told["leaks"]["unreachable"]
    numbers["fork, alone (ms)"] = float(fork)
    numbers["threads stopped (ms)"] = scan["stopped_ns"] / 1e6
    numbers["scan (ms)"] = scan["scan_ns"] / 1e6
    numbers["run longer than with --leaks=live (ms)"] = (scanned - live) * 1e3
    numbers["found unreachable (blocks)"] = told["leaks"]["live_allocations"]
    if sanitized:
        without, _ = timed([sanitized, *heap], LSAN_OPTIONS="detect_leaks=0")
        checked, _ = timed([sanitized, *heap], LSAN_OPTIONS="detect_leaks=1")
        numbers["LeakSanitizer: run longer than without its check (ms)"] = (checked - without) * 1e3
    return numbers


def main():
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        sanitized = build_with_leak_sanitizer(folder)
        rounds = [measure(arguments, folder, sanitized) for _ in range(arguments.rounds)]
    for key in rounds[0]:
        values = [numbers[key] for numbers in rounds]
        spread = f"{min(values):.2f} to {max(values):.2f}"
        print(f"{key:58} {statistics.median(values):10.2f}   ({spread})")


if __name__ == "__main__":
    main()
