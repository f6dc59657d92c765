#!/usr/bin/env python3
"""Checks the layer law of include/alloctap/README.md, the words of CONTRIBUTING.md, and the house rules
that grep can see.

usage: check_layers.py ROOT | --self-test
"""

import collections
import pathlib
import re
import sys
import tempfile

# Low to high. A folder includes lower layers and itself, never a neighbour on its own layer; the
# top-level headers of one layer may include each other.
LAYERS = [
    {"annotate.h", "annotate.hpp", "macros.hpp", "status.hpp", "absl_status.hpp",
     "message_text.hpp", "version.hpp"},
    {"os", "arch"},
    {"elf"},
    {"pe"},
    {"runtime"},
    {"event"},
    {"hook", "stack", "sample", "queue", "meta", "check", "symbol", "tag",
     "observe", "fail"},
    {"record"},
    {"snapshot"},
    {"dump", "game"},
    {"config.hpp", "config_slips.hpp", "heaptrack_api.hpp",
     "named_pools.hpp", "session.hpp", "tracker_session.hpp", "tracker.hpp",
     "tracker_report.hpp", "tracker_session.hpp", "tracker_snapshot.hpp", "alloctap.hpp",
     "implement.hpp"},
    {"testing"},
]
MAX_HEADERS = 30
RANK = {part: rank for rank, layer in enumerate(LAYERS) for part in layer}
PLATFORM_PARTS = {"os", "arch", "elf", "pe", "macros.hpp"}

INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')
CONDITION = re.compile(r"\s*#\s*(?:if|ifdef|ifndef|elif)\b(.*)")
GNU_WORD = re.compile(r"\b(__attribute__|__builtin_\w+|__asm(__)?|asm)\b")
# Those that users place in a source file.
USERS_MACRO = re.compile(r"ALLOCTAP_(DEFINE_|IMPLEMENT$)")
DEFINE = re.compile(r"\s*#\s*define\s+(\w+)")
PLATFORM_MACRO = re.compile(
    r"\b(_WIN32|_WIN64|__MINGW\w+|__CYGWIN__|(__)?linux(__)?|(__)?unix(__)?|__APPLE__|__MACH__"
    r"|__ANDROID__|__BIONIC__|__GLIBC__|__FreeBSD__|__ELF__|(__)?i386(__)?|__x86_64(__)?"
    r"|__amd64(__)?|__aarch64__|__arm__|__riscv|_M_X64|_M_IX86|_M_ARM64|ALLOCTAP_(OS|ARCH)_\w+)\b"
)
SYSTEM_HEADER = re.compile(
    r"(sys|linux|asm|mach|bits)/.*"
    r"|(dlfcn|elf|execinfo|fcntl|link|malloc|poll|pthread|sched|semaphore|spawn|ucontext|unistd)\.h"
    r"|(dbghelp|psapi|windows|winternl)\.h",
    re.IGNORECASE,
)


# A comment says these in field terms, or by a verb and a value.
LOOSE_WORD = re.compile(r"\b(whoever|nobody|somebody|anew|likewise|as ever|as above|comes by|with care|stands? for)\b",
                        re.IGNORECASE)
# Names of types and functions that say what happens in one word of the field.
LOOSE_NAME = re.compile(r"\b(\w+_with_care|\w+_anew|tell_\w+|told_\w+|kMost[A-Z]\w*|looks_after|Books?keeper)\b")


def part_of(path):
    """The folder or top-level header, as in LAYERS, that a path below alloctap/ belongs to. Bodies in
    impl/ belong to what they are the bodies of."""
    return path.removeprefix("impl/").split("/")[0]


def check_include(part, bracket, target, is_relative):
    if target.startswith("alloctap/"):
        other = part_of(target.removeprefix("alloctap/"))
        if bracket == "<":
            return f'write "{target}", not <{target}>'
        if other not in RANK:
            return f"{other} is in no layer"
        if RANK[other] == RANK[part] and other != part and "." not in part:
            return f"{part} and {other} are neighbours, and may not include each other"
        if RANK[other] > RANK[part]:
            return f"{part} is below {other}, and may not include it"
    elif is_relative:
        return f'write "alloctap/...": a relative include hides its layer: {target}'
    elif SYSTEM_HEADER.fullmatch(target) and part not in PLATFORM_PARTS:
        return f"system headers belong in os/, arch/, elf/ and pe/: <{target}>"
    return None


def check_header(include_dir, header):
    """Yields (line number, sentence) for all that is wrong with one header."""
    part = part_of(header.relative_to(include_dir).as_posix())
    if part not in RANK:
        yield 1, f"{part} is in no layer"
        return
    lines = header.read_text(encoding="utf-8").splitlines()
    code = [line for line in lines if line.strip() and not line.lstrip().startswith("//")]
    if not code or code[0] != "#pragma once":
        yield 1, "the first line of code must be #pragma once"
    for number, line in enumerate(lines, 1):
        if match := INCLUDE.match(line):
            bracket, target = match.groups()
            is_relative = bracket == '"' and (header.parent / target).exists()
            if sentence := check_include(part, bracket, target, is_relative):
                yield number, sentence
        if match := CONDITION.match(line):
            # A condition may go on in the next lines.
            condition, follow = match[1], number
            while condition.endswith("\\") and follow < len(lines):
                condition, follow = condition[:-1] + lines[follow], follow + 1
            if part not in PLATFORM_PARTS and (macro := PLATFORM_MACRO.search(condition)):
                yield number, f"{macro[0]} may be asked for only in os/, arch/, elf/ and pe/"
        if part != "macros.hpp" and (word := GNU_WORD.search(line.split("//")[0])):
            yield number, f"{word[0]}: only macros.hpp says what is GNU's"
        code_part, _, comment = line.partition("//")
        if word := LOOSE_WORD.search(comment):
            yield number, f"{word[0]}: say it in field terms (CONTRIBUTING.md, Words)"
        if (name := LOOSE_NAME.search(code_part)) and '"' not in code_part:
            yield number, f"{name[0]}: name it in field terms (CONTRIBUTING.md, Words)"
        if match := DEFINE.match(line):
            if part != "macros.hpp" and not USERS_MACRO.match(match[1]):
                yield number, f"{match[1]}: only macros.hpp defines macros"


