#!/usr/bin/env python3
"""Shows where the minutes of CI go, per variant.

usage: ci_time.py record BUILD_DIR PHASE SECONDS
       ci_time.py report BUILD_DIR...
       ci_time.py table BUILD_DIR...
       ci_time.py costs BUILD_DIR
       ci_time.py split BUILD_DIR [N]

record  stores the wall time of a phase in BUILD_DIR/phases.tsv and replaces an earlier value.
        Phases are install, dependencies, configure, build, test, or any other lower-case word.
report  prints phases, build steps, and the dearest targets, translation units and tests as text.
table   prints the numbers of `report` as Markdown tables.
costs   prints the tests of a second or more in the form of ctest's cost data (tests/test_costs/).
split   compiles the N (default 10) dearest objects again, without the compiler cache, and prints
        the processor time of the compiler's front end (-fsyntax-only) and of the rest.

A variant is the last component of BUILD_DIR. Steps come from BUILD_DIR/.ninja_log, tests from
BUILD_DIR/ctest.log. Seconds of a step or test are its wall time; several run at a time. A step
that the compiler cache answers is short.
"""

import argparse
import dataclasses
import json
import math
import os
import pathlib
import posixpath
import re
import resource
import shlex
import subprocess
import sys
import tempfile

DEAREST = 10
MAX_NAME = 40
MAX_SOURCE = 44

COMPILED = (".o", ".obj", ".gch", ".pch")
LINKED = ("", ".so", ".a", ".exe", ".dll")
LAUNCHERS = ("ccache", "sccache", "distcc", "icecc")

PHASE = re.compile(r"[a-z][a-z0-9_-]*")
NINJA_LOG_HEADER = re.compile(r"# ninja log v(\d+)")
NINJA_LOG_LINE = re.compile(r"(\d+)\t(\d+)\t\d+\t(.+)\t([0-9a-f]+)")
TEST_LINE = re.compile(
    r"\s*\d+/\d+ Test\s+#\d+: (?P<name>.*?) \.+\s*(?P<result>\S.*?)\s+(?P<seconds>\d+\.\d+) sec\s*"
)
NUMBER = re.compile(r"-|\d+(\.\d+)?( \(\d+\))?")
TARGET = re.compile(r"(?P<folder>.*?)CMakeFiles/(?P<target>[^/]+)\.dir/(?P<source>.*)")


class InputError(Exception):
    """Something that the user gave is missing or malformed."""


class CompileError(Exception):
    """A compile command failed."""


# --- What the logs say ---------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Step:
    """One edge of the build graph, as it last ran."""

    outputs: tuple
    seconds: float

    @property
    def kind(self):
        kinds = {kind_of(output) for output in self.outputs}
        return next((kind for kind in ("compile", "link") if kind in kinds), "other")

    @property
    def target(self):
        match = TARGET.fullmatch(self.outputs[0])
        return match["target"] if match else posixpath.basename(self.outputs[0])

    @property
    def source(self):
        return source_of(self.outputs[0])


@dataclasses.dataclass(frozen=True)
class Test:
    name: str
    result: str
    seconds: float


@dataclasses.dataclass(frozen=True)
class Variant:
    """The numbers of one build directory. `missing`: names of logs that do not exist."""

    name: str
    phases: dict
    steps: list
    tests: list
    missing: list


def kind_of(output):
    suffix = posixpath.splitext(output)[1]
    if suffix in COMPILED:
        return "compile"
    if "CMakeFiles/" in output:
        return "other"
    is_versioned = re.search(r"\.so(\.\d+)+$", output) is not None
    return "link" if suffix in LINKED or is_versioned else "other"


def source_of(output):
    """Returns the path of the source, relative to the project where CMake shows that."""
    match = TARGET.fullmatch(output)
    if not match:
        return output
    source = posixpath.splitext(match["source"])[0]
    # CMake writes "..", which no object's path may contain, as "__".
    parts = [".." if part == "__" else part for part in source.split("/")]
    return posixpath.normpath(posixpath.join(match["folder"], *parts))


