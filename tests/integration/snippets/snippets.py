#!/usr/bin/env python3
"""Compiles and runs the programs that README.md and docs/ print.

usage: snippets.py extract ROOT DIRECTORY
       snippets.py run ROOT PAGE NUMBER PROGRAM TOOLS
       snippets.py --self-test

A program is a ```cpp block that contains `int main` or a TEST_CASE. `extract` writes each into
DIRECTORY, with #line so that the compiler names the page, and DIRECTORY/snippets.cmake with a call of
add_snippet for each. `run` runs the NUMBER-th program of PAGE, in an empty directory, and compares
what it prints with the page. A comment on the line before a block says more:

    <!-- fragment -->    the block is no program
    <!-- not run -->     the program is compiled only
    <!-- inside FILE --> the block takes the place of the line "// The page's lines." in that file
    <!-- output -->      the block is what the program before it prints, on stdout and stderr
    <!-- output of alloctap-run --checks=level10 ./program in heap.txt, exits 1 -->
                         what it prints under that command, in that file; each part may be left out

In an output, a line "..." stands for any lines, and "..." in a line for any text. Addresses, modules,
directories, times, versions, process and thread ids are not compared.
"""

import contextlib
import dataclasses
import io
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

FENCE = re.compile(r"^(\s*)(```+|~~~+)\s*(\w*)\s*$")
PROGRAM = re.compile(r"\bint main\b|\bTEST_CASE\b")
OUTPUT = re.compile(r"output(?: of (?P<command>.+?))?(?: in (?P<file>\S+?))?(?:, exits (?P<status>\d+))?$")
# Frameworks that a program links if it includes these, and macros that bring a main.
LIBRARIES = {"<gtest/": "GTest::gtest", "googletest_adapter": "GTest::gtest",
             "<catch2/": "Catch2::Catch2", "catch2_adapter": "Catch2::Catch2"}
HAS_MAIN = re.compile(r"\bint main\b|DOCTEST_CONFIG_IMPLEMENT|CATCH_CONFIG_MAIN")
INSIDE = "inside "
MARKER = "// The page's lines.\n"
TIMEOUT_SECONDS = 300


@dataclasses.dataclass
class Block:
    """A fenced block. `line` is that of its first line; `comment` what precedes it, from `comment_line`."""

    language: str
    line: int
    text: str
    comment: str
    comment_line: int


@dataclasses.dataclass
class Snippet:
    program: Block
    output: Block = None


class PageError(Exception):
    """`where` is a line."""

    def __init__(self, line, sentence):
        super().__init__(sentence)
        self.line = line


def blocks_of(text):
    """The fenced blocks of a page. Raises PageError if one does not end."""
    blocks, fence, comment = [], None, None
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        line = lines[number]
        number += 1
        if match := FENCE.match(line):
            indent, fence, language = match.groups()
            first = number + 1
            body = []
            while number < len(lines) and lines[number].strip() != fence:
                body.append(lines[number].removeprefix(indent))
                number += 1
            if number == len(lines):
                raise PageError(first - 1, "this block does not end")
            number += 1
            words, where = comment or ("", first - 1)
            blocks.append(Block(language, first, "".join(f"{b}\n" for b in body), words, where))
            comment = None
        elif line.strip().startswith("<!--"):
            where = number
            while "-->" not in line and number < len(lines):
                line += "\n" + lines[number]
                number += 1
            comment = (line.strip().removeprefix("<!--").removesuffix("-->").strip(), where)
        elif line.strip():
            comment = None
    return blocks


def snippets_of(text):
    """The programs of a page with their outputs."""
    snippets, is_open = [], False
    for block in blocks_of(text):
        if block.language == "cpp":
            is_whole = PROGRAM.search(block.text) and block.comment != "fragment"
            is_open = bool(is_whole) or block.comment.startswith(INSIDE)
            if is_open:
                snippets.append(Snippet(block))
        elif block.comment.startswith("output"):
            if not OUTPUT.match(block.comment):
                raise PageError(block.comment_line, f"<!-- {block.comment} --> is not understood")
            if not is_open:
                raise PageError(block.comment_line, "there is no program before this output")
            snippets[-1].output = block
            is_open = False
    return snippets


