#!/usr/bin/env python3
"""Checks what README.md, bench/README.md and docs/ promise their readers.

usage: check_docs.py ROOT [DIRECTORY_OF_COMMANDS] | --self-test

- README.md and bench/README.md have at most 150 lines, no table cell of README.md more than 20 words.
- Relative links lead to files, and to headings, that exist.
- docs/README.md has a link to each page below docs/.
- Each option that a command prints for --help is on that command's page.
- The table of docs/formats.md has the formats and endings of dump/dump_formats.hpp.
- docs/configuration.md names the header of each format that implement.hpp does not include.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

MAX_LINES = 150
SHORT_PAGES = ["README.md", "bench/README.md"]
MAX_CELL_WORDS = 20
# Those whose links are checked, beside docs/.
LINKING_PAGES = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "bench/README.md",
                 "examples/README.md"]
INDEX = "docs/README.md"
PAGES_OF_COMMANDS = {
    "alloctap-run": "docs/alloctap_run.md",
    "alloctap-convert": "docs/formats.md",
    "alloctap-diff": "docs/formats.md",
}

FORMATS = "include/alloctap/dump/dump_formats.hpp"
FORMATS_PAGE = "docs/formats.md"
IMPLEMENT = "include/alloctap/implement.hpp"
CONFIGURATION_PAGE = "docs/configuration.md"

FORMAT_ROW = re.compile(r'DumpFormatRow<(\w+)>\{\.name = "([\w-]+)"(?:, \.endings = \{([^}]*)\})?')
TABLE_ROW = re.compile(r"^\| `([\w-]+)` \| ([^|]*)\| `(\w+)` \|")

FENCE = re.compile(r"^\s*(```+|~~~+)")
INLINE_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
LINK = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^()\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
LINK_DEFINITION = re.compile(r"^\s{0,3}\[[^\]]+\]:\s*(\S+)")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*\s*$")
ANCHOR = re.compile(r"<a\s+(?:id|name)=\"([^\"]+)\"")
SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*:")
OPTION_LINE = re.compile(r"^\s{1,8}(-{1,2}[A-Za-z][\w-]*(?:,\s*-{1,2}[A-Za-z][\w-]*)*)")


def lines_of(path):
    return path.read_text(encoding="utf-8").splitlines()


def prose_of(lines):
    """Yields (line number, line) of what is no fenced code."""
    fence = None
    for number, line in enumerate(lines, 1):
        match = FENCE.match(line)
        if fence is None and match:
            fence = match[1]
        elif fence is not None:
            if line.strip() == fence:
                fence = None
        else:
            yield number, line


def links_of(lines):
    """Yields (line number, target). A link may be broken over two lines."""
    prose = [(number, INLINE_CODE.sub("``", line)) for number, line in prose_of(lines)]
    text = "\n".join(line for _, line in prose)
    for match in LINK.finditer(text):
        yield prose[text.count("\n", 0, match.start(1))][0], match[1]
    for number, line in prose:
        if match := LINK_DEFINITION.match(line):
            yield number, match[1]


def anchor_of(heading):
    """As GitHub makes it."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors_of(path):
    anchors, counts = set(), {}
    for _, line in prose_of(lines_of(path)):
        anchors.update(ANCHOR.findall(line))
        if match := HEADING.match(line):
            anchor = anchor_of(match[1])
            seen = counts.get(anchor, 0)
            counts[anchor] = seen + 1
            anchors.add(f"{anchor}-{seen}" if seen else anchor)
    return anchors


def check_link(root, page, target):
    """Returns what is wrong with it, or None."""
    if SCHEME.match(target) or target.startswith("//"):
        return None
    name, _, anchor = target.partition("#")
    path = (page.parent / name) if name else page
    if name.startswith("/"):
        return f"{target}: a link must be relative"
    if not path.exists():
        return f"{target}: there is no such file"
    if not path.resolve().is_relative_to(root.resolve()):
        return f"{target}: this is outside of the project"
    if anchor and path.suffix == ".md" and anchor not in anchors_of(path):
        return f"{target}: there is no such heading"
    return None


def check_links(root):
    named = [root / name for name in LINKING_PAGES if (root / name).exists()]
    for page in [*named, *sorted((root / "docs").rglob("*.md"))]:
        for number, target in links_of(lines_of(page)):
            if sentence := check_link(root, page, target):
                yield page.relative_to(root), number, sentence


def check_lengths(root):
    for name in SHORT_PAGES:
        count = len(lines_of(root / name))
        if count > MAX_LINES:
            yield name, MAX_LINES + 1, f"{count} lines; at most {MAX_LINES} are to be read at once"


def check_cells(root):
    for number, line in prose_of(lines_of(root / "README.md")):
        if not line.lstrip().startswith("|"):
            continue
        for cell in re.split(r"(?<!\\)\|", line.strip().strip("|")):
            words = len(cell.split())
            if words > MAX_CELL_WORDS:
                yield "README.md", number, f"a cell of {words} words; more than {MAX_CELL_WORDS} are a paragraph"


