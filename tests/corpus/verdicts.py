"""Cases, what came of running one under a tool, and what that is worth."""

import dataclasses
import enum
import os
import signal
import subprocess
import sys

import classification

SECONDS = 60
LARGEST_STATUS = 128  # what a shell, valgrind and the corpus add a signal to
HANG = "hang"
FAILED = "failure"
NOT_MISUSE = ("none", "reachable")


@dataclasses.dataclass(frozen=True)
class Case:
    """A line of `misuse_corpus --list`."""

    name: str
    kind: str
    seen_by: frozenset

    @property
    def family(self):
        return self.name.partition("/")[0]

    @property
    def is_good(self):
        return self.kind in NOT_MISUSE


class Verdict(enum.Enum):
    FOUND = "found"  # with the right kind
    OTHERWISE = "otherwise"  # something was told, of another kind
    ENDED = "ended"  # nothing was told, but the program did not come to its end
    MISSED = "missed"
    QUIET = "quiet"  # as it should be: the case is good
    FLAGGED = "flagged"  # the case is good


@dataclasses.dataclass(frozen=True)
class Outcome:
    verdict: Verdict
    kinds: frozenset  # what was told; where nothing was, how the program ended if not by itself
    written: str = dataclasses.field(default="", compare=False)  # all of it, and the exit status


def parse_cases(listing):
    cases = []
    for line in listing.splitlines():
        name, kind, seen_by = line.split("\t")
        cases.append(Case(name, kind, frozenset(part for part in seen_by.split(",") if part)))
    return cases


def listed_cases(program):
    """`program`: the command that is to get --list."""
    shown = subprocess.run([*program, "--list"], capture_output=True, text=True, check=True)
    return parse_cases(shown.stdout)


def run(command, environment=(), seconds=SECONDS):
    """All that it wrote, and its exit status; None for one that did not end in time."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, **dict(environment)},
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=seconds)
        status = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        status = None
    return output.decode(errors="replace").replace("\r\n", "\n"), status


def has_begun(output):
    """The corpus says so before a case does anything."""
    return "begins\n" in output


def came_to_its_end(output):
    """The corpus says so last; a tool may write after it and on the same line."""
    return "done\n" in output


def abnormal_end(output, status):
    """How the program ended, where it did not come to its end."""
    if status is None:
        return HANG
    if status < 0 or status > LARGEST_STATUS:
        return classification.CRASH
    return None if came_to_its_end(output) else FAILED


def judge(case, told, end):
    """`told`: kinds; `end`: as of abnormal_end()."""
    kinds = frozenset(told) or frozenset({end} if end else ())
    if case.is_good:
        return Outcome(Verdict.FLAGGED if kinds else Verdict.QUIET, kinds)
    if case.kind in kinds:
        return Outcome(Verdict.FOUND, kinds)
    if not kinds:
        return Outcome(Verdict.MISSED, kinds)
    only_ended = kinds <= {classification.CRASH, HANG, FAILED}
    return Outcome(Verdict.ENDED if only_ended else Verdict.OTHERWISE, kinds)


def outcome_of(tool, bin_directory, case):
    command = tool.command_for(bin_directory, case.name)
    output, status = run(command, tool.environment)
    if tool.may_not_start and not has_begun(output):
        print(f"{case.name} did not begin ({written(output, status)}); once more", file=sys.stderr)
        output, status = run(command, tool.environment)
    outcome = judge(case, tool.classify(output), abnormal_end(output, status))
    return dataclasses.replace(outcome, written=written(output, status))


def written(output, status):
    return f"exit status {status}, output {output!r}"


def broken_promise(tool, case, outcome):
    """What a tool that has means should have done of this case, or None if it did."""
    if case.is_good:
        is_flagged = outcome.verdict is Verdict.FLAGGED and not tool.spoilt_cases.search(case.name)
        return "flags a good case" if is_flagged else None
    if tool.must_find(case) and outcome.verdict is not Verdict.FOUND:
        return f"does not tell of a {case.kind}"
    return None
