#!/usr/bin/env python3
"""Checks how much the headers that programs include bring with them.

usage: header_weight.py CXX INCLUDE_DIRECTORY [FLAGS...]

For each header: the lines that it adds to an empty file behind the preprocessor, and the headers of
others that it reaches. Then the lines of a tracker's implementing file, header-only and with
alloctap::compiled. Prints the table; fails where one is above its budget.
"""

import re
import subprocess
import sys
import tempfile

# What the headers may reach that files with bodies elsewhere include.
LIGHT = {
    "concepts", "cstddef", "cstdint", "cstdio", "cstdlib", "cstring", "new", "span", "stddef.h",
    "stdint.h", "string_view", "type_traits", "utility",
}
COMPILED = "-DALLOCTAP_COMPILED"
# What the README's program includes.
README_PROGRAM = (
    "alloctap/implement.hpp",
    "alloctap/hook/interposed_malloc.hpp",
    "alloctap/symbol/libdw_symbolizer.hpp",
)
# Name, headers, flags, and the most lines.
PROGRAM_BUDGETS = (
    ("README's program", README_PROGRAM, [], 110_000),
    ("README's, alloctap::compiled", README_PROGRAM, [COMPILED], 84_000),
)

# The header, the most lines, and the headers of others that it may reach; None: any.
BUDGETS = (
    ("alloctap/annotate.h", 340, {"stddef.h", "stdint.h"}),
    ("alloctap/annotate.hpp", 480, {"stddef.h", "stdint.h"}),
    ("alloctap/testing/expectations.hpp", 1_000, None),
    ("alloctap/tag/tag_scope.hpp", 52_000, None),
    ("alloctap/game/frames.hpp", 62_000, None),
    ("alloctap/alloctap.hpp", 17_000, LIGHT),
    ("alloctap/impl/tracker.hpp", 96_000, None),
    ("alloctap/implement.hpp", 104_000, None),
)


def preprocess(compiler, headers, flags):
    """The lines of a file that includes nothing but `headers`, and what the compiler opened."""
    with tempfile.NamedTemporaryFile("w", suffix=".cpp") as source:
        source.writelines(f"#include <{header}>\n" for header in headers)
        source.flush()
        done = subprocess.run(
            [*compiler, "-std=c++20", *flags, "-E", "-H", source.name],
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode != 0:
        sys.exit(f"header_weight.py: {' '.join(headers)}: {done.stderr}")
    lines = [line for line in done.stdout.splitlines() if line and not line.startswith("#")]
    return len(lines), re.findall(r"^(\.+) (.*)$", done.stderr, re.MULTILINE)


def headers_of_others(opened, include):
    """Those that headers of ours include themselves."""
    reached = set()
    ours = {0}
    for dots, path in opened:
        depth = len(dots)
        ours = {known for known in ours if known < depth}
        if path.startswith(include):
            ours.add(depth)
        elif depth - 1 in ours:
            reached.add(path)
    return {re.sub(r"^.*/include/(c\+\+/\d+/|x86_64-linux-gnu/)?", "", path) for path in reached}


def main():
    compiler, include, flags = sys.argv[1].split(), sys.argv[2], sys.argv[3:]
    flags = [f"-I{include}", *flags]
    empty, _ = preprocess(compiler, (), flags)
    failures = []
    for header, most, allowed in BUDGETS:
        lines, opened = preprocess(compiler, [header], flags)
        lines -= empty
        reached = headers_of_others(opened, include)
        print(f"{header:32} {lines:8,} lines of at most {most:8,}; {len(reached):3} headers of others")
        if lines > most:
            failures.append(f"{header} has {lines:,} lines behind the preprocessor, at most {most:,}")
        for other in sorted(reached - allowed if allowed is not None else ()):
            failures.append(f"{header} reaches {other}, and may not")
    for name, headers, more_flags, most in PROGRAM_BUDGETS:
        lines = preprocess(compiler, headers, [*flags, *more_flags])[0] - empty
        print(f"{name:32} {lines:8,} lines of at most {most:8,}")
        if lines > most:
            failures.append(f"{name} has {lines:,} lines behind the preprocessor, at most {most:,}")
    if failures:
        sys.exit("header_weight.py: " + "; ".join(failures))


if __name__ == "__main__":
    main()
