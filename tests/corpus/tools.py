"""The tools that the corpus is run under: one entry each, which is all that a new one needs."""

import dataclasses
import pathlib
import re
import subprocess
from collections.abc import Callable

import classification

PROGRAM = "{bin}/misuse_corpus"
SANITIZED_PROGRAM = "{bin}/misuse_corpus_asan"
RUN = "{bin}/alloctap-run"
# What a Windows build runs by.
WINE = ("sh", str(pathlib.Path(__file__).parents[2] / "cmake" / "run_by_wine.sh"))


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
    # Names of cases that it need not tell of all the same.
    blind_cases: re.Pattern = re.compile("(?!)")
    # And of good ones that are not good where it runs: a library does what they are about.
    spoilt_cases: re.Pattern = re.compile("(?!)")
    program: tuple = (PROGRAM,)  # that has the cases
    # Of 4,700 starts under Wine two ended before the program's first line; why is not known. What
    # ends so is started once more.
    may_not_start: bool = False

    def must_find(self, case):
        return bool(case.seen_by & self.means) and not self.blind_cases.search(case.name)

    def program_in(self, bin_directory):
        return [part.format(bin=bin_directory) for part in self.program]

    def command_for(self, bin_directory, case_name):
        return [part.format(bin=bin_directory) for part in self.command] + [case_name]

    def version_line(self, bin_directory):
        command = [part.format(bin=bin_directory) for part in self.version]
        shown = subprocess.run(command, capture_output=True, text=True, check=True)
        return shown.stdout.splitlines()[0]


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


WINDOWS_RUN = (*WINE, "{bin}/alloctap-run.exe")
# Wine's debugger would look at each program that ends by a fault, for longer than that has run.
WITHOUT_DEBUGGER = (("WINEDLLOVERRIDES", "mscoree,mshtml,winedbg.exe="),)


def alloctap_on_windows(name, heading, options, means, blind_cases="(?!)", spoilt_cases="(?!)"):
    """The same of a Windows build: none is run unless it is named."""
    return Tool(
        name=name,
        heading=heading,
        command=(
            *WINDOWS_RUN,
            *options,
            f"--dump=matrix={{bin}}/{name}.matrix",  # not to NUL, a device; names no functions
            "{bin}/misuse_corpus.exe",
        ),
        classify=classification.of_alloctap,
        version=(*WINDOWS_RUN, "--version"),
        environment=WITHOUT_DEBUGGER,
        means=frozenset(means),
        blind_cases=re.compile(blind_cases),
        spoilt_cases=re.compile(spoilt_cases),
        program=(*WINE, "{bin}/misuse_corpus.exe"),
        may_not_start=True,
    )


# GCC's library frees a thread's variables before it destroys them, and so reads freed memory.
WINDOWS_SPOILT = "^freed_late/thread_local_destructor/good_"

# What leads to them all the same: the stack of a thread that Wine keeps until another one ends;
# numbers that look like addresses below 4 GiB, where many are of a large block.
WINDOWS_HELD = "^leak/malloc_1_mib/|^leak/.*/other_thread$"

WINDOWS_TOOLS = (
    # All blocks but aligned ones come from one function. GCC's library frees a thread's variables
    # before it destroys them: filled, they tell nothing to destroy.
    alloctap_on_windows(
        "alloctap-level10-windows",
        "alloctap level10, Windows",
        ("--checks=level10",),
        {"calls", "guard_bytes", "freed_fill"},
        "^mismatched_release/(?!new_aligned/)|^(wrong_size|wrong_alignment)/"
        "|^library/(vector/data_freed|unique_ptr/of_array|destructor/not_virtual)/"
        "|^freed_late/thread_local_destructor/",
    ),
    alloctap_on_windows(
        "alloctap-guard-pages-windows",
        "alloctap guard pages, Windows",
        ("--guard-pages=all",),
        {"page_after", "freed_page"},
        spoilt_cases=WINDOWS_SPOILT,
    ),
    alloctap_on_windows(
        "alloctap-guard-pages-left-windows",
        "alloctap guard pages, left, Windows",
        ("--guard-pages=all,left",),
        {"page_before", "freed_page"},
        spoilt_cases=WINDOWS_SPOILT,
    ),
    alloctap_on_windows(
        "alloctap-strings-windows",
        "alloctap string checks, Windows",
        ("--string-checks",),
        {"string_checks"},
        "/((s|sn|sw)printf|wmemset|wmemcmp)/",  # GCC's own, which are linked in
    ),
    # Leaks stand in the report alone, which is on standard error here.
    dataclasses.replace(
        alloctap_on_windows(
            "alloctap-leaks-windows", "alloctap leaks, Windows", (), {"reachability"}, WINDOWS_HELD
        ),
        command=(*WINDOWS_RUN, "--leaks=unreachable", "{bin}/misuse_corpus.exe"),
    ),
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
    alloctap(
        "alloctap-guard-pages",
        "alloctap guard pages",
        ("--guard-pages=all",),
        {"page_after", "freed_page"},
    ),
    alloctap(
        "alloctap-guard-pages-left",
        "alloctap guard pages, left",
        ("--guard-pages=all,left",),
        {"page_before", "freed_page"},
    ),
    alloctap(
        "alloctap-strings",
        "alloctap string checks",
        ("--string-checks",),
        {"string_checks"},
    ),
    # Leaks stand in the report alone, which is on standard error here.
    dataclasses.replace(
        alloctap("alloctap-leaks", "alloctap leaks", (), {"reachability"}),
        command=(RUN, "--leaks=unreachable", PROGRAM),
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
