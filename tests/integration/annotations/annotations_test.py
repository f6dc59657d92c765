#!/usr/bin/env python3
"""usage: annotations_test.py ALLOCTAP_RUN ALLOCTAP_CONVERT PROGRAMS...

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
CONVERT = None
PROGRAMS = {}
TAGS = {"Game": 53, "Game/Library": 200, "Game/Physics": 5000, "Game/Plugin": 300}
PLAIN = "done\n"
# What each pool allocated, what of it is live, and its peak.
POOLS = {
    "arena": {
        "destroyed": False,
        "allocations": 11,
        "allocated_bytes": 1300,
        "live_allocations": 7,
        "live_bytes": 900,
        "peak_live_bytes": 1200,
        "overhead_bytes": 65536 - 10 * 112 - 304,
    },
    "inner": {
        "destroyed": False,
        "allocations": 2,
        "allocated_bytes": 15,
        "live_allocations": 2,
        "live_bytes": 15,
        "peak_live_bytes": 15,
        "overhead_bytes": 0,
    },
    "level": {
        "destroyed": True,
        "allocations": 4,
        "allocated_bytes": 6000,
        "live_allocations": 0,
        "live_bytes": 0,
        "peak_live_bytes": 2000,
        "overhead_bytes": 0,
    },
}
POOL_FAULTS = {
    "unknown_frees": 1,
    "wrong_pool_frees": 1,
    "announced_twice": 0,
    "unknown_pools": 2,
    "dropped": 0,
    "refused_pools": 0,
}
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


def pools_of(report):
    """The numbers of each pool, by name."""
    return {
        pool["name"]: {key: pool[key] for key in POOLS["arena"]}
        for pool in report["pools"]["pools"]
    }


def functions_of(report, stack):
    return [report["frames"][frame]["function"] for frame in stack["frames"]]


class Annotations(unittest.TestCase):
    def check_pools(self, report):
        self.assertEqual(pools_of(report), POOLS)
        pools = report["pools"]
        self.assertEqual({key: pools[key] for key in POOL_FAULTS}, POOL_FAULTS)
        # The chunk counts once.
        chunks = [stack for stack in report["stacks"] if stack["live_bytes"] >= 65536]
        self.assertEqual([stack["live_bytes"] for stack in chunks], [65536])
        self.assertLess(report["totals"]["live_bytes"], 65536 + 80000)
        for stack in pools["pools"][0]["stacks"]:
            # Without what GCC appends to copies of a function.
            functions = [str(name).split(".")[0] for name in functions_of(report, stack)]
            self.assertEqual(functions[1:3], ["use_arena", "main"])
            expected = {"bump": (10, 600), "grow": (1, 300)}[functions[0]]
            self.assertEqual((stack["allocations"], stack["live_bytes"]), expected)

    def check_heaptrack_pool(self, report, live_bytes):
        (pool,) = report["pools"]["pools"]
        self.assertEqual(pool["name"], "heaptrack")
        self.assertEqual(pool["live_bytes"], live_bytes)
        functions = {functions_of(report, stack)[0] for stack in pool["stacks"]}
        self.assertIn("use_library_pool", functions)
        self.assertEqual(report["pools"]["unknown_frees"], 0)

    def check_report(self, report, tags):
        self.assertEqual(tags_of(report), tags)
        self.assertEqual([marker["name"] for marker in report["markers"]], ["level 1"])
        self.assertEqual(report["game_frames"]["frames"], 4)
        self.assertEqual(report["account"]["pauses"], 1)
        self.check_offences(report["scope_offences"])
        (pool,) = report["pools"]["pools"]
        numbers = [pool[key] for key in ("name", "destroyed", "allocated_bytes", "peak_live_bytes")]
        self.assertEqual(numbers, ["Library", True, 72, 64])

    def check_offences(self, found):
        self.assertEqual(found["left_out"], 0)
        (offence,) = found["offences"]
        numbers = {key: offence[key] for key in ("scope", "tag", "scopes", "allocations", "frees")}
        expected = {"scope": "draw", "tag": "Game", "scopes": 1, "allocations": 1, "frees": 0}
        self.assertEqual(numbers, expected)
        self.assertEqual(offence["allocated_bytes"], 48)

    def test_nothing_happens_without_a_tracker(self):
        for name in (name for name in PROGRAMS if not name.endswith("tracker")):
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

    def test_alloctap_run_hears_of_pools(self):
        for name in ("pools", "pools_fixed"):
            for hook in ("interpose", "plt", "inline", "malloc-hooks"):
                with self.subTest(name, hook=hook):
                    printed, report = report_of("--tags", f"--hook={hook}", PROGRAMS[name])
                    self.assertEqual(printed, PLAIN)
                    self.check_pools(report)

    def test_without_the_option_pools_are_not_heard(self):
        printed, report = report_of(PROGRAMS["pools"])
        self.assertEqual(printed, PLAIN)
        self.assertIsNone(report["pools"])

    def test_disabled_pools_say_nothing(self):
        report = report_of("--tags", PROGRAMS["pools_disabled"])[1]
        self.assertEqual(report["pools"]["pools"], [])

    def test_the_text_names_pools(self):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory, "report.txt")
            output_of(RUN, "--tags", "-o", path, PROGRAMS["pools"])
            text = path.read_text()
        self.assertIn("\n  arena: 900 B in 7 blocks, peak 1.2 KiB; in all 11 of 1.3 KiB, 4 freed", text)
        self.assertIn("\n  level (destroyed): 0 B in 0 blocks", text)

    def test_a_record_keeps_pools(self):
        with tempfile.TemporaryDirectory() as directory:
            record = pathlib.Path(directory, "heap.record")
            converted = pathlib.Path(directory, "heap.json")
            output_of(RUN, "--tags", "-o", record, PROGRAMS["pools"])
            output_of(CONVERT, record, "-o", converted)
            self.check_pools(json.loads(converted.read_text()))

    def test_pools_are_no_leaks(self):
        report = report_of("--tags", "--leaks=live", PROGRAMS["pools"])[1]
        self.assertLess(report["leaks"]["live_bytes"], 65536 + 80000)
        self.assertEqual(report["pools"]["pools"][0]["live_bytes"], 900)

    def test_a_tracker_of_ones_own_hears_of_pools(self):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory, "report.json")
            self.assertEqual(output_of(PROGRAMS["pools_tracker"], REPORT=str(path)), PLAIN)
            self.check_pools(json.loads(path.read_text()))

    def test_what_heaptrack_is_told_is_heard(self):
        if "heaptrack" not in PROGRAMS:
            self.skipTest("there is no heaptrack_api.h")
        self.assertEqual(output_of(PROGRAMS["heaptrack"]), PLAIN)
        for hook in ("interpose", "plt", "inline"):
            with self.subTest(hook=hook):
                report = report_of("--tags", f"--hook={hook}", PROGRAMS["heaptrack"])[1]
                self.check_heaptrack_pool(report, 1070)
        report = report_of(PROGRAMS["heaptrack"])[1]
        self.assertIsNone(report["pools"])

    def test_a_tracker_of_ones_own_hears_what_heaptrack_is_told_by_libraries(self):
        if "heaptrack_tracker" not in PROGRAMS:
            self.skipTest("there is no heaptrack_api.h")
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory, "report.json")
            output_of(PROGRAMS["heaptrack_tracker"], REPORT=str(path))
            self.check_heaptrack_pool(json.loads(path.read_text()), 70)

    def test_disabled_programs_say_nothing(self):
        printed, report = report_of("--tags", PROGRAMS["disabled"])
        self.assertEqual(printed, PLAIN)
        self.assertEqual(report["game_frames"]["frames"], 0)


if __name__ == "__main__":
    RUN, CONVERT = sys.argv[1:3]
    PROGRAMS = {pathlib.Path(path).name.removeprefix("annotated_"): path for path in sys.argv[3:]}
    unittest.main(argv=sys.argv[:1], verbosity=2)
