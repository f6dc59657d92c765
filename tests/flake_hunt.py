#!/usr/bin/env python3
"""Runs tests that depend on time or chance many times under load, and reports each failure.

usage: flake_hunt.py BUILD_DIR [--runs N] [--tests REGEX] [--load N] [--minutes M]

A run is one ctest invocation with as many jobs as there are cores, while busy processes, by default
one for each core, compete with it. The log of a run that failed stays in BUILD_DIR/flake_hunt/.
Exits with 1 if a test failed, and with 2 for bad usage.
"""

import argparse
import contextlib
import dataclasses
import math
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

# Tests with threads, signals, forks, sleeps, deadlines or random numbers, as regular expressions of
# CMake. They have no groups, because CMake allows nine in all.
TIMING_TESTS = [
    # Futexes, clocks, locks, stopped threads, queues and their workers, forks while others record.
    "^alloctap_unit_.*tests$",
    "^alloctap_contract_tests$",
    "^alloctap_tracked_.*s$",
    # Code that is patched while threads run it, modules that come and go.
    "^alloctap_function_patch_tests$",
    "^alloctap_inline_toggle_tests$",
    "^plt[.]racing_modules$",
    # The cases of hook backends: threads that end, children of a fork under load.
    "^checks[.].*cases$",
    "^inline[.]cases$",
    "^interpose[.]cases$",
    "^plt[.]cases$",
    "^malloc_hooks[.]g[lp]",
    "^malloc_hooks[.].*san$",
    "^interpose[.]process_life$",
    "^alloctap_interpose_dumps_tests$",
    "^alloctap_interpose_failures_tests$",
    # Faults on several threads, children that die, cases with a time limit.
    "^alloctap_checks_.*_tests$",
    "^alloctap_string_checks_tests$",
    "^corpus[.]",
    # Worker threads, a server, a pipe whose writer is late.
    "^alloctap_game_loop_example$",
    "^alloctap_format_tags_tests$",
    "^alloctap_live_server_tests$",
    "^alloctap_run_launcher_tests$",
    # Programs under alloctap-run, each with a thread that writes reports and a timeline.
    "^alloctap_tracking_",
    "^alloctap_unwind_processes_tests$",
    "^alloctap_unwind_switches_tests$",
]

# Ends by itself when its parent does, even one that was killed.
SPINNER = """
import os, sys
while os.getppid() == int(sys.argv[1]):
    for _ in range(1000000): pass
"""

TEST_LINE = re.compile(
    r"\s*\d+/\d+ Test\s+#\d+: (?P<name>.*?) \.+\s*(?P<result>\S.*?)\s+(?P<seconds>\d+\.\d+) sec\s*"
)
# A test without a program has no line of its own, but one in the summary.
NOT_RUN_LINE = re.compile(r"\s*\d+ - (?P<name>.*) \(Not Run\)\s*")
NOT_RUN = "***Not Run"
GRACE_SECONDS = 5


class HuntError(Exception):
    """The tests cannot be run as asked."""


# --- Processes -----------------------------------------------------------------------------------


def end_spinner(spinner):
    spinner.kill()
    spinner.wait()


@contextlib.contextmanager
def load(count):
    """Keeps `count` processes busy inside the scope."""
    with contextlib.ExitStack() as spinners:
        for _ in range(count):
            command = [sys.executable, "-I", "-S", "-c", SPINNER, str(os.getpid())]
            spinners.callback(end_spinner, subprocess.Popen(command, stdin=subprocess.DEVNULL))
        yield


def end_group(process):
    """Ends ctest and the tests that it started, which are one process group."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_SECONDS)


def run_ctest(arguments, output=subprocess.DEVNULL):
    """Returns the exit code of ctest and what it wrote, if `output` is a pipe."""
    try:
        process = subprocess.Popen(
            ["ctest", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        raise HuntError(f"cannot run ctest: {error.strerror}") from error
    try:
        written, _ = process.communicate()
    except BaseException:
        end_group(process)
        raise
    return process.returncode, (written or b"").decode(errors="replace")


def interrupt(number, frame):
    raise KeyboardInterrupt


def handle_signals():
    signal.signal(signal.SIGINT, interrupt)
    signal.signal(signal.SIGTERM, interrupt)
    # nohup ignores it.
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, interrupt)


# --- Runs ----------------------------------------------------------------------------------------


@dataclasses.dataclass
class Count:
    """How often a test ran, and how often it failed."""

    runs: int = 0
    failures: int = 0


@dataclasses.dataclass
class Hunt:
    """What is run, and what came of it so far."""

    build_dir: pathlib.Path
    tests: str
    runs: int
    minutes: float
    start: float = dataclasses.field(default_factory=time.monotonic)
    counts: dict = dataclasses.field(default_factory=dict)
    failed_runs: int = 0

    @property
    def log_dir(self):
        return self.build_dir / "flake_hunt"

    def is_out_of_time(self):
        return time.monotonic() - self.start >= 60 * self.minutes

    def count(self, results):
        """Adds the results of a run and returns the names of the tests that failed."""
        for name, result in results:
            count = self.counts.setdefault(name, Count())
            count.runs += was_run(result)
            count.failures += has_failed(result)
        return [name for name, result in results if has_failed(result)]


def was_run(result):
    """Returns False for a test that is disabled or whose program was not built."""
    return not result.startswith((NOT_RUN, "***Skipped"))


def has_failed(result):
    return was_run(result) and result != "Passed"


def results_of(log):
    """Returns pairs of test and result, as the lines of ctest's log have them."""
    results = []
    for line in log.splitlines():
        if match := TEST_LINE.fullmatch(line):
            results.append((match["name"], match["result"]))
        elif match := NOT_RUN_LINE.fullmatch(line):
            results.append((match["name"], NOT_RUN))
    return results


