#!/usr/bin/env python3
"""run_corpus.py itself, on a few cases and without a tool.

usage: runner_test.py BUILD_DIR
"""

import pathlib
import sys
import tempfile
import unittest

import table
import verdicts

BUILD_DIRECTORY = sys.argv.pop(1)
SCRIPT = pathlib.Path(__file__).parent / "run_corpus.py"


def run(*options, build=BUILD_DIRECTORY):
    return verdicts.run([sys.executable, "-B", SCRIPT, "--tools", "plain", *options, build])


class RunnerTest(unittest.TestCase):
    def test_a_table_is_written_between_its_marks(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "page.md"
            page.write_text(f"before\n{table.BEGIN}{table.END}after\n")
            output, status = run("--cases", "^limits/malloc_0/", "--table", str(page))
            self.assertEqual((output.splitlines()[0], status), ("2 bad cases, 1 good ones", 0))
            text = page.read_text()
            self.assertIn("3 cases, 2 bad and 1 good. Run under: no tool: ", text)
            self.assertIn("| limits | 2 | 0 |\n", text)
            self.assertTrue(text.startswith("before\n") and text.endswith("after\n"))

    def test_what_cannot_be_done_is_told_in_a_line(self):
        for options, build, why in (
            (["--cases", "("], BUILD_DIRECTORY, "no regular expression"),
            (["--cases", "no such case"], BUILD_DIRECTORY, "no case has a name like"),
            (["--tools", "nobody"], BUILD_DIRECTORY, "no such tool: nobody"),
            (["--table", __file__ + ".md"], BUILD_DIRECTORY, "tables cannot be written"),
            ([], "/nonexistent", "build the targets"),
        ):
            with self.subTest(why):
                output, status = run(*options, build=build)
                self.assertNotEqual(status, 0)
                self.assertIn(why, output.splitlines()[-1])


if __name__ == "__main__":
    unittest.main()
