#!/usr/bin/env python3
"""Verdicts over what tools told, and the tables that are made of them."""

import dataclasses
import pathlib
import re
import sys
import tempfile
import unittest

import run_corpus
import table
import tools
import verdicts
from verdicts import Case, Outcome, Verdict


def case(name, kind="double free", seen_by=("calls",)):
    return Case(name, kind, frozenset(seen_by))


def tool(name="tool", means=()):
    return tools.Tool(name, name, ("run",), lambda text: set(), ("version",), means=frozenset(means))


BAD = case("double_free/malloc/main")
GOOD = case("double_free/malloc/good", "none", ())


class VerdictTest(unittest.TestCase):
    def verdict(self, judged, told, end=None):
        return verdicts.judge(judged, told, end).verdict

    def test_bad_cases(self):
        self.assertIs(self.verdict(BAD, {"double free"}), Verdict.FOUND)
        self.assertIs(self.verdict(BAD, {"double free"}, "crash"), Verdict.FOUND)
        self.assertIs(self.verdict(BAD, {"leak"}), Verdict.OTHERWISE)
        self.assertIs(self.verdict(BAD, {"leak", "crash"}, "crash"), Verdict.OTHERWISE)
        self.assertIs(self.verdict(BAD, set(), "hang"), Verdict.ENDED)
        self.assertIs(self.verdict(BAD, {"crash"}, "failure"), Verdict.ENDED)
        self.assertIs(self.verdict(BAD, set()), Verdict.MISSED)

    def test_good_cases(self):
        self.assertIs(self.verdict(GOOD, set()), Verdict.QUIET)
        self.assertIs(self.verdict(GOOD, {"leak"}), Verdict.FLAGGED)
        self.assertIs(self.verdict(GOOD, set(), "crash"), Verdict.FLAGGED)
        held = case("held/global/good", "reachable", ())
        self.assertIs(self.verdict(held, set()), Verdict.QUIET)

    def test_how_programs_end(self):
        self.assertIsNone(verdicts.abnormal_end("done\n", 0))
        self.assertIsNone(verdicts.abnormal_end("done\n==1== told at the end\n", 23))
        self.assertEqual(verdicts.abnormal_end("", 0), "failure")
        self.assertEqual(verdicts.abnormal_end("", 3), "failure")
        self.assertEqual(verdicts.abnormal_end("", -6), "crash")
        self.assertEqual(verdicts.abnormal_end("done\n", -11), "crash")
        self.assertEqual(verdicts.abnormal_end("done\n", 139), "crash")
        self.assertEqual(verdicts.abnormal_end("done\n", None), "hang")

    def test_a_program_without_end_is_ended(self):
        endless = [sys.executable, "-c", "while True: pass"]
        self.assertEqual(verdicts.run(endless, seconds=0.2)[1], None)

    def test_promises_of_a_tool(self):
        found = Outcome(Verdict.FOUND, frozenset({"double free"}))
        missed = Outcome(Verdict.MISSED, frozenset())
        flagged = Outcome(Verdict.FLAGGED, frozenset({"leak"}))
        self.assertIsNone(verdicts.broken_promise(tool(means=["calls"]), BAD, found))
        self.assertIsNone(verdicts.broken_promise(tool(means=["guard_bytes"]), BAD, missed))
        self.assertIn("double free", verdicts.broken_promise(tool(means=["calls"]), BAD, missed))
        self.assertIn("good", verdicts.broken_promise(tool(means=["calls"]), GOOD, flagged))
        spoilt = dataclasses.replace(tool(means=["calls"]), spoilt_cases=re.compile("/good"))
        self.assertIsNone(verdicts.broken_promise(spoilt, GOOD, flagged))

    def test_a_broken_promise_shows_what_was_written(self):
        missed = Outcome(Verdict.MISSED, frozenset(), "exit status 0, output ''")
        promising = tool(means=["calls"])
        lines = run_corpus.broken_promises([BAD], [promising], {promising.name: {BAD.name: missed}})
        self.assertEqual([line.partition("; ")[2] for line in lines],
                         ["it told: nothing; exit status 0, output ''"])

    def test_what_may_not_start_is_started_once_more(self):
        with tempfile.TemporaryDirectory() as directory:
            once = f"[ -e {directory}/x ] && echo begins && exec echo done; : > {directory}/x; exit 1"
            strict = dataclasses.replace(tool(), command=("sh", "-c", once))
            starting = dataclasses.replace(strict, may_not_start=True)
            self.assertIs(verdicts.outcome_of(starting, "", GOOD).verdict, Verdict.QUIET)
            (pathlib.Path(directory) / "x").unlink()
            self.assertIsNot(verdicts.outcome_of(strict, "", GOOD).verdict, Verdict.QUIET)
            never = dataclasses.replace(starting, command=("sh", "-c", "echo Reset; exit 1"))
            outcome = verdicts.outcome_of(never, "", GOOD)
            self.assertIs(outcome.verdict, Verdict.FLAGGED)
            self.assertEqual(outcome.written, "exit status 1, output 'Reset\\n'")

    def test_what_began_is_not_started_again(self):
        with tempfile.TemporaryDirectory() as directory:
            script = f"echo begins; [ -e {directory}/x ] && exec echo done; : > {directory}/x; exit 1"
            began = dataclasses.replace(tool(), command=("sh", "-c", script), may_not_start=True)
            self.assertIs(verdicts.outcome_of(began, "", GOOD).verdict, Verdict.FLAGGED)

    def test_listing(self):
        parsed = verdicts.parse_cases("a/b\tleak\tcalls,reachability\nc/d\tnone\t\n")
        self.assertEqual(parsed, [case("a/b", "leak", ("calls", "reachability")),
                                  case("c/d", "none", ())])
        self.assertEqual([(c.family, c.is_good) for c in parsed], [("a", False), ("c", True)])