def check_tree(root):
    """Returns a list of "file:line: sentence", relative to root."""
    problems = []
    include_dir = root / "include" / "alloctap"
    for header in sorted(include_dir.rglob("*.hpp")):
        for line, sentence in check_header(include_dir, header):
            problems.append(f"{header.relative_to(root)}:{line}: {sentence}")
    counts = collections.Counter(header.parent for header in include_dir.rglob("*.h*"))
    for folder, count in sorted(counts.items()):
        if count > MAX_HEADERS:
            problems.append(f"{folder.relative_to(root)}: {count} headers, of at most {MAX_HEADERS}: "
                            "join those of one concept, or give one a folder")
    return problems


# Header, its text, and a part of the sentence that must come out (None: it is in order).
SEEDED = [
    ("meta/same.hpp", '#include "alloctap/meta/good.hpp"', None),
    ("alloctap.hpp", '#include "alloctap/impl/tracker.hpp"', None),
    ("os/linux.hpp", "#include <sys/mman.h>\n#if defined(__linux__)\n#endif", None),
    ("hook/define.hpp", "#define ALLOCTAP_DEFINE_THING(x)", None),
    ("event/back.hpp", '#include "alloctap/queue/q.hpp"', "event is below queue"),
    ("queue/neighbour.hpp", '  #  include "alloctap/meta/good.hpp"', "neighbours"),
    ("dump/neighbour.hpp", '#include "alloctap/game/g.hpp"', "neighbours"),
    ("hook/up.hpp", '#include "alloctap/impl/tracker.hpp"', "hook is below tracker.hpp"),
    ("hook/unknown.hpp", '#include "alloctap/misc/m.hpp"', "misc is in no layer"),
    ("misc/stray.hpp", "", "misc is in no layer"),
    ("meta/angle.hpp", "#include <alloctap/event/event.hpp>", "not <alloctap/"),
    ("meta/relative.hpp", '#include "good.hpp"', "a relative include hides"),
    ("stack/system.hpp", "#include <unistd.h>", "system headers belong"),
    ("stack/os.hpp", "#ifdef __linux__\n#endif", "__linux__ may be asked for"),
    ("stack/arch.hpp", "#if FOO && \\\n  defined(__x86_64__)\n#endif", "__x86_64__ may be"),
    ("stack/gnu.hpp", "void f() __attribute__((weak));", "says what is GNU's"),
    ("arch/gnu.hpp", "void f() { __builtin_trap(); }", "says what is GNU's"),
    ("stack/gnu_word.hpp", "// Not __asm__ here.", None),
    ("stack/macro.hpp", "#define FRAMES 3", "only macros.hpp defines"),
    ("stack/word.hpp", "/// Whoever frees it waits.", "Whoever: say it"),
    ("stack/words.hpp", "int x;  // As ever.", "As ever: say it"),
    ("stack/name.hpp", "void insert_with_care();", "insert_with_care: name it"),
    ("stack/text.hpp", 'f("somebody told_me");', None),
]


def self_test():
    failures = 0
    for name, text, expected in SEEDED:
        with tempfile.TemporaryDirectory() as directory:
            header = pathlib.Path(directory, "include/alloctap", name)
            header.parent.mkdir(parents=True)
            header.write_text(f"// A comment.\n#pragma once\n{text}\n", encoding="utf-8")
            if name == "meta/relative.hpp":
                header.with_name("good.hpp").write_text("#pragma once\n", encoding="utf-8")
            problems = check_tree(pathlib.Path(directory))
        found = len(problems) == 1 and expected in problems[0] if expected else not problems
        if not found:
            failures += 1
            print(f"{name}: expected {expected!r}, got {problems}", file=sys.stderr)
    with tempfile.TemporaryDirectory() as directory:
        header = pathlib.Path(directory, "include/alloctap/os/unguarded.hpp")
        header.parent.mkdir(parents=True)
        header.write_text("int x;\n", encoding="utf-8")
        if not any("#pragma once" in problem for problem in check_tree(pathlib.Path(directory))):
            failures += 1
            print("a header without #pragma once passed", file=sys.stderr)
        header.write_text("#pragma once\n", encoding="utf-8")
        for number in range(MAX_HEADERS):
            header.with_name(f"part{number}.hpp").write_text("#pragma once\n", encoding="utf-8")
        if not any("31 headers" in problem for problem in check_tree(pathlib.Path(directory))):
            failures += 1
            print("a folder of 31 headers passed", file=sys.stderr)
    return failures


def main(arguments):
    if arguments == ["--self-test"]:
        return 1 if self_test() else 0
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    root = pathlib.Path(arguments[0])
    if not any((root / "include" / "alloctap").rglob("*.hpp")):
        print(f"{root}: no headers below include/alloctap", file=sys.stderr)
        return 2
    problems = check_tree(root)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
