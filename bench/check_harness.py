#!/usr/bin/env python3
"""Checks that the measuring scripts run to their end and say sane numbers, in seconds.

usage: check_harness.py SCRIPT_NAME BUILD_DIR [ARGUMENT]...
"""

import json
import math
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def expect(condition, what):
    if not condition:
        raise SystemExit(f"check_harness.py: {what}")


def is_positive(number):
    return math.isfinite(number) and number > 0


def check_whole_program(results):
    expect(set(results["programs"]) == {"jq", "larson-1"}, f"programs {results['programs']}")
    for name, program in results["programs"].items():
        expect(program["allocations"] > 100_000, f"{name} allocates: {program}")
        ways = program["ways"]
        expect(set(ways) == {"untracked", "alloctap", "heaptrack"}, f"{name}: ways {set(ways)}")
        for way, summary in ways.items():
            parts = ("cpu_seconds", "cpu_ratio", "wall_ratio", "resident_ratio")
            expect(all(is_positive(summary[p]) for p in parts), f"{name}, {way}: {summary}")
        rates = [summary["rate"] for summary in ways.values()]
        expect(all(map(is_positive, rates)) if name == "larson-1" else rates == [None] * 3, rates)
    tracked = results["programs"]["larson-1"]["ways"]
    # Too small a part of jq's run to be told from noise.
    expect(tracked["heaptrack"]["added_ns"] > 0, f"heaptrack costs something: {tracked}")
    expect(tracked["alloctap"]["added_ns"] > 0, f"alloctap costs something: {tracked}")
    expect(is_positive(results["totals"]["alloctap"]["geometric_mean"]), results["totals"])


def check_pair_cost(results):
    cases = [(result["pattern"], result["depth"]) for result in results]
    expect(cases == [("steady", 16), ("varying", 16)], results)
    for result in results:
        ways = result["ways"]
        expect(set(ways) == {"untracked", "alloctap", "heaptrack"}, ways)
        expect(all(is_positive(times["cpu_ns"]) for times in ways.values()), ways)
        expect(is_positive(ways["alloctap"]["versus_heaptrack"]), ways)


def check_compile_time(results):
    added = results["added_seconds"]
    expect(added["empty"] == 0, added)
    expect(is_positive(added["a tracker started"]), added)


def check_capture_cost(results):
    times = results["nanoseconds"]
    expect(set(times) == {"identify, steady", "identify, varying"}, times)
    for table in times.values():
        expect(is_positive(table["frame-pointer"]["16"]), table)
    expect("none" in times["identify, steady"], times)
    expect(is_positive(times["identify, steady"]["unwind-table_ordinary"]["16"]), times)


def check_windows_capture_cost(results):
    ways = {"unwind-table", "unwind-table_rules_alone", "RtlVirtualUnwind"}
    ways |= {"RtlCaptureStackBackTrace", "backtrace"}
    for title in ("frames, steady", "frames, varying"):
        table, frames = results["nanoseconds"][title], results["frames"][title]
        expect(set(table) - {"none"} == ways, table)
        expect(all(is_positive(table[way]["16"]) for way in ways), table)
        depths = {round(frames[way]["16"]) for way in ways}
        expect(len(depths) == 1 and depths <= {16, 17}, f"{title}: all see the same: {frames}")


def check_sampling_cost(results):
    expect(set(results["start"]) == {"off", "512K"}, results)
    row = results["programs"]["jq"]["512K"]
    expect(all(is_positive(row[part]) for part in ("cpu_off", "cpu_sampled", "ratio")), row)


def check_check_cost(results):
    expect(set(results) == {"jq"} and set(results["jq"]) == {"untracked", "plain"}, results)
    expect(all(map(is_positive, results["jq"].values())), results)


def check_stack_memory(results):
    row = results["jq"]
    expect(row["table"]["stacks"] > 100 and row["tree"]["edges"] > 100, row)
    expect(row["tree"]["bytes"] >= 40 * row["tree"]["edges"], row)
    expect(is_positive(row["ratio"]), row)


def check_dump_time(results):
    # A short report may take less than what a run differs from another one.
    expect(is_positive(results["heaptrack_print_seconds"]), results)
    expect(math.isfinite(results["report_seconds"]) and results["bytes"] > 100_000, results)


# By the name of the script, behind "windows_" where its program is one of Windows.
CHECKS = {
    "capture_cost": (["-n1", "--min-time=0.01", "--filter=identify/.*/16$"], check_capture_cost),
    "windows_capture_cost": (
        ["-n1", "--min-time=0.005", "--filter=frames/.*/16$", "--versus=unwind-table"],
        check_windows_capture_cost,
    ),
    "whole_program": (["-n1", "--workloads=jq,larson-1", "--scale=0.1"], check_whole_program),
    "pair_cost": (["-n1", "--depths=16", "--threads=1", "--pairs=50000"], check_pair_cost),
    "sampling_cost": (["-n1", "--workloads=jq"], check_sampling_cost),
    "check_cost": (["-n1", "--workloads=jq", "--against=untracked,plain"], check_check_cost),
    "stack_memory": (["--workloads=jq"], check_stack_memory),
    "dump_time": (["-n1", "--blocks=20000", "--stacks=1000"], check_dump_time),
    "compile_time": (["-n1", "--brief"], check_compile_time),
}


def main():
    name, *arguments = sys.argv[1:]
    options, check = CHECKS[name]
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder) / "results.json"
        command = [sys.executable, str(HERE / f"{name.removeprefix('windows_')}.py"), *options, f"--json={output}"]
        subprocess.run(command + arguments, check=True)
        check(json.loads(output.read_text()))


if __name__ == "__main__":
    main()
