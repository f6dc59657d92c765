#!/usr/bin/env python3
"""A program whose files know a tracker by light headers, and one of which implements it.

usage: implementation_test.py PROGRAM CXX OBJECTS SECOND UNLISTED [unittest options]

OBJECTS, separated by commas, are those of PROGRAM, SECOND another implementation of its tracker,
UNLISTED a file that writes a dump which is not listed.
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM, CXX, OBJECTS, SECOND, UNLISTED = sys.argv[1:6]


class Implementation(unittest.TestCase):
    def test_the_program_runs(self):
        with tempfile.TemporaryDirectory() as directory:
            folded = pathlib.Path(directory, "folded.txt")
            done = subprocess.run(
                [PROGRAM, folded], capture_output=True, text=True, timeout=60, check=False
            )
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("400.0 KiB", done.stdout)
            self.assertIn("Stacks that leaked, most first", done.stdout)
            # Of the textures, and of what an error says.
            self.assertIn("101 deallocations", done.stdout)
            self.assertRegex(folded.read_text(), r"(?m) 409600$")

    def link(self, *more):
        with tempfile.TemporaryDirectory() as directory:
            return subprocess.run(
                [CXX, *OBJECTS.split(","), *more, "-o", pathlib.Path(directory, "program")],
                capture_output=True, text=True, timeout=300, check=False,
                env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
            )

    def test_two_implementations_do_not_link(self):
        done = self.link(SECOND)
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"multiple definition of .*Implemented<.*defined_here|"
                                      r"duplicate symbol: .*Implemented<.*defined_here")

    def test_an_unlisted_dump_does_not_link(self):
        done = self.link(UNLISTED)
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"undefined (reference to|symbol:) .*Tracker<GameConfig>::"
                                      r"dump<alloctap::MassifDump>")

    def test_the_same_objects_link(self):
        done = self.link()
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[6:]])