def matching_tests(build_dir, regex):
    """Returns the number of tests whose names match."""
    code, written = run_ctest(
        ["--test-dir", str(build_dir), "-N", "-R", regex], output=subprocess.PIPE
    )
    total = re.search(r"^Total Tests: (\d+)$", written, re.MULTILINE)
    if code != 0 or not total:
        lines = written.strip().splitlines()
        raise HuntError(f"ctest cannot list tests: {lines[-1] if lines else f'exit code {code}'}")
    if total[1] == "0":
        raise HuntError(f"no test of {build_dir} has a name that --tests matches")
    return int(total[1])


def remove_all(paths):
    for path in paths:
        path.unlink(missing_ok=True)


def run_once(hunt, number):
    """Runs the tests and prints a line."""
    log = hunt.log_dir / f"run_{number:03d}.log"
    begin = time.monotonic()
    arguments = ["--test-dir", str(hunt.build_dir), "-R", hunt.tests, "--output-on-failure"]
    arguments += ["--parallel", str(os.cpu_count() or 1), "--output-log", str(log)]
    try:
        code, _ = run_ctest(arguments)
    finally:
        # Where ctest was interrupted.
        remove_all(hunt.log_dir.glob("run_*.log.tmp*"))
    seconds = time.monotonic() - begin
    results = results_of(log.read_text(errors="replace") if log.exists() else "")
    failures = hunt.count(results)
    if code != 0 and all(result == "Passed" for _, result in results):
        failures = [f"ctest itself (exit code {code})"]
    if failures:
        hunt.failed_runs += 1
    else:
        log.unlink(missing_ok=True)
    names = f": {', '.join(failures)}" if failures else ""
    print(f"run {number:3d}  {seconds:7.1f} s  {len(failures)} failed{names}", flush=True)


def run_all(hunt):
    try:
        hunt.log_dir.mkdir(exist_ok=True)
        remove_all(hunt.log_dir.glob("run_*.log"))
    except OSError as error:
        raise HuntError(f"cannot use {hunt.log_dir}: {error.strerror}") from error
    for number in range(1, hunt.runs + 1):
        if hunt.is_out_of_time():
            print(f"time is up after {hunt.minutes:g} minutes", flush=True)
            return
        run_once(hunt, number)
        if hunt.counts and not any(count.runs for count in hunt.counts.values()):
            raise HuntError(f"no program of these tests is in {hunt.build_dir}; build them first")


def print_counts(hunt):
    """Prints the tests that failed most often first."""
    if not hunt.counts:
        return
    width = max(len(name) for name in hunt.counts)
    print(f"\n{'test':{width}}  {'runs':>5}  {'failures':>8}")
    ordered = sorted(hunt.counts.items(), key=lambda item: (-item[1].failures, item[0]))
    for name, count in ordered:
        print(f"{name:{width}}  {count.runs:5d}  {count.failures:8d}")
    if not all(count.runs for count in hunt.counts.values()):
        print("tests with 0 runs are disabled, or their programs were not built")
    if hunt.failed_runs:
        print(f"logs of {hunt.failed_runs} failed runs: {hunt.log_dir}")


# --- Command line --------------------------------------------------------------------------------


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(2, f"flake_hunt.py: {message}\n")


def number_from(least):
    def parse(text):
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is no number from {least}")
        return int(text)

    return parse


def minutes(text):
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of minutes above 0")
    return value


def parse_arguments():
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build_dir", type=pathlib.Path, metavar="BUILD_DIR")
    parser.add_argument(
        "--runs", type=number_from(1), default=100, metavar="N", help="at most (default: 100)"
    )
    parser.add_argument(
        "--tests",
        default="|".join(TIMING_TESTS),
        metavar="REGEX",
        help="names of tests (default: those that depend on time or chance)",
    )
    parser.add_argument(
        "--load",
        type=number_from(0),
        default=os.cpu_count() or 1,
        metavar="N",
        help="busy processes (default: as many as cores)",
    )
    parser.add_argument(
        "--minutes",
        type=minutes,
        default=math.inf,
        metavar="M",
        help="begin no run after M minutes (default: no limit)",
    )
    return parser.parse_args()


def hunt_under_load(hunt, busy):
    """Returns the exit code."""
    handle_signals()
    try:
        total = matching_tests(hunt.build_dir, hunt.tests)
        print(f"tests: {total}, runs: at most {hunt.runs}, busy processes: {busy}", flush=True)
        with load(busy):
            run_all(hunt)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        print_counts(hunt)
        return 130
    print_counts(hunt)
    return 1 if hunt.failed_runs else 0


def main():
    arguments = parse_arguments()
    build_dir = arguments.build_dir.resolve()
    try:
        if not (build_dir / "CTestTestfile.cmake").is_file():
            raise HuntError(f"{arguments.build_dir} is no build directory with tests")
        hunt = Hunt(build_dir, arguments.tests, arguments.runs, arguments.minutes)
        return hunt_under_load(hunt, arguments.load)
    except HuntError as error:
        print(f"flake_hunt.py: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
