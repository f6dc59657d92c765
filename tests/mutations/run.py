#!/usr/bin/env python3
"""Checks that tests catch known faults: applies each NAME.patch beside this file to a copy of the
headers, and runs the test that the patch names.

Prints a line for each mutation: caught, SURVIVED (the test passes with the fault) or INVALID (the
patch does not apply, the headers do not compile with it, or the test fails without it). The exit
status is 0 if all are caught, 1 if not, and 2 if nothing could be run.
"""

import argparse
import concurrent.futures
import functools
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
COMPILE_SECONDS = 600
RUN_SECONDS = 120


class Verdict(Exception):
    """A verdict and its reason, known before the mutated test ran."""


def run(command, directory, seconds=COMPILE_SECONDS, **options):
    """Returns the exit status, which is negative after a signal or a timeout, and the output."""
    try:
        done = subprocess.run(command, cwd=directory, timeout=seconds, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
                              **options)
        return done.returncode, done.stdout
    except subprocess.TimeoutExpired:
        return -1, f"ERROR: ran for more than {seconds} s"


def first_line(text, pattern):
    lines = [line.strip() for line in text.splitlines() if re.search(pattern, line)]
    return lines[0] if lines else "no message"


def run_case(program, case):
    """Returns how many test cases ran, and what went wrong or ""."""
    status, text = run([program, f"--test-case={case}", "--no-colors"], program.parent, RUN_SECONDS)
    count = re.search(r"test cases: +(\d+) \|", text)
    problem = "" if status == 0 else f"status {status}, {first_line(text, 'ERROR:')}"
    return int(count.group(1)) if count else 0, problem


def build(command, directory):
    """Runs a compiler or linker. Tests catch what a static_assert refuses, and nothing else."""
    status, text = run(command, directory)
    if status == 0:
        return
    is_assertion = re.search(r"static assertion failed|static_assert failed", text)
    message = first_line(text, r"static.assert" if is_assertion else r"error|ERROR|undefined")
    raise Verdict("caught" if is_assertion else "INVALID", f"does not compile: {message}")


def compile_command(entry, source):
    """Returns how `source` is compiled: without launcher, precompiled headers and warnings, and with
    the bodies, which the library has without the fault."""
    words = shlex.split(entry["command"])
    launchers = [at for at, word in enumerate(words) if pathlib.Path(word).name == "ccache"]
    del words[:max(launchers, default=-1) + 1]
    for option in ("-include", "-o"):
        if option in words:
            del words[words.index(option):words.index(option) + 2]
    words = [str(source) if word == entry["file"] else word for word in words]
    return [word for word in words if word not in ("-Winvalid-pch", "-DALLOCTAP_COMPILED")] + ["-w"]