class TableTest(unittest.TestCase):
    def setUp(self):
        self.cases = [
            case(f"double_free/{way}/{variant}")
            for way in ("malloc", "new")
            for variant in ("main", "other")
        ] + [GOOD]
        outcomes = [Outcome(Verdict.FOUND, frozenset({"double free"}))] * 3
        outcomes += [
            Outcome(Verdict.OTHERWISE, frozenset({"leak"})),
            Outcome(Verdict.FLAGGED, frozenset({"hang"})),
        ]
        self.results = {"tool": {c.name: o for c, o in zip(self.cases, outcomes)}}

    def test_tables(self):
        text = table.tables(self.cases, [tool()], self.results, {"tool": "tool 1.0"})
        self.assertIn("5 cases, 4 bad and 1 good. Run under: tool: tool 1.0.", text)
        self.assertIn("| double_free | 4 | 3 (1 as another kind) |\n", text)
        self.assertIn("| **all** | 1 | 1 |\n", text)
        self.assertIn("<summary>double_free: 5 cases</summary>", text)
        self.assertIn("| `{malloc, new}/main` | double free | ok |\n", text)
        self.assertIn("| `malloc/other` | double free | ok |\n", text)
        self.assertIn("| `new/other` | double free | leak |\n", text)
        self.assertIn("| `malloc/good` | none | hang |\n", text)

    def test_every_case_is_in_one_row(self):
        cases = [case(f"f/{a}/{b}/{c}") for a in "xy" for b in "pq" for c in "mn"] + [case("f/x/p")]
        found = Outcome(Verdict.FOUND, frozenset())
        results = {"tool": dict.fromkeys((c.name for c in cases), found)}
        rows = [cells[0] for cells in table.case_rows(cases, [tool()], results)]
        self.assertEqual(rows, ["`{x, y}/{p, q}/{m, n}`", "`x/p`"])

    def test_marks(self):
        document = f"before\n{table.BEGIN}old\n{table.END}after\n"
        written = table.replaced_between_marks(document, "new\n")
        self.assertEqual(written, f"before\n{table.BEGIN}new\n{table.END}after\n")
        with self.assertRaises(ValueError):
            table.replaced_between_marks("no marks\n", "new\n")


if __name__ == "__main__":
    unittest.main()