def read_if_exists(path):
    try:
        return path.read_text(errors="replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error


def parse_ninja_log(text, path):
    """Returns a Step for each edge; of a repeated output the last line counts."""
    header, _, body = text.partition("\n")
    match = NINJA_LOG_HEADER.match(header)
    if not match or int(match[1]) < 5:
        raise InputError(f"{path} is no ninja log of version 5 or later")
    last = {}
    for line in body.splitlines():
        # As ninja does, ignore a line that was cut off.
        if fields := NINJA_LOG_LINE.fullmatch(line):
            start, end, output, command_hash = fields.groups()
            last[output] = (int(start), int(end), command_hash)
    edges = {}
    for output, edge in last.items():
        edges.setdefault(edge, []).append(output)
    return [Step(tuple(outputs), (edge[1] - edge[0]) / 1000) for edge, outputs in edges.items()]


def parse_ctest_log(text):
    matches = (TEST_LINE.fullmatch(line) for line in text.splitlines())
    return [
        Test(match["name"], match["result"], float(match["seconds"])) for match in matches if match
    ]


def parse_phases(text, path):
    phases = {}
    for line in text.splitlines():
        phase, _, seconds = line.partition("\t")
        try:
            phases[phase] = float(seconds)
        except ValueError:
            raise InputError(f"{path} has a line that is no phase: {line!r}") from None
    return phases


def check_is_directory(path):
    if not path.is_dir():
        raise InputError(f"{path} is no directory")


def read_steps(build_dir):
    path = build_dir / ".ninja_log"
    text = read_if_exists(path)
    return None if text is None else parse_ninja_log(text, path)


def read_variant(build_dir):
    check_is_directory(build_dir)
    phases = read_if_exists(build_dir / "phases.tsv")
    tests = read_if_exists(build_dir / "ctest.log")
    steps = read_steps(build_dir)
    logs = {"phases.tsv": phases, ".ninja_log": steps, "ctest.log": tests}
    return Variant(
        name=build_dir.resolve().name,
        phases=parse_phases(phases or "", build_dir / "phases.tsv"),
        steps=steps or [],
        tests=parse_ctest_log(tests or ""),
        missing=[name for name, content in logs.items() if content is None],
    )


# --- Tables --------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Table:
    """Rows of texts below `columns`. Columns of numbers are aligned to the right."""

    title: str
    columns: tuple
    rows: list

    @property
    def is_number(self):
        """One bool for each column."""
        cells_of_columns = zip(*self.rows)
        return [all(NUMBER.fullmatch(cell) for cell in cells) for cells in cells_of_columns]


def seconds_text(seconds):
    return f"{seconds:.1f}"


def shorten(text, length):
    """Leaves out the beginning of a long text."""
    return text if len(text) <= length else "..." + text[3 - length :]


def dearest(pairs):
    """Returns the DEAREST pairs of key and seconds. Equal ones are in the order of their keys."""
    return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:DEAREST]


def target_of_output(output, targets):
    """Returns the compiled target that `output` is linked from, else the name of the output."""
    name = posixpath.basename(output)
    stem = posixpath.splitext(name)[0]
    candidates = (name, stem, stem.removeprefix("lib"))
    return next((target for target in candidates if target in targets), name)


def seconds_by_target(steps):
    """Returns for each target the seconds and the number of its steps, links included."""
    compiled = {step.target for step in steps if step.kind == "compile"}
    totals = {}
    for step in steps:
        if step.kind == "other":
            continue
        is_link = step.kind == "link"
        target = target_of_output(step.outputs[0], compiled) if is_link else step.target
        seconds, count = totals.get(target, (0, 0))
        totals[target] = (seconds + step.seconds, count + 1)
    return totals


def target_table(variant):
    totals = seconds_by_target(variant.steps)
    chosen = dearest((target, seconds) for target, (seconds, _) in totals.items())
    rows = [(seconds_text(s), str(totals[t][1]), shorten(t, MAX_NAME)) for t, s in chosen]
    return Table("Dearest targets", ("seconds", "steps", "target"), rows)


def unit_table(variant):
    units = [step for step in variant.steps if step.kind == "compile"]
    chosen = dearest(((step.target, step.source), step.seconds) for step in units)
    rows = [
        (seconds_text(seconds), shorten(target, MAX_NAME), shorten(source, MAX_SOURCE))
        for (target, source), seconds in chosen
    ]
    return Table("Dearest translation units", ("seconds", "target", "source"), rows)


def test_table(variant):
    rows = []
    for (name, result), seconds in dearest(((t.name, t.result), t.seconds) for t in variant.tests):
        # A test that failed may have ended early, or late.
        mark = "" if result == "Passed" else f" ({result.strip('*')})"
        rows.append((seconds_text(seconds), shorten(name + mark, 2 * MAX_NAME)))
    return Table("Dearest tests", ("seconds", "test"), rows)


def phase_rows(variant):
    """Returns rows of wall seconds and label."""
    rows = [(seconds_text(seconds), phase) for phase, seconds in variant.phases.items()]
    return [*rows, (seconds_text(sum(variant.phases.values())), "total")]


def sum_rows(variant):
    """Returns rows of the sum of seconds, the number of steps or tests, and a label."""
    groups = {
        kind: [step for step in variant.steps if step.kind == kind]
        for kind in ("compile", "link", "other")
    }
    groups |= {"all steps": variant.steps, "tests": variant.tests}
    return [
        (seconds_text(sum(item.seconds for item in group)), str(len(group)), label)
        for label, group in groups.items()
    ]


