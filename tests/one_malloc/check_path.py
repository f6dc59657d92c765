#!/usr/bin/env python3
"""Checks that one malloc runs through the headers that docs/design/one_malloc.md lists, and through no
more than twelve.

usage: check_path.py COMPILER ROOT WORK_DIRECTORY | --self-test

Callgrind counts the instructions of a malloc whose stack was seen before, by the file that they come
from. A file that has fewer than four of them holds accessors of a line, and is not counted.
"""

import collections
import pathlib
import re
import subprocess
import sys

CALLS = 20000
FEWEST_INSTRUCTIONS = 4
MOST_FILES = 12
# Its functions are a macro's, so their instructions are the program's.
ENTRY = "hook/interposed_malloc.hpp"

POSITION = re.compile(r"(fl|fi|fe|ob|fn|cob|cfi|cfl|cfn)=\((\d+)\)(?: (.*))?")
COST = re.compile(r"[+\-*\d]\S* (\d+)$")
ROW = re.compile(r"^\| \d+ \| \[([\w/]+\.hpp)\]", re.MULTILINE)


def costs_by_file(lines, function):
    """Sums up what callgrind counted in `function` itself, by source file."""
    names = {"file": {}, "function": {}, "object": {}}
    costs = collections.Counter()
    here = {"file": None, "function": None}
    is_call = False
    for line in lines:
        if found := POSITION.match(line):
            key, number, name = found.groups()
            kind = "object" if key.endswith("ob") else "function" if key.endswith("fn") else "file"
            if name:
                names[kind][number] = name.strip()
            if key in ("fl", "fi", "fe", "fn"):
                here[kind] = names[kind].get(number)
        elif line.startswith("calls="):
            is_call = True
        elif found := COST.match(line):
            # The line behind "calls=" has what the callee cost.
            if not is_call and here["function"] == function and here["file"]:
                costs[here["file"]] += int(found[1])
            is_call = False
    return costs


def headers_on_path(costs):
    """The headers of the library with their instructions per call, those with fewest left out."""
    headers = {}
    for file, cost in costs.items():
        name = file.rpartition("include/alloctap/")[2]
        if name != file and cost >= FEWEST_INSTRUCTIONS * CALLS:
            headers[name] = cost // CALLS
    return headers


def compare(headers, listed):
    """Yields a sentence for each difference between what ran and what the document lists."""
    if not headers:
        yield "callgrind saw no header of the library in malloc"
    for name in sorted(headers.keys() - set(listed)):
        yield f"{name} has {headers[name]} instructions of a malloc, and the document does not list it"
    if len(listed) > MOST_FILES:
        yield f"the document lists {len(listed)} files, more than {MOST_FILES}"
    if len(set(listed)) < len(listed):
        yield "the document lists a file twice"


def check(compiler, root, work):
    work.mkdir(parents=True, exist_ok=True)
    program = work / "one_malloc"
    source = pathlib.Path(__file__).parent / "program.cpp"
    subprocess.run([compiler, "-std=c++20", "-O2", "-g", f"-I{root}/include", source, "-o", program],
                   check=True)
    profile = work / "callgrind.out"
    subprocess.run(["valgrind", "--tool=callgrind", "--dump-line=yes",
                    f"--callgrind-out-file={profile}", program, str(CALLS)],
                   check=True, stderr=subprocess.DEVNULL)
    headers = headers_on_path(costs_by_file(profile.read_text().splitlines(), "malloc"))
    document = (root / "docs/design/one_malloc.md").read_text()
    listed = ROW.findall(document)
    for name, instructions in sorted(headers.items(), key=lambda item: -item[1]):
        print(f"{instructions:4} {name}")
    return list(compare(headers, listed))


def self_test():
    lines = ["fl=(1) a/include/alloctap/x.hpp", "fn=(1) malloc", f"1 {5 * CALLS}", "calls=1 2", "2 99",
             f"fi=(2) a/include/alloctap/y.hpp", f"3 {CALLS}", "fn=(2) free", f"4 {7 * CALLS}"]
    headers = headers_on_path(costs_by_file(lines, "malloc"))
    assert headers == {"x.hpp": 5}, headers
    assert list(compare(headers, ["x.hpp"])) == []
    assert "does not list it" in list(compare(headers, ["z.hpp"]))[0]
    assert "more than" in list(compare(headers, ["x.hpp"] + [f"{i}.hpp" for i in range(12)]))[0]
    assert "twice" in list(compare(headers, ["x.hpp", "x.hpp"]))[0]
    assert "no header" in list(compare({}, ["x.hpp"]))[0]
    assert ROW.findall("| 3 | [meta/shadow_index.hpp](../x) | writes |") == ["meta/shadow_index.hpp"]


def main(arguments):
    if arguments == ["--self-test"]:
        self_test()
        return 0
    if len(arguments) != 3:
        print(__doc__)
        return 2
    complaints = check(arguments[0], pathlib.Path(arguments[1]), pathlib.Path(arguments[2]))
    for sentence in complaints:
        print(f"docs/design/one_malloc.md: {sentence}")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
