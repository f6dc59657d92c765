#!/usr/bin/env python3
"""usage: manual_test.py BUILD_DIR

Man pages and completions have every option of the commands, and shells and man understand them.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = None
BASH_COMPLETION = "/usr/share/bash-completion/bash_completion"

# Words as readline splits them, given to the function of the command. compopt works in an
# interactive shell alone.
COMPLETE = r"""
. "$1"; . "$2"
compopt() { :; }
COMP_LINE=$3 COMP_POINT=${#3}
COMP_WORDS=($(printf %s "$3" | sed 's/[=:]/ & /g'))
[[ $3 == *[\ =] ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
"_${COMP_WORDS[0]//-/_}" "${COMP_WORDS[0]}" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\n' "${COMPREPLY[@]}"
"""


def run(*command, **arguments):
    return subprocess.run(command, capture_output=True, text=True, check=True, **arguments).stdout


def commands():
    return sorted(path.stem for path in (BUILD / "manual/man1").glob("*.1"))


def options_of(command):
    """The names of options in its help."""
    lines = run(BUILD / "bin" / command, "--help").splitlines()
    heads = [line.split() for line in lines if re.match(r"  -", line)]
    return sorted(name for head in heads for name in head[0].split(","))


class Manual(unittest.TestCase):
    def test_all_commands_have_pages(self):
        self.assertEqual(commands(), ["alloctap-convert", "alloctap-diff", "alloctap-run"])

    def test_pages_and_completions_have_all_options(self):
        for command in commands():
            options = options_of(command)
            self.assertIn("--help", options)
            page = (BUILD / "manual/man1" / f"{command}.1").read_text().replace("\\-", "-")
            heads = re.findall(r"^\.TP\n(.*)$", page, re.MULTILINE)
            named = re.findall(r"\\fB(-[^\\]*)\\fR", "\n".join(heads))
            self.assertEqual(sorted(named), options)
            zsh = (BUILD / "manual/zsh" / f"_{command}").read_text()
            named = re.findall(r"^  '(?:\*|\([^)]*\))(-[^=+[]*)", zsh, re.MULTILINE)
            self.assertEqual(sorted(named), options)
            bash = (BUILD / "manual/bash" / command).read_text()
            named = re.search(r"-\*\) COMPREPLY=\(\$\(compgen -W '([^']*)'", bash).group(1)
            self.assertEqual(sorted(named.split()), options)

    def test_man_understands_the_pages(self):
        if shutil.which("man") is None:
            self.skipTest("there is no man")
        for path in (BUILD / "manual/man1").iterdir():
            command = ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", path]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""), path)

    def test_zsh_understands_its_completions(self):
        if shutil.which("zsh") is None:
            self.skipTest("there is no zsh")
        for path in (BUILD / "manual/zsh").iterdir():
            run("zsh", "-n", path)


class Bash(unittest.TestCase):
    def setUp(self):
        if not pathlib.Path(BASH_COMPLETION).exists():
            self.skipTest("there is no bash-completion")
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        for name in ("heap.json", "heap.record"):
            (pathlib.Path(self.directory.name) / name).touch()

    def replies(self, line):
        completion = BUILD / "manual/bash" / line.split()[0]
        command = ("bash", "-c", COMPLETE, "bash", BASH_COMPLETION, completion, line)
        return run(*command, cwd=self.directory.name).split()

    def test_options_and_their_values(self):
        self.assertEqual(self.replies("alloctap-run --st"), ["--stack", "--string-checks"])
        for line in ("alloctap-run --stack un", "alloctap-run --stack=un"):
            self.assertEqual(self.replies(line), ["unwind-table"])
        self.assertEqual(self.replies("alloctap-run --mmap "), ["on", "off"])
        self.assertEqual(self.replies("alloctap-run --signal US"), ["USR1", "USR2"])
        self.assertEqual(self.replies("alloctap-run --sample "), [])
        self.assertEqual(self.replies("alloctap-diff --match "), ["places", "functions"])

    def test_paths(self):
        self.assertEqual(self.replies("alloctap-run --dump mat"), ["matrix=", "matrix-log="])
        for line in ("-o heap.j", "--output=heap.j", "--dump json=heap.j", "--dump=json=heap.j"):
            self.assertEqual(self.replies("alloctap-run " + line), ["heap.json"])
        self.assertEqual(self.replies("alloctap-convert heap.r"), ["heap.record"])
        self.assertEqual(self.replies("alloctap-convert heap.record -o heap.j"), ["heap.json"])
        self.assertEqual(self.replies("alloctap-convert heap.record ht"), ["html="])
        self.assertEqual(self.replies("alloctap-convert heap.record json=heap.j"), ["heap.json"])
        self.assertEqual(self.replies("alloctap-diff heap.j"), ["heap.json"])

    def test_program_and_its_arguments(self):
        for options in ("", "-- ", "--stack none ", "--stack=none ", "--dump html=a.html -o b "):
            self.assertIn("bash", self.replies(f"alloctap-run {options}bas"))
            self.assertEqual(self.replies(f"alloctap-run {options}bash heap.j"), ["heap.json"])


if __name__ == "__main__":
    BUILD = pathlib.Path(sys.argv[1])
    unittest.main(argv=sys.argv[:1], verbosity=2)
