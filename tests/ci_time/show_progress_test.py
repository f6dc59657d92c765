#!/usr/bin/env python3
"""Tests cmake/show_progress.py on the output of made-up commands."""

import pathlib
import subprocess
import sys
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "cmake/show_progress.py"


def show(text, status=0):
    """Returns the exit status and the output for a command that prints `text` and exits so."""
    command = ["sh", "-c", 'printf %s "$1"; exit "$2"', "sh", text, str(status)]
    done = subprocess.run([sys.executable, str(SCRIPT), "release", *command], capture_output=True,
                          text=True, check=False)
    return done.returncode, done.stdout


class ShowProgressTest(unittest.TestCase):
    def test_steps_become_one_line_and_the_rest_passes(self):
        status, out = show("[1/2] Building CXX object a.o\na.cpp:1: warning: odd\n"
                           "[2/2] Linking CXX executable b\n")
        self.assertEqual(status, 0)
        self.assertRegex(out, r"^a.cpp:1: warning: odd\nrelease: 2 of 2 in 0:0\d  b\n$")

    def test_failed_tests_and_summaries_pass(self):
        _, out = show("    Start 1: a\n1/2 Test #1: a .....   Passed    0.10 sec\n"
                      "2/2 Test #2: b .....***Failed    0.20 sec\n50% tests passed\n")
        self.assertEqual(out, "2/2 Test #2: b .....***Failed    0.20 sec\n50% tests passed\n")

    def test_it_exits_as_the_command_does(self):
        self.assertEqual(show("", 7)[0], 7)

    def test_without_a_command_it_says_how(self):
        done = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True,
                              check=False)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("usage: show_progress.py", done.stderr)


if __name__ == "__main__":
    unittest.main()
