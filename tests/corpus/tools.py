"""The tools that the corpus is run under: one entry each, which is all that a new one needs."""

import dataclasses
import subprocess
from collections.abc import Callable

import classification


@dataclasses.dataclass(frozen=True)
class Tool:
    """A way to run a case. In `command` and `version` {bin} is the directory of built programs."""

    name: str
    heading: str  # of its column
    command: tuple  # what the name of the case is appended to
    classify: Callable  # all that was written -> kinds
    version: tuple  # its first line of output is the tool's name and version
    environment: tuple = ()  # (name, value) pairs
    # What it has of the corpus's means. A tool that has any answers to --check: it must find what can
    # be seen by them. A peer has none, as what it finds is its own affair.
    means: frozenset = frozenset()

    def command_for(self, bin_directory, case_name):
        return [part.format(bin=bin_directory) for part in self.command] + [case_name]

    def version_line(self, bin_directory):
        command = [part.format(bin=bin_directory) for part in self.version]
        shown = subprocess.run(command, capture_output=True, text=True, check=True)
        return shown.stdout.splitlines()[0]


PROGRAM = "{bin}/misuse_corpus"
SANITIZED_PROGRAM = "{bin}/misuse_corpus_asan"

RUN = "{bin}/alloctap-run"


def alloctap(name, heading, options, means):
    """A configuration of alloctap-run; each fault is a line on standard error."""
    return Tool(
        name=name,
        heading=heading,
        command=(RUN, *options, "--dump=text=/dev/null", PROGRAM),
        classify=classification.of_alloctap,
        version=(RUN, "--version"),
        means=frozenset(means),
    )


TOOLS = (
    alloctap(
        "alloctap-kinds",
        "alloctap verify_kinds, verify_pointers",
        ("--checks=verify_kinds,verify_pointers",),
        {"calls"},
    ),
    alloctap(
        "alloctap-level10",
        "alloctap level10",
        ("--checks=level10",),
        {"calls", "guard_bytes", "freed_fill"},
    ),
    Tool(
        name="plain",
        heading="no tool",
        command=(PROGRAM,),
        classify=classification.of_glibc,
        version=("ldd", "--version"),
    ),
    Tool(
        name="asan",
        heading="ASan, LSan",
        command=(SANITIZED_PROGRAM,),
        classify=classification.of_asan,
        version=(SANITIZED_PROGRAM, "--compiler"),
    ),
    Tool(
        name="memcheck",
        heading="memcheck",
        command=("valgrind", "--leak-check=full", PROGRAM),
        classify=classification.of_memcheck,
        version=("valgrind", "--version"),
    ),
)