def pages_of(root):
    return [root / "README.md", *sorted((root / "docs").rglob("*.md"))]


def source_of(root, snippet, page):
    """What is compiled. Raises PageError if the file that it is to stand in is not as it should be."""
    program = snippet.program
    source = f'#line {program.line} "{page}"\n{program.text}'
    if not program.comment.startswith(INSIDE):
        return source
    name = program.comment.removeprefix(INSIDE)
    file = root / name
    if not file.is_file():
        raise PageError(program.comment_line, f"there is no {name}")
    before, marker, after = file.read_text(encoding="utf-8").partition(MARKER)
    if not marker:
        raise PageError(program.comment_line, f"{name} has no line {MARKER.strip()}")
    follow = before.count("\n") + 2
    return f'#line 1 "{name}"\n{before}{source}#line {follow} "{name}"\n{after}'


def write_if_new(path, text):
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def extract(root, directory):
    """Returns 1 if a page is not in order."""
    calls = []
    for path in pages_of(root):
        page = path.relative_to(root).as_posix()
        try:
            snippets = snippets_of(path.read_text(encoding="utf-8"))
            sources = [source_of(root, snippet, page) for snippet in snippets]
        except PageError as error:
            print(f"{page}:{error.line}: {error}", file=sys.stderr)
            return 1
        for number, (snippet, source) in enumerate(zip(snippets, sources), 1):
            name = re.sub(r"\W", "_", page.removesuffix(".md").lower()) + f"_{number}"
            write_if_new(directory / f"{name}.cpp", source)
            options = [library for text, library in LIBRARIES.items() if text in source]
            options += [] if HAS_MAIN.search(source) else ["alloctap_doctest_main"]
            is_run = "OFF" if snippet.program.comment == "not run" else "ON"
            calls.append(" ".join([f'add_snippet({name} "{page}" {number} {is_run}', *dict.fromkeys(options)]) + ")")
    write_if_new(directory / "snippets.cmake", "".join(f"{call}\n" for call in calls))
    return 0


MASKS = [
    (re.compile(r"(?<![\w.])(?:\.{0,2}/)?(?:[\w.+@-]+/)+"), ""),
    (re.compile(r"0x[0-9a-f]+"), "0x*"),
    (re.compile(r"[\w.+-]+\+0x\*"), "module+0x*"),
    (re.compile(r"memory of [\w-]+"), "memory of *"),
    (re.compile(r"^(\s*command\s).*"), r"\1*"),
    (re.compile(r"\b(pid|thread|process) \d+"), r"\1 *"),
    (re.compile(r"\b[\d.,]+ (ns|us|ms|s)\b"), "* s"),
    (re.compile(r"\b\d+\.\d+\.\d+\b"), "*"),
    (re.compile(r"[\d.]+ ([KMG]i)?B mapped by the tracker"), "* mapped by the tracker"),
    (re.compile(r"\s+"), " "),
]
OWN_LINE = re.compile(r"[\w.-]+\.cpp:(\d+)")


def masked(line):
    for pattern, replacement in MASKS:
        line = pattern.sub(replacement, line)
    return OWN_LINE.sub(r"source:\1", line).rstrip()


def with_lines_of_block(text, page, first):
    """Lines of the page become those of the program, which readers have."""
    name = re.escape(pathlib.PurePath(page).name)
    return re.sub(rf"{name}:(\d+)", lambda m: f"program.cpp:{int(m[1]) - first + 1}", text)


def line_pattern(line):
    """None for a line that stands for any lines."""
    if line.strip() == "...":
        return None
    # "..." may take the place of what a mask is about.
    parts = [re.escape(masked(part)) for part in line.split("...")]
    return re.compile(".*".join(parts) + r"\s*")


