"""Runs a program by itself, and under every hook and every check: nothing may change for it.

usage: host_cases.py ALLOCTAP_RUN PROGRAM
"""
import dataclasses
import os
import re
import signal
import subprocess
import sys

TIMEOUT_S = 60

CHECKS = [
    "--checks=level10", "--checks=front_guard", "--checks=rear_guard", "--checks=fill_on_alloc",
    "--checks=fill_on_free", "--checks=free_track", "--checks=verify_kinds", "--guard-pages=all",
    "--guard-pages=1/10", "--string-checks",
]
ANYWHERE = ["", "--leaks=unreachable", "--sample=4K", "--events=10M"]
RUNS = [(hook, option)
        for hook in ["interpose", "plt", "inline", "malloc-hooks"]
        for option in ANYWHERE + (CHECKS if hook == "interpose" else [])]
RUNS.append(("interpose", "--leaks=unreachable --checks=level10"))


@dataclasses.dataclass
class Case:
    """What is expected besides the output and the exit code of the program alone."""
    arguments: str = ""
    lost: str = "nothing"  # of --leaks=unreachable, as the report says it
    may_lack_report: bool = False  # then a line says why
    followed: bool = False  # is run with --follow-children, too
    within_s: int = TIMEOUT_S  # until all ends of its output are closed


CASES = {
    "counted_operators": [Case()],
    "daemon": [Case(followed=True, within_s=8)],
    "deepbind": [Case()],
    "last_thread_of_a_child": [Case(followed=True)],
    "leak_behind_own_frames": [Case(lost="100 B in 1 block")],
    "main_thread_leaves": [Case("1", followed=True), Case("2", followed=True), Case("3", followed=True)],
    "odd_alignment": [Case()],
    "pages_not_forked": [Case()],
    "partial_operators": [Case()],
    "partial_operators_with_header": [Case()],
    "pool_before_constructors": [Case()],
    "raw_exit_group": [Case(may_lack_report=True)],
    "sealed_block": [Case()],
    "seccomp_errno": [Case(may_lack_report=True)],
    "seccomp_kill": [Case(may_lack_report=True)],
    "small_fiber_stack": [Case()],
    "tiny_operators": [Case()],
    "unpatchable_functions": [Case()],
    "untouched_blocks": [Case()],
}


def run(command, directory, timeout_s=TIMEOUT_S):
    """Exit code, output and errors; the code is "no end" where that takes too long."""
    process = subprocess.Popen(command, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        output, errors = process.communicate(timeout=timeout_s)
        code = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, errors = process.communicate()
        code = "no end"
    return code, output.decode(errors="replace"), errors.decode(errors="replace")


def complaints(case, alone, tracked, option):
    """What is wrong with a run under the tracker."""
    code, output, errors = tracked
    if code != alone[0]:
        yield f"exit code {code} in place of {alone[0]}"
    if output != alone[1]:
        yield f"another output: {output!r} in place of {alone[1]!r}"
    # A hint at --follow-children may follow the report.
    lines = [line for line in re.findall(r"^alloctap-run: .*", errors, re.MULTILINE)
             if "--follow-children" not in line]
    if "who holds the memory of" not in errors:
        if not case.may_lack_report or len(lines) != 1:
            yield "no report"
        return
    if lines:
        yield f"a message: {lines[0]}"
    if re.search(r"^Misused ", errors, re.MULTILINE):
        yield "a fault"
    if re.search(r"[1-9]\d* frees of unknown blocks", errors):
        yield "frees of unknown blocks"
    leaked = re.search(r"^Leaked +([^;\n]*)", errors, re.MULTILINE)
    if "unreachable" in option and (not leaked or not leaked[1].startswith(case.lost)):
        yield f"{leaked[1] if leaked else 'nothing said of what is'} leaked"


def main():
    alloctap_run, program = sys.argv[1:]
    directory, name = os.path.split(program)
    failed = False
    for case in CASES[name]:
        command = [program] + case.arguments.split()
        alone = run(command, directory)
        for hook, option in RUNS:
            for follow in ["", "--follow-children"] if case.followed and not option else [""]:
                options = f"--hook={hook} {option} {follow}".split()
                tracked = run([alloctap_run] + options + ["--"] + command, directory, case.within_s)
                found = list(complaints(case, alone, tracked, option))
                if found:
                    failed = True
                    print(f"{name} {case.arguments}, {' '.join(options)}: {'; '.join(found)}")
                    print(tracked[2])
    sys.exit(failed)


if __name__ == "__main__":
    main()