def check_index(root):
    index = root / INDEX
    if not index.exists():
        yield INDEX, 1, "there is no such page"
        return
    linked = {(index.parent / target.partition("#")[0]).resolve() for _, target in links_of(lines_of(index))}
    for page in sorted((root / "docs").rglob("*.md")):
        if page != index and page.resolve() not in linked:
            yield page.relative_to(root), 1, f"{INDEX} has no link to this page"


def options_of(help_text):
    """Each option of a --help, without its values."""
    found = []
    for line in help_text.splitlines():
        if match := OPTION_LINE.match(line):
            found += [option.strip() for option in match[1].split(",")]
    return found


def names_option(text, option):
    return re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", text) is not None


def check_options(root, help_texts):
    """`help_texts`: name of a command -> what it prints for --help."""
    for command, help_text in help_texts.items():
        options, page = options_of(help_text), PAGES_OF_COMMANDS[command]
        if not options:
            yield page, 1, f"{command} --help prints no options"
        if not (root / page).exists():
            yield page, 1, f"there is no such page, which is to have the options of {command}"
            continue
        text = (root / page).read_text(encoding="utf-8")
        for option in options:
            if not names_option(text, option):
                yield page, 1, f"{option} of {command} is not described"


def check_formats(root):
    if not (root / FORMATS).exists():
        return
    rows = {name: (policy, set(re.findall(r'"(\.[\w.-]+)"', endings)))
            for policy, name, endings in FORMAT_ROW.findall((root / FORMATS).read_text(encoding="utf-8"))}
    described = {}
    for number, line in enumerate(lines_of(root / FORMATS_PAGE), 1):
        if match := TABLE_ROW.match(line):
            described[match[1]] = (number, match[3], set(re.findall(r"`(\.[\w.-]+)`", match[2])))
    if not rows:
        yield FORMATS, 1, "there is no row of a format"
    for name, (policy, endings) in rows.items():
        number, described_policy, described_endings = described.pop(name, (1, None, set()))
        # The name of a format is an ending, too, which the page need not list.
        if described_policy != policy:
            yield FORMATS_PAGE, number, f"the format {name} of {policy} is not in the table"
        elif described_endings - {"." + name} != endings:
            yield FORMATS_PAGE, number, f"{name} has the endings {', '.join(sorted(endings)) or 'of its name alone'}"
    for name, (number, _, _) in described.items():
        yield FORMATS_PAGE, number, f"there is no format {name}"


def header_of(policy):
    """Returns the header of a dump policy: dump/json_dump.hpp of JsonDump."""
    return "dump/" + re.sub(r"(?<!^)(?=[A-Z])", "_", policy).lower() + ".hpp"


def check_dump_headers(root):
    if not (root / IMPLEMENT).exists():
        return
    included = (root / IMPLEMENT).read_text(encoding="utf-8")
    page = (root / CONFIGURATION_PAGE).read_text(encoding="utf-8")
    for policy, _, _ in FORMAT_ROW.findall((root / FORMATS).read_text(encoding="utf-8")):
        header = header_of(policy)
        if f'"alloctap/{header}"' not in included and f"`{header}`" not in page:
            yield CONFIGURATION_PAGE, 1, f"{header}, which implement.hpp does not include, is not named"


def help_texts_of(directory):
    texts = {}
    for command in PAGES_OF_COMMANDS:
        done = subprocess.run([directory / command, "--help"], capture_output=True, text=True, check=True)
        texts[command] = done.stdout
    return texts


def check_tree(root, help_texts):
    """Returns a list of "file:line: sentence", relative to root."""
    checks = [check_lengths, check_cells, check_links, check_index, check_formats, check_dump_headers]
    problems = [problem for check in checks for problem in check(root)]
    problems += check_options(root, help_texts)
    return [f"{name}:{number}: {sentence}" for name, number, sentence in problems]


