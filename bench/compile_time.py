#!/usr/bin/env python3
"""Measures what the headers add to the compilation of a translation unit, against an empty one.

usage: compile_time.py [options]

Each source of SOURCES is compiled in turn, once a round, with -O2 and no debug information; printed are
medians of the compiler's CPU time. The last two lines are README.md's program, header-only and with
alloctap::compiled.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = ROOT / "include"
EMPTY = "empty"
TRACKER = "a tracker started"
TARGET_SECONDS = 2.5

README = "README's program"
README_COMPILED = "README's, alloctap::compiled"

START = """
int main() { return alloctap::Tracker<>::start().ok() ? 0 : 1; }
"""


def readme_program():
    """The first program in C++ of README.md."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return text.split("```cpp\n", 1)[1].split("```", 1)[0]


SOURCES = {
    EMPTY: "",
    "<string>": "#include <string>\n",
    "<string>, <vector>": "#include <string>\n#include <vector>\n",
    "doctest/doctest.h": "#include <doctest/doctest.h>\n",
    "absl/status/statusor.h": "#include <absl/status/statusor.h>\n",
    "absl/strings/str_cat.h": "#include <absl/strings/str_cat.h>\n",
    "boost/intrusive/list.hpp": "#include <boost/intrusive/list.hpp>\n",
    "alloctap/annotate.h": "#include <alloctap/annotate.h>\n",
    "alloctap/annotate.hpp": "#include <alloctap/annotate.hpp>\n",
    "alloctap/config.hpp": "#include <alloctap/config.hpp>\n",
    "alloctap/alloctap.hpp": "#include <alloctap/alloctap.hpp>\n",
    "alloctap/impl/tracker.hpp": "#include <alloctap/impl/tracker.hpp>\n",
    "alloctap/implement.hpp": "#include <alloctap/implement.hpp>\n",
    TRACKER: "#include <alloctap/impl/tracker.hpp>\n" + START,
    README: readme_program(),
    README_COMPILED: "#define ALLOCTAP_COMPILED\n" + readme_program(),
}
BRIEF = [EMPTY, TRACKER, README, README_COMPILED]


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-n", "--rounds", type=int, default=7, help="of each (default: 7)")
    parser.add_argument(
        "--least", action="store_true", help="the least of all rounds: others use the machine"
    )
    parser.add_argument("--compiler", default="g++")
    parser.add_argument(
        "--brief", action="store_true", help="only the empty file, the tracker started and README's"
    )
    parser.add_argument("--include", default=str(INCLUDE), help="headers (default: of this tree)")
    parser.add_argument("--json", metavar="FILE", help="write all numbers there too")
    return parser.parse_args()


def compile_seconds(arguments, source, folder):
    """CPU time of the driver and of what it starts."""
    command = [arguments.compiler, "-std=c++20", "-O2", "-I", arguments.include]
    process = subprocess.Popen([*command, "-c", str(source), "-o", str(folder / "object.o")])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"compile_time.py: {arguments.compiler} fails on {source.read_text()}")
    return usage.ru_utime + usage.ru_stime


def measure(arguments):
    """Source -> seconds, one a round."""
    seconds = {name: [] for name in (BRIEF if arguments.brief else SOURCES)}
    with tempfile.TemporaryDirectory() as folder_name:
        folder = pathlib.Path(folder_name)
        for _ in range(arguments.rounds):
            for name, times in seconds.items():
                source = folder / "source.cpp"
                source.write_text(SOURCES[name])
                times.append(compile_seconds(arguments, source, folder))
    return seconds


def main():
    arguments = parse_arguments()
    seconds = measure(arguments)
    estimate = min if arguments.least else statistics.median
    estimated = {name: estimate(times) for name, times in seconds.items()}
    added = {name: time - estimated[EMPTY] for name, time in estimated.items()}
    print(f"{'':32} {'added':>7}  spread")
    for name, times in seconds.items():
        spread = (max(times) - min(times)) / statistics.median(times)
        print(f"{name:32} {added[name]:5.2f} s  {spread:6.0%}")
    print(f"{TRACKER}: {added[TRACKER]:.2f} s (target {TARGET_SECONDS})")
    if arguments.json:
        text = json.dumps({"seconds": seconds, "added_seconds": added}, indent=1)
        pathlib.Path(arguments.json).write_text(text + "\n")


if __name__ == "__main__":
    main()
