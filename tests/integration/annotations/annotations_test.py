#!/usr/bin/env python3
"""usage: annotations_test.py ALLOCTAP_RUN PROGRAMS...

Runs programs that include alloctap/annotate.h without a tracker and under alloctap-run, by each hook;
the one with a tracker of its own by itself.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

RUN = None
PROGRAMS = {}
TAGS = {"Game": 53, "Game/Library": 200, "Game/Physics": 5000, "Game/Plugin": 300}
PLAIN = "done\n"
TOLD = "told of an offence\ndraw allocated\ndone\n"


def output_of(*command, **environment):
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )
    if done.returncode != 0:
        raise AssertionError(f"{command} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def report_of(*options):
    """What a program under alloctap-run prints, and its report."""
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory, "report.json")
        printed = output_of(RUN, "-o", path, *options)
        return printed, json.loads(path.read_text())


def tags_of(report):
    """The live bytes of each tag's own."""
    return {tag["tag"]: tag["live_bytes"] for tag in report["tags"] or () if tag["tag"]}


class Annotations(unittest.TestCase):
    def check_report(self, report, tags):
        self.assertEqual(tags_of(report), tags)
        self.assertEqual([marker["name"] for marker in report["markers"]], ["level 1"])
        self.assertEqual(report["game_frames"]["frames"], 4)
        self.assertEqual(report["account"]["pauses"], 1)
        self.check_offences(report["scope_offences"])

    def check_offences(self, found):
        self.assertEqual(found["left_out"], 0)
        (offence,) = found["offences"]
        numbers = {key: offence[key] for key in ("scope", "tag", "scopes", "allocations", "frees")}
        expected = {"scope": "draw", "tag": "Game", "scopes": 1, "allocations": 1, "frees": 0}
        self.assertEqual(numbers, expected)
        self.assertEqual(offence["allocated_bytes"], 48)

    def test_nothing_happens_without_a_tracker(self):
        for name in set(PROGRAMS) - {"tracker"}:
            with self.subTest(name):
                self.assertEqual(output_of(PROGRAMS[name]), PLAIN)

    def test_alloctap_run_hears_it(self):
        for name in ("position_independent", "fixed", "resolved", "optimized"):
            for hook in ("interpose", "plt", "inline", "malloc-hooks"):
                with self.subTest(name, hook=hook):
                    printed, report = report_of("--tags", f"--hook={hook}", PROGRAMS[name])
                    self.assertEqual(printed, TOLD)
                    self.check_report(report, TAGS)

    def test_without_the_option_marks_and_pauses_alone_are_heard(self):
        for name in ("position_independent", "fixed", "resolved", "optimized"):
            with self.subTest(name):
                printed, report = report_of(PROGRAMS[name])
                self.assertEqual(printed, PLAIN)
                self.assertEqual(tags_of(report), {})
                self.assertIsNone(report["scope_offences"])
                self.assertEqual([marker["name"] for marker in report["markers"]], ["level 1"])
                self.assertEqual(report["account"]["pauses"], 1)

    def test_a_tracker_of_ones_own_hears_it(self):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory, "report.json")
            self.assertEqual(output_of(PROGRAMS["tracker"], REPORT=str(path)), TOLD)
            self.check_report(json.loads(path.read_text()), TAGS)

    def test_what_is_expected_to_stay_is_no_leak(self):
        options = ("--tags", "--leaks=live", "--error-exitcode=9")
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory, "report.json")
            command = [RUN, *options, "-o", path, PROGRAMS["position_independent"], "stays"]
            done = subprocess.run(command, capture_output=True, check=False)
            leaks = json.loads(path.read_text())["leaks"]
        self.assertEqual(done.returncode, 9)
        self.assertEqual(leaks["suppressed"]["live_bytes"], 64)
        self.assertGreater(leaks["live_bytes"], 5000)

    def test_disabled_programs_say_nothing(self):
        printed, report = report_of("--tags", PROGRAMS["disabled"])
        self.assertEqual(printed, PLAIN)
        self.assertEqual(report["game_frames"]["frames"], 0)


if __name__ == "__main__":
    RUN = sys.argv[1]
    PROGRAMS = {pathlib.Path(path).name.removeprefix("annotated_"): path for path in sys.argv[2:]}
    unittest.main(argv=sys.argv[:1], verbosity=2)
