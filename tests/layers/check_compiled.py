#!/usr/bin/env python3
"""Checks that the library alloctap::compiled has all that programs which link it do not compile.

usage: check_compiled.py ROOT | --self-test

Each file in an impl/ folder is included by one source of src/, and by the header that it has the
bodies of, there at the end and without ALLOCTAP_COMPILED. A source has nothing but such includes.
"""

import pathlib
import re
import sys
import tempfile

INCLUDE = re.compile(r'^#include "(alloctap/(?:[^"]*/)?impl/[^"]*)"$', re.MULTILINE)
TAIL = '\n#ifndef ALLOCTAP_COMPILED\n#include "{}"\n#endif\n'
# Templates, which the program instantiates itself.
NOT_COMPILED = {
    "alloctap/dump/impl/outputs.hpp",
    "alloctap/impl/tracker.hpp",
    "alloctap/testing/impl/expectations.hpp",
}


def check_source(source):
    """Yields a sentence for each line of `source` that is neither an include nor a comment."""
    for number, line in enumerate(source.read_text(encoding="utf-8").splitlines(), 1):
        if line and not line.startswith("//") and not INCLUDE.match(line):
            yield f"{source.name}:{number}: has more than includes of impl/ folders"


def check_impl(include, impl):
    """Yields a sentence for what is wrong between `impl` and its header."""
    header = impl.replace("/impl/", "/")
    text = (include / impl).read_text(encoding="utf-8")
    if not (include / header).exists():
        yield f"{impl}: {header} does not exist"
        return
    if not (include / header).read_text(encoding="utf-8").endswith(TAIL.format(impl)):
        yield f"{header}: does not end in the include of {impl} without ALLOCTAP_COMPILED"
    if f'#include "{header}"\n' not in text:
        yield f"{impl}: does not include {header}"


def check_tree(root):
    """Returns a list of sentences."""
    include = root / "include"
    sources = sorted((root / "src").glob("*.cpp"))
    problems = [sentence for source in sources for sentence in check_source(source)]
    compiled = [name for source in sources for name in INCLUDE.findall(source.read_text("utf-8"))]
    for path in sorted(include.rglob("impl/*.hpp")):
        impl = path.relative_to(include).as_posix()
        if impl in NOT_COMPILED:
            continue
        problems += check_impl(include, impl)
        if compiled.count(impl) != 1:
            problems.append(f"{impl}: {compiled.count(impl)} sources of src/ include it, not 1")
    return problems


# What is changed of a tree that is in order, and a part of the sentence that must come out.
SEEDED = [
    (None, "", None),
    ("src/x.cpp", "", "0 sources of src/"),
    ("src/y.cpp", '#include "alloctap/x/impl/a.hpp"\n', "2 sources of src/"),
    ("src/y.cpp", "int y;\n", "has more than includes"),
    ("include/alloctap/x/a.hpp", "#pragma once\n", "does not end in the include"),
    ("include/alloctap/x/impl/a.hpp", "#pragma once\n", "does not include alloctap/x/a.hpp"),
    ("include/alloctap/x/a.hpp", None, "alloctap/x/a.hpp does not exist"),
]


def write_tree(root):
    impl = "alloctap/x/impl/a.hpp"
    texts = {
        "src/x.cpp": f'// Bodies.\n#include "{impl}"\n',
        "include/alloctap/x/a.hpp": "#pragma once\n" + TAIL.format(impl),
        "include/alloctap/x/impl/a.hpp": '#pragma once\n\n#include "alloctap/x/a.hpp"\n',
    }
    for name, text in texts.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")


def self_test():
    failures = 0
    for name, text, expected in SEEDED:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            write_tree(root)
            if name and text is None:
                (root / name).unlink()
            elif name:
                (root / name).write_text(text, encoding="utf-8")
            problems = check_tree(root)
        if (len(problems) == 1 and expected in problems[0]) if expected else not problems:
            continue
        failures += 1
        print(f"{name}: expected {expected!r}, got {problems}", file=sys.stderr)
    return failures


def main(arguments):
    if arguments == ["--self-test"]:
        return 1 if self_test() else 0
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    problems = check_tree(pathlib.Path(arguments[0]))
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