GOOD_TABLE = "| `folded` | `.folded`, `.x.y` | `Folded` | z |\n"
GOOD_FORMATS = "`--replay`, `--version`, `--allow=BYTES`\n" + GOOD_TABLE
GOOD_TREE = {
    "README.md": "# Title\n\n[pages](docs/README.md#all-pages), [web](https://example.com/x#y)\n\n"
    "| a | b |\n|---|---|\n| " + "word " * 20 + "| `--x | y` |\n\n`[no](link)`\n```\n[no](link)\n```\n",
    "bench/README.md": "line\n" * 150,
    "docs/README.md": "# Docs\n\n## All pages\n\n[run][r], [a\nb](formats.md), [deep](deep/page.md#a-b--c-1)\n"
    "[config](configuration.md)\n"
    "[diff](leaks.md)\n\n[r]: alloctap_run.md\n",
    "docs/alloctap_run.md": "`-h`, `--help`, `-o PATH`, `--output=PATH`, `--hook`\n",
    "docs/formats.md": GOOD_FORMATS,
    FORMATS: '  DumpFormatRow<Folded>{.name = "folded", .endings = {".x.y"}},\n',
    IMPLEMENT: '#include "alloctap/dump/folded.hpp"\n',
    CONFIGURATION_PAGE: "[deep](deep/page.md)\n",
    "docs/leaks.md": "text\n",
    "docs/deep/page.md": "## A, b & [c](../README.md)\n## A b  c\n## `a` b, c\n## a b  c\n",
}
GOOD_HELP = {
    "alloctap-run": "Usage: x [-z]\n\nOptions:\n  -h,--help    Print --this.\n  -o,--output PATH   Or --not this\n"
    "                 --nor this\n  --hook CHOICE\n",
    "alloctap-convert": "  --replay   Go\n  --version  Print\n",
    "alloctap-diff": "  --allow BYTES\n",
}
# File, its text (None: it is not there), and the problem that must come out.
SEEDED = [
    ("README.md", "# Title\n" * 151, "README.md:151: 151 lines"),
    ("bench/README.md", "line\n" * 151, "bench/README.md:151: 151 lines"),
    ("README.md", "a\n| b | " + "word " * 21 + "|\n", "README.md:2: a cell of 21 words"),
    ("README.md", "a\n\n[x](docs/none.md)\n", "README.md:3: docs/none.md: there is no such file"),
    ("README.md", "[a\nb](docs/none.md)\n", "README.md:2: docs/none.md: there is no such file"),
    ("README.md", "![x](picture.png)\n", "README.md:1: picture.png: there is no such file"),
    ("README.md", "[x](/docs/README.md)\n", "README.md:1: /docs/README.md: a link must be relative"),
    ("README.md", "[x](../..)\n", "README.md:1: ../..: this is outside of the project"),
    ("README.md", "[x](docs/README.md#no-pages)\n", "README.md:1: docs/README.md#no-pages: there is no such heading"),
    ("SECURITY.md", "# A\n[x](#b)\n", "SECURITY.md:2: #b: there is no such heading"),
    ("CONTRIBUTING.md", "[x]\n\n[x]: none\n", "CONTRIBUTING.md:3: none: there is no such file"),
    ("docs/leaks.md", "text\n```\n```\n[x](y)\n", "docs/leaks.md:4: y: there is no such file"),
    ("docs/lonely.md", "text\n", "docs/lonely.md:1: docs/README.md has no link to this page"),
    ("docs/alloctap_run.md", "`-h`, `--help`, `-o`, `--output-x`, `--hook`\n",
     "docs/alloctap_run.md:1: --output of alloctap-run is not described"),
    ("docs/formats.md", "`--replay`, `--version`, `--allow=BYTES`\n",
     "docs/formats.md:1: the format folded of Folded is not in the table"),
    ("docs/formats.md", "`--replay`, `--version`, `--allow=BYTES`\n| `folded` | `.z` | `Folded` | z |\n",
     "docs/formats.md:2: folded has the endings .x.y"),
    ("docs/formats.md", GOOD_FORMATS + "| `other` | `.z` | `Other` | z |\n",
     "docs/formats.md:3: there is no format other"),
    (IMPLEMENT, "", "docs/configuration.md:1: dump/folded.hpp, which implement.hpp does not include, is not named"),
    ("docs/formats.md", GOOD_TABLE + "--version --allow\n",
     "docs/formats.md:1: --replay of alloctap-convert is not described"),
    ("docs/formats.md", GOOD_TABLE + "--version --replay --allowed\n",
     "docs/formats.md:1: --allow of alloctap-diff is not described"),
]


def problems_of(changes, help_texts):
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory, "project")
        for name, text in {**GOOD_TREE, **changes}.items():
            if text is not None:
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text, encoding="utf-8")
        return check_tree(root, help_texts)


def self_test():
    failures = 0

    def expect(problems, expected, what):
        nonlocal failures
        found = len(problems) == 1 and problems[0].startswith(expected) if expected else not problems
        if not found:
            failures += 1
            print(f"{what}: expected {expected!r}, got {problems}", file=sys.stderr)

    expect(problems_of({}, GOOD_HELP), None, "all in order")
    for name, text, expected in SEEDED:
        expect(problems_of({name: text}, GOOD_HELP), expected, name)
    expect(problems_of({}, {"alloctap-diff": "nothing\n"}),
           "docs/formats.md:1: alloctap-diff --help prints no options", "a help without options")
    missing = problems_of({"docs/README.md": None, "README.md": "# Title\n", "docs/deep/page.md": "text\n"}, {})
    expect(missing, "docs/README.md:1: there is no such page", "no index")
    missing = problems_of({"docs/alloctap_run.md": None, "docs/README.md": "[a](formats.md) [b](leaks.md) [c](configuration.md)\n"
                           "[c](deep/page.md)\n## All pages\n"}, {"alloctap-run": GOOD_HELP["alloctap-run"]})
    expect(missing, "docs/alloctap_run.md:1: there is no such page", "no page of a command")
    return failures


def main(arguments):
    if arguments == ["--self-test"]:
        return 1 if self_test() else 0
    if len(arguments) not in (1, 2):
        print(__doc__, file=sys.stderr)
        return 2
    help_texts = help_texts_of(pathlib.Path(arguments[1])) if len(arguments) == 2 else {}
    problems = check_tree(pathlib.Path(arguments[0]), help_texts)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