def first_difference(expected, actual):
    """None if equal, else (index of a line of expected, what is there instead)."""
    patterns = [line_pattern(line) for line in expected]
    # Indices of the lines that the next one of actual may be: a line "..." stays possible.
    def closed(indices):
        result = set()
        for index in indices:
            result.add(index)
            while index < len(patterns) and patterns[index] is None:
                index += 1
                result.add(index)
        return result

    possible = closed({0})
    furthest, instead = 0, "the end"
    for line in [*map(masked, actual), None]:
        if max(possible) >= furthest:
            furthest, instead = max(possible), "the end" if line is None else line
        if line is None:
            break
        following = set()
        for index in possible:
            if index == len(patterns):
                continue
            if patterns[index] is None:
                following.add(index)
            elif patterns[index].fullmatch(line):
                following.add(index + 1)
        if not following:
            return furthest, instead
        possible = closed(following)
    return None if len(patterns) in possible else (furthest, instead)


def run(root, page, number, program, tools):
    """Returns 1 if the program fails or prints something else than the page says."""
    snippet = snippets_of((root / page).read_text(encoding="utf-8"))[number - 1]
    settings = OUTPUT.match(snippet.output.comment if snippet.output else "output").groupdict()
    words = shlex.split(settings["command"] or "./program")
    words = [program if word == "./program" else word for word in words]
    if (pathlib.Path(tools) / words[0]).exists():
        words[0] = str(pathlib.Path(tools) / words[0])
    with tempfile.TemporaryDirectory() as directory:
        done = subprocess.run(words, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=TIMEOUT_SECONDS, check=False)
        printed = done.stdout.decode(errors="replace")
        text = printed
        if settings["file"]:
            file = pathlib.Path(directory, settings["file"])
            text = file.read_text(errors="replace") if file.exists() else ""
    where = snippet.program.line
    if done.returncode != int(settings["status"] or 0):
        print(f"{page}:{where}: the program ends with {done.returncode}; it prints\n{printed}", file=sys.stderr)
        return 1
    if not snippet.output:
        return 0
    text = with_lines_of_block(text, page, where)
    expected = snippet.output.text.splitlines()
    difference = first_difference(expected, text.rstrip("\n").splitlines())
    if difference is None:
        return 0
    index, instead = difference
    stands = expected[index] if index < len(expected) else "the end"
    print(f"{page}:{snippet.output.line + index}: the output of the program in line {where} differs.\n"
          f"the page:    {stands}\nthe program: {instead}\nall of it:\n{text}", file=sys.stderr)
    return 1


PAGE = """# A page

<!-- fragment -->
```cpp
int main();
```

```cpp
void f();
```

<!-- inside tests/around.cpp -->
```cpp
g();
```

<!-- output, exits 1 -->
```text
one
...
  4 at ... main.cpp:7
```

```cpp
TEST_CASE("a") {}
```
"""


def expect(condition, what):
    if not condition:
        raise SystemExit(f"snippets.py: {what}")


def expect_page_error(text, line, sentence):
    try:
        snippets_of(text)
    except PageError as error:
        expect((error.line, str(error)) == (line, sentence), f"{error.line}: {error}")
        return
    expect(False, f"no error in {text!r}")


def test_pages():
    first, second = snippets_of(PAGE)
    expect(first.program.line == 14 and second.program.line == 25, (first, second))
    expect(first.output.line == 19 and second.output is None, (first, second))
    expect(OUTPUT.match(first.output.comment)["status"] == "1", first.output)
    found = OUTPUT.match("output of alloctap-run --checks=guard ./program in heap.txt, exits 7").groupdict()
    expect(found == {"command": "alloctap-run --checks=guard ./program", "file": "heap.txt", "status": "7"}, found)
    expect_page_error("```cpp\nint main\n", 1, "this block does not end")
    expect_page_error("a\n<!-- output -->\n```text\n```\n", 2, "there is no program before this output")
    expect_page_error("<!-- outputs -->\n```text\n```\n", 1, "<!-- outputs --> is not understood")
    indented = snippets_of("- a\n\n  ```cpp\n  int main() {\n    f();\n  }\n  ```\n")
    expect(indented[0].program.text == "int main() {\n  f();\n}\n", indented)


