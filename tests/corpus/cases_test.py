#!/usr/bin/env python3
"""The corpus is what its listing says: names, sizes, and what cases do without a tool.

usage: cases_test.py MISUSE_CORPUS
"""

import collections
import concurrent.futures
import os
import sys
import unittest

import verdicts

PROGRAM = os.path.abspath(sys.argv.pop(1))
LEAST_CASES = 150
MEANS = {
    "calls", "guard_bytes", "freed_fill", "page_after", "page_before", "freed_page",
    "string_checks", "reachability",
}


class CasesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cases = verdicts.listed_cases([PROGRAM])

    def test_there_are_enough_with_names_of_their_own(self):
        self.assertGreaterEqual(len(self.cases), LEAST_CASES)
        names = collections.Counter(case.name for case in self.cases)
        self.assertEqual([name for name, count in names.items() if count > 1], [])

    def test_names_and_kinds_agree(self):
        for case in self.cases:
            with self.subTest(case.name):
                self.assertRegex(case.name, r"^[a-z_]+(/[A-Za-z0-9_]+)+$")
                says_good = any(part.startswith("good") for part in case.name.split("/"))
                self.assertEqual(says_good, case.is_good)
                self.assertLessEqual(case.seen_by, MEANS)
                if case.is_good:
                    self.assertEqual(case.seen_by, set())

    def test_every_family_has_good_and_bad_cases(self):
        for is_good in (False, True):
            families = {case.family for case in self.cases if case.is_good == is_good}
            self.assertEqual(families, {case.family for case in self.cases})

    def test_good_cases_and_leaks_come_to_their_end(self):
        defined = [case for case in self.cases if case.is_good or case.kind == "leak"]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            results = pool.map(lambda case: verdicts.run([PROGRAM, case.name]), defined)
            for case, (output, status) in zip(defined, results):
                with self.subTest(case.name):
                    self.assertEqual((output, status), ("begins\ndone\n", 0))

    def test_cases_that_do_not_exist_are_refused(self):
        output, status = verdicts.run([PROGRAM, "double_free/nobody"])
        self.assertEqual(status, 2)
        self.assertIn("--list", output)


if __name__ == "__main__":
    unittest.main()