class Suite:
    """Judges mutations in a build directory; `scratch` is for files. Threads may share it."""

    def __init__(self, directory, scratch):
        self.directory, self.scratch = directory, scratch
        self.lock, self.bases = threading.Lock(), {}
        commands = directory / "compile_commands.json"
        if not commands.is_file():
            raise ValueError(f"{directory} is no build directory: there is no {commands.name}")
        self.entries = json.loads(commands.read_text())
        self.main = scratch / "doctest_main.o"
        source = ROOT / "tests/doctest_main.cpp"
        entries = [entry for entry in self.entries if entry["file"] == str(source)]
        if not entries:
            raise ValueError(f"{directory} does not build the tests of {ROOT}")
        build([*compile_command(entries[0], source), "-o", self.main], directory)

    @functools.lru_cache(maxsize=None)
    def entry_of(self, test):
        """Returns the entry of the source `test`, or of what includes it, and its target."""
        names = [f'#include "{test}"', f'#include "{ROOT / test}"']
        for target in ("alloctap_unit_tests", "alloctap_contract_tests"):
            for entry in (e for e in self.entries if f"/{target}.dir/" in e["command"]):
                file = pathlib.Path(entry["file"])
                is_generated = file.is_relative_to(self.directory)
                if file == ROOT / test or is_generated and any(
                        name in file.read_text() for name in names):
                    return entry, target
        raise Verdict("INVALID", f"{test} is not compiled in {self.directory}")

    @functools.lru_cache(maxsize=None)
    def link_command(self, target):
        """Returns how ninja links `target`: what stands before its objects, and its libraries."""
        _, text = run(["ninja", "-t", "commands", f"bin/{target}"], self.directory)
        words = shlex.split(text.rstrip().rpartition("\n")[2])
        if f"bin/{target}" not in words:
            raise Verdict("INVALID", f"ninja does not say how it links {target}")
        before, after = words[:words.index("-o")], words[words.index("-o") + 2:]
        first_object = next(at for at, word in enumerate(before) if word.endswith(".o"))
        return before[before.index("&&") + 1:first_object], after[:after.index("&&")]

    def make(self, test, include, directory):
        """Returns the program of `test`, a source, compiled with the headers in `include`."""
        entry, target = self.entry_of(test)
        compiler, *options = compile_command(entry, ROOT / test)
        compiled, program = directory / "test.o", directory / "test"
        build([compiler, f"-I{include}", *options, "-o", compiled], self.directory)
        linker, libraries = self.link_command(target)
        build([*linker, self.main, compiled, "-o", program, *libraries], self.directory)
        return program

    @functools.lru_cache(maxsize=None)
    def run_base(self, test, case):
        """Returns what `run_case` does without a mutation."""
        if test not in self.bases:
            directory = pathlib.Path(tempfile.mkdtemp(dir=self.scratch))
            self.bases[test] = self.make(test, ROOT / "include", directory)
        return run_case(self.bases[test], case)

    def run_mutated(self, patch, test, case):
        """Returns what went wrong in `case` with the mutated headers, or ""."""
        with tempfile.TemporaryDirectory(dir=self.scratch) as name:
            directory = pathlib.Path(name)
            shutil.copytree(ROOT / "include", directory / "include")
            # In a repository, git would leave out what is not below its directory.
            environment = os.environ | {"GIT_CEILING_DIRECTORIES": str(directory.parent)}
            status, text = run(["git", "apply", patch], directory, env=environment)
            if status != 0:
                raise Verdict("INVALID", first_line(text, r"."))
            return run_case(self.make(test, directory / "include", directory), case)[1]

    def judge(self, patch):
        """Returns the verdict and the reason."""
        fields = dict(re.findall(r"^(Test|Case|Fault): *(.+)$", patch.read_text(), re.MULTILINE))
        if len(fields) < 3 or not (ROOT / fields["Test"]).is_file():
            return "INVALID", "the first lines name no Test, Case and Fault, or no source"
        try:
            with self.lock:
                count, problem = self.run_base(fields["Test"], fields["Case"])
            if count == 0 or problem:
                return "INVALID", f"without the mutation {count} test cases ran: {problem}"
            problem = self.run_mutated(patch, fields["Test"], fields["Case"])
        except Verdict as verdict:
            return verdict.args
        return ("caught", problem) if problem else ("SURVIVED", fields["Fault"])


def chosen_patches(names):
    patches = sorted(HERE.glob("*.patch"))
    unknown = [name for name in names if not any(re.search(name, p.stem) for p in patches)]
    if unknown:
        raise ValueError(f"no mutation is called {unknown[0]}")
    return [p for p in patches if not names or any(re.search(name, p.stem) for name in names)]


def judge_all(arguments):
    """Prints all verdicts; returns whether every mutation is caught."""
    patches = chosen_patches(arguments.names)
    counts = dict.fromkeys(("caught", "SURVIVED", "INVALID"), 0)
    with (tempfile.TemporaryDirectory(prefix="alloctap-mutations-") as scratch,
          concurrent.futures.ThreadPoolExecutor(max(arguments.jobs, 1)) as pool):
        suite = Suite(arguments.build.resolve(), pathlib.Path(scratch))
        for patch, (verdict, reason) in zip(patches, pool.map(suite.judge, patches)):
            counts[verdict] += 1
            print(f"{verdict} {patch.stem}: {reason}", flush=True)
    print(", ".join(f"{count} {verdict.lower()}" for verdict, count in counts.items()))
    return counts["caught"] == len(patches)


def main():
    parser = argparse.ArgumentParser(description="Checks that the tests catch known faults.")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release",
                        help="a directory that is configured with Ninja (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=1, help="mutations at a time (default: 1)")
    parser.add_argument("names", nargs="*", metavar="NAME_REGEX", help="only such mutations")
    try:
        return 0 if judge_all(parser.parse_args()) else 1
    except (OSError, ValueError, re.error, Verdict) as error:
        print(f"run.py: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
