#!/usr/bin/env python3
"""Runs the misuse corpus under tools, and writes what each finds as tables.

usage: run_corpus.py [options] BUILD_DIR

Each case is a process of its own, with a time limit; one that does not end is a hang. What a tool
wrote is put into the words of the corpus (classification.py) and compared with what the case is.
A new tool is an entry of tools.py. Programs needed: the targets misuse_corpus and, for asan,
misuse_corpus_asan.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import sys

import table
import tools as known
import verdicts


def pattern(text):
    try:
        return re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"{text} is no regular expression: {error}") from error


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = ",".join(tool.name for tool in known.TOOLS)
    parser.add_argument("--tools", default=names, help=f"with commas (default: {names})")
    parser.add_argument(
        "--cases", type=pattern, default="", metavar="REGEX", help="only those with such names"
    )
    parser.add_argument(
        "--table", type=pathlib.Path, metavar="FILE", help="write the tables there, between its marks"
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="fail where a tool that has means of the corpus misses what can be seen by them, calls"
        " it something else, or flags a good case",
    )
    parser.add_argument(
        "-j", "--jobs", type=int, default=os.cpu_count(), help="processes at a time (default: CPUs)"
    )
    parser.add_argument("build_directory", type=pathlib.Path, metavar="BUILD_DIR")
    return parser.parse_args()


def chosen_tools(text):
    by_name = {tool.name: tool for tool in known.TOOLS + known.WINDOWS_TOOLS}
    names = [name for name in text.split(",") if name]
    unknown = [name for name in names if name not in by_name]
    if unknown or not names:
        sys.exit(f"run_corpus.py: no such tool: {', '.join(unknown)}; there are {', '.join(by_name)}")
    chosen = [by_name[name] for name in names]
    if len({tool.program for tool in chosen}) > 1:
        sys.exit("run_corpus.py: a tool of Windows runs other cases; name it without those of Linux")
    return chosen


def chosen_cases(program, regex):
    cases = [case for case in verdicts.listed_cases(program) if regex.search(case.name)]
    if not cases:
        shown = " ".join(program)
        sys.exit(f"run_corpus.py: no case has a name like {regex.pattern}; {shown} --list has all")
    return cases


def run_all(cases, tools, bin_directory, jobs):
    """Tool's name -> case's name -> Outcome."""
    results = {}
    with concurrent.futures.ThreadPoolExecutor(max(jobs, 1)) as pool:
        for tool in tools:
            outcomes = pool.map(lambda c, t=tool: verdicts.outcome_of(t, bin_directory, c), cases)
            results[tool.name] = dict(zip((case.name for case in cases), outcomes))
    return results


def print_summary(cases, tools, results):
    bad = sum(not case.is_good for case in cases)
    print(f"{bad} bad cases, {len(cases) - bad} good ones")
    for tool in tools:
        outcomes = [results[tool.name][case.name] for case in cases]
        counts = {v: sum(o.verdict is v for o in outcomes) for v in verdicts.Verdict}
        print(f"  {tool.name}: " + ", ".join(f"{n} {v.value}" for v, n in counts.items()))


def broken_promises(cases, tools, results):
    for tool in (tool for tool in tools if tool.means):
        for case in cases:
            outcome = results[tool.name][case.name]
            promise = verdicts.broken_promise(tool, case, outcome)
            if promise:
                told = ", ".join(sorted(outcome.kinds)) or "nothing"
                written = results[tool.name][case.name].written
                yield f"{case.name}: {tool.name} {promise}; it told: {told}; {written}"


def with_tables(path, text):
    """What FILE has, with `text` as its tables."""
    try:
        return table.replaced_between_marks(path.read_text(), text)
    except (OSError, ValueError) as error:
        sys.exit(f"run_corpus.py: the tables cannot be written to {path}: {error}")


def write_tables(path, cases, tools, results, bin_directory):
    versions = {tool.name: tool.version_line(bin_directory) for tool in tools}
    path.write_text(with_tables(path, table.tables(cases, tools, results, versions)))


def main():
    arguments = parse_arguments()
    tools = chosen_tools(arguments.tools)
    if arguments.table:
        with_tables(arguments.table, "")  # what is wrong with it is told before the long run
    bin_directory = arguments.build_directory.resolve() / "bin"
    try:
        cases = chosen_cases(tools[0].program_in(bin_directory), arguments.cases)
        results = run_all(cases, tools, bin_directory, arguments.jobs)
    except OSError as error:
        sys.exit(
            f"run_corpus.py: {error}; build the targets misuse_corpus and misuse_corpus_asan, and"
            " install what is to be run"
        )
    print_summary(cases, tools, results)
    if arguments.table:
        write_tables(arguments.table, cases, tools, results, bin_directory)
    broken = list(broken_promises(cases, tools, results)) if arguments.check else []
    for line in broken:
        print(line)
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