def dearest_tables(variant):
    tables = (target_table(variant), unit_table(variant), test_table(variant))
    return [table for table in tables if table.rows]


# --- Text and Markdown ---------------------------------------------------------------------------


def text_lines(table):
    yield f"{table.title}:"
    lines = [table.columns, *table.rows]
    widths = [max(map(len, cells)) for cells in zip(*lines)]
    for line in lines:
        cells = [
            cell.rjust(width) if is_number else cell.ljust(width)
            for cell, width, is_number in zip(line, widths, table.is_number)
        ]
        yield ("  " + "  ".join(cells)).rstrip()


def markdown_lines(table):
    yield f"{table.title}:"
    yield ""
    yield "| " + " | ".join(table.columns) + " |"
    yield "|" + "".join("---:|" if is_number else "---|" for is_number in table.is_number)
    for row in table.rows:
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"


def report_lines(variant):
    yield f"variant {variant.name}"
    if variant.missing:
        yield f"missing: {', '.join(variant.missing)}"
    tables = [
        Table("Steps and tests", ("seconds", "count", "kind"), sum_rows(variant)),
        *dearest_tables(variant),
    ]
    if variant.phases:
        tables.insert(0, Table("Phases, wall time", ("seconds", "phase"), phase_rows(variant)))
    for table in tables:
        yield ""
        yield from text_lines(table)


def print_report(variants):
    print("\n\n".join("\n".join(report_lines(variant)) for variant in variants))


def phase_summary(variants):
    """One row for each variant."""
    phases = tuple(dict.fromkeys(phase for variant in variants for phase in variant.phases))
    rows = []
    for variant in variants:
        seconds = [variant.phases.get(phase) for phase in phases]
        known = ["-" if value is None else seconds_text(value) for value in seconds]
        rows.append((variant.name, *known, seconds_text(sum(variant.phases.values()))))
    return Table("Phases, wall seconds", ("variant", *phases, "total"), rows)


def sum_summary(variants):
    """One row for each variant."""
    labels = [label for *_, label in sum_rows(variants[0])]
    rows = [
        (variant.name, *(f"{seconds} ({count})" for seconds, count, _ in sum_rows(variant)))
        for variant in variants
    ]
    return Table("Steps and tests, sum of seconds (count)", ("variant", *labels), rows)


def print_tables(variants):
    timed = [variant for variant in variants if variant.phases]
    summaries = [phase_summary(timed)] if timed else []
    for table in [*summaries, sum_summary(variants)]:
        print("\n".join(markdown_lines(table)) + "\n")
    for variant in variants:
        print(f"### {variant.name}\n")
        if variant.missing:
            print(f"Missing: {', '.join(variant.missing)}.\n")
        for table in dearest_tables(variant):
            print("\n".join(markdown_lines(table)) + "\n")


# --- Phases --------------------------------------------------------------------------------------


def print_costs(variant):
    """Lines `name runs seconds`, and the end of the list as ctest writes it."""
    if not variant.tests:
        raise InputError(f"{variant.name} has no ctest.log with tests in it")
    for test in sorted(variant.tests, key=lambda test: test.name):
        if test.seconds >= 1:
            print(f"{test.name} 1 {test.seconds:.0f}")
    print("---")


def record(build_dir, phase, seconds):
    """Stores a phase. BUILD_DIR may not exist yet, because packages come before configuring."""
    path = build_dir / "phases.tsv"
    try:
        build_dir.mkdir(parents=True, exist_ok=True)
        phases = parse_phases(read_if_exists(path) or "", path)
        phases[phase] = seconds
        path.write_text("".join(f"{name}\t{value:.1f}\n" for name, value in phases.items()))
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from error


# --- Front end and back end ----------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class CompileCommand:
    arguments: tuple
    directory: str

    @property
    def output(self):
        """Relative to the build directory, as in the log of ninja."""
        path = self.arguments[self.arguments.index("-o") + 1]
        return os.path.relpath(path, self.directory) if os.path.isabs(path) else path

    def with_output(self, path):
        place = self.arguments.index("-o") + 1
        return (*self.arguments[:place], path, *self.arguments[place + 1 :])


def without_launcher(arguments):
    while arguments and os.path.basename(arguments[0]) in LAUNCHERS:
        arguments = arguments[1:]
    return tuple(arguments)