def test_extraction():
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        (root / "docs/deep").mkdir(parents=True)
        (root / "README.md").write_text("no program\n")
        (root / "docs/deep/page.md").write_text(PAGE)

        def failure():
            said = io.StringIO()
            with contextlib.redirect_stderr(said):
                extract(root, root)
            return said.getvalue()

        expect(failure() == "docs/deep/page.md:12: there is no tests/around.cpp\n", failure())
        around = root / "tests/around.cpp"
        around.parent.mkdir()
        around.write_text("int main() {\n}\n")
        expect(failure().startswith("docs/deep/page.md:12: tests/around.cpp has no line"), failure())
        around.write_text(f"int main() {{\n{MARKER}}}\n")
        expect(failure() == "", failure())
        source = (root / "docs_deep_page_1.cpp").read_text()
        expect(source == '#line 1 "tests/around.cpp"\nint main() {\n#line 14 "docs/deep/page.md"\ng();\n'
               '#line 3 "tests/around.cpp"\n}\n', source)
        calls = (root / "snippets.cmake").read_text()
        expect(calls == 'add_snippet(docs_deep_page_1 "docs/deep/page.md" 1 ON)\n'
               'add_snippet(docs_deep_page_2 "docs/deep/page.md" 2 ON alloctap_doctest_main)\n', calls)


def test_outputs():
    def differs(expected, actual):
        return first_difference(expected.splitlines(), actual.splitlines())

    same = [
        ("a\nb", "a\nb"), ("a\n...\nd", "a\nb\nc\nd"), ("a\n...", "a"), ("...", ""), ("a ... c", "a b c"),
        ("the memory of ... (pid ...)", "the memory of /b/c (pid 8)"),
        ("main   example+0x12", "main  /tmp/x/program_1+0xdead"), ("x (pid 1)", "x (pid 77)"),
        ("thread 12, 3 ms before", "thread 9, 0.1 ms before"), ("main main.cpp:7", "main /a/b/program.cpp:7"),
        ("alloctap 0.1.0: who", "alloctap 0.2.0: who"), ("of /home/you/a/b (pid 3)", "of /tmp/b (pid 4)"),
    ]
    for expected, actual in same:
        expect(differs(expected, actual) is None, f"{expected!r}, {actual!r}: {differs(expected, actual)}")
    other = [
        ("a\nb", "a\nc", (1, "c")), ("a", "a\nb", (1, "b")), ("a\nb", "a", (1, "the end")),
        ("4 blocks", "5 blocks", (0, "5 blocks")), ("...\nb", "a\nc", (1, "the end")),
        ("main main.cpp:7", "main program.cpp:8", (0, "main source:8")),
    ]
    for expected, actual, difference in other:
        expect(differs(expected, actual) == difference, f"{expected!r}, {actual!r}: {differs(expected, actual)}")
    rebased = with_lines_of_block("at /a/docs/page.md:12", "docs/page.md", 10)
    expect(rebased == "at /a/docs/program.cpp:3", rebased)


def test_runs():
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        program = root / "program"
        program.write_text("#!/bin/sh\necho one; echo two >heap.txt; exit 3\n")
        program.chmod(0o755)
        page = "```cpp\nint main();\n```\n<!-- output{} -->\n```text\n{}\n```\n"
        for settings, text, sentence in [
            (", exits 3", "one", ""), ("", "one", "README.md:2: the program ends with 3"),
            (", exits 3", "two", "README.md:6: the output of the program in line 2 differs"),
            (" in heap.txt, exits 3", "two", ""), (" of sh ./program, exits 3", "one", ""),
            (" in none.txt, exits 3", "two", "README.md:6: the output"),
        ]:
            (root / "README.md").write_text(page.format(settings, text))
            said = io.StringIO()
            with contextlib.redirect_stderr(said):
                result = run(root, "README.md", 1, str(program), root)
            expect(result == bool(sentence) and said.getvalue().startswith(sentence), (settings, text, said))


def main(arguments):
    if arguments == ["--self-test"]:
        test_pages()
        test_extraction()
        test_outputs()
        test_runs()
        return 0
    if len(arguments) == 3 and arguments[0] == "extract":
        return extract(pathlib.Path(arguments[1]), pathlib.Path(arguments[2]))
    if len(arguments) == 6 and arguments[0] == "run":
        root, page, number, program, tools = arguments[1:]
        return run(pathlib.Path(root), page, int(number), program, tools)
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