def read_compile_commands(build_dir):
    path = build_dir / "compile_commands.json"
    text = read_if_exists(path)
    if text is None:
        raise InputError(f"{path} is missing; configure with CMAKE_EXPORT_COMPILE_COMMANDS")
    try:
        entries = json.loads(text)
        split = [(shlex.split(entry["command"]), entry["directory"]) for entry in entries]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is no list of compile commands: {error}") from error
    commands = [CompileCommand(without_launcher(arguments), place) for arguments, place in split]
    return [command for command in commands if "-o" in command.arguments[:-1]]


def dearest_commands(build_dir, count):
    """Returns the commands of the dearest objects. Precompiled headers are left out: a compiler
    that is to make one again reads the old one."""
    steps = read_steps(build_dir)
    if steps is None:
        raise InputError(f"{build_dir / '.ninja_log'} is missing; build first")
    seconds = {output: step.seconds for step in steps for output in step.outputs}
    objects = [
        command
        for command in read_compile_commands(build_dir)
        if command.output in seconds and command.output.endswith((".o", ".obj"))
    ]
    return sorted(objects, key=lambda command: -seconds[command.output])[:count]


def processor_seconds(arguments, directory):
    """Runs a command and returns the user and system time of it and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        done = subprocess.run(
            arguments,
            cwd=directory,
            env={**os.environ, "CCACHE_DISABLE": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            check=False,
        )
    except OSError as error:
        raise InputError(f"cannot run {arguments[0]} in {directory}: {error.strerror}") from error
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        written = done.stderr.decode(errors="replace").strip().splitlines()
        raise CompileError(written[0] if written else f"exit code {done.returncode}")
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def split_row(command):
    """Returns the processor seconds of all, of the front end and of the rest, and the source."""
    with tempfile.TemporaryDirectory() as folder:
        output = os.path.join(folder, "object" + os.path.splitext(command.output)[1])
        arguments = command.with_output(output)
        everything = processor_seconds(arguments, command.directory)
        front = processor_seconds((*arguments, "-fsyntax-only"), command.directory)
    return everything, front, max(everything - front, 0), source_of(command.output)


def print_split(build_dir, count):
    """Returns the exit code: 1 if an object could not be compiled."""
    check_is_directory(build_dir)
    commands = dearest_commands(build_dir, count)
    if not commands:
        raise InputError(f"{build_dir} has no compile command that its .ninja_log knows")
    rows = []
    failed = False
    for command in commands:
        try:
            rows.append(split_row(command))
        except CompileError as error:
            failed = True
            print(f"ci_time.py: {command.output} does not compile: {error}", file=sys.stderr)
    totals = [sum(row[i] for row in rows) for i in range(3)]
    cells = [
        (*map(seconds_text, numbers), shorten(source, 2 * MAX_SOURCE - 24))
        for *numbers, source in [*rows, (*totals, "total")]
    ]
    columns = ("all", "front end", "back end", "source")
    title = f"Processor seconds of the dearest objects, variant {build_dir.resolve().name}"
    print("\n".join(text_lines(Table(title, columns, cells))))
    return 1 if failed else 0


# --- Command line --------------------------------------------------------------------------------


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(2, f"ci_time.py: {message}\n")


def phase_name(text):
    if not PHASE.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no lower-case word")
    return text


def duration(text):
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds")
    return value


def positive(text):
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no number above 0")
    return int(text)


def parse_arguments(arguments):
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    directory = {"type": pathlib.Path, "metavar": "BUILD_DIR"}
    one = commands.add_parser("record", help="store the wall time of a phase")
    one.add_argument("build_dir", **directory)
    one.add_argument("phase", type=phase_name, metavar="PHASE")
    one.add_argument("seconds", type=duration, metavar="SECONDS")
    for name, purpose in (("report", "print text"), ("table", "print Markdown tables")):
        commands.add_parser(name, help=purpose).add_argument("build_dirs", nargs="+", **directory)
    one = commands.add_parser("costs", help="print the cost data of ctest")
    one.add_argument("build_dir", **directory)
    one = commands.add_parser("split", help="measure the compiler's front end and back end")
    one.add_argument("build_dir", **directory)
    one.add_argument("count", type=positive, nargs="?", default=DEAREST, metavar="N")
    return parser.parse_args(arguments)


def run(arguments):
    if arguments.command == "record":
        record(arguments.build_dir, arguments.phase, arguments.seconds)
        return 0
    if arguments.command == "split":
        return print_split(arguments.build_dir, arguments.count)
    if arguments.command == "costs":
        print_costs(read_variant(arguments.build_dir))
        return 0
    variants = [read_variant(build_dir) for build_dir in arguments.build_dirs]
    print_report(variants) if arguments.command == "report" else print_tables(variants)
    return 0


def main(arguments=None):
    try:
        return run(parse_arguments(arguments))
    except InputError as error:
        print(f"ci_time.py: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader has had enough. Python would complain when it flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


if __name__ == "__main__":
    sys.exit(main())
