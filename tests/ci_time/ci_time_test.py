#!/usr/bin/env python3
"""Tests cmake/ci_time.py with small logs."""

import contextlib
import io
import json
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "cmake"))
import ci_time  # noqa: E402 (found by the path above)

UNIT = "tests/CMakeFiles/unit.dir/unit/a_test.cpp.o"
NINJA_LOG = f"""# ninja log v5
0\t9000\t1\t{UNIT}\taaaa
0\t2500\t2\t{UNIT}\taaaa
100\t1100\t2\ttests/CMakeFiles/unit.dir/cmake_pch.hxx.gch\tbbbb
2500\t3000\t2\tbin/unit\tcccc
10\t20\t2\tCMakeFiles/cmake.verify_globs\tdddd
3000\t5000\t2\tlib/libplugin.dll\teeee
3000\t5000\t2\tlib/libplugin.dll.a\teeee
3000\t5000\t2\tlib/libother.so\tffff
5000\t70
"""
CTEST_LOG = """Test project /build/release
        Start 1: unit
1/4 Test  #1: unit ..............................   Passed   42.85 sec
2/4 Test #22: checks.what a name has ............   Passed    1.00 sec
        Start 3: crash
3/4 Test  #3: crash .............................***Exception: SegFault  3.50 sec
4/4 Test  #4: expects ...........................***Failed  Required regular expression not found. \
Regex=[a ... b]  0.25 sec
75% tests passed, 1 tests failed out of 4
"""
# Answers as a compiler does: writes its arguments to what follows -o.
COMPILER = """#!/bin/sh
all="$*"
case $all in *broken*) echo "broken.cpp:1: error: broken" >&2; exit 1 ;; esac
case $all in *-fsyntax-only*) exit 0 ;; esac
while [ "$1" != -o ]; do shift; done
echo "$all" >"$2"
echo "$2" >>outputs.txt
"""


def parse(log):
    return ci_time.parse_ninja_log(log, "log")


def run(*arguments):
    """Returns the exit code, standard output and standard error of ci_time.py."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = ci_time.main([str(argument) for argument in arguments])
        except SystemExit as end:
            code = end.code
    return code, out.getvalue(), err.getvalue()


class DirectoryTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build_dir = pathlib.Path(folder.name) / "release"
        self.build_dir.mkdir()

    def write(self, name, text):
        path = self.build_dir / name
        path.write_text(text)
        return path

    def assert_refused(self, arguments, text):
        code, out, err = run(*arguments)
        self.assertEqual((code, out, err.count("\n")), (2, "", 1), err)
        self.assertTrue(err.startswith("ci_time.py: "), err)
        self.assertIn(text, err)


class NinjaLogTest(unittest.TestCase):
    def test_an_edge_with_several_outputs_counts_once(self):
        steps = [step for step in parse(NINJA_LOG) if "libplugin" in step.outputs[0]]
        self.assertEqual(len(steps), 1)
        self.assertEqual(steps[0].outputs, ("lib/libplugin.dll", "lib/libplugin.dll.a"))
        self.assertEqual(steps[0].seconds, 2.0)

    def test_edges_that_differ_in_their_command_are_two(self):
        ends = [step for step in parse(NINJA_LOG) if step.outputs[0].startswith("lib/")]
        self.assertEqual(len(ends), 2)

    def test_the_last_line_of_a_repeated_output_counts(self):
        self.assertEqual([s.seconds for s in parse(NINJA_LOG) if UNIT in s.outputs], [2.5])

    def test_a_line_that_was_cut_off_is_ignored(self):
        self.assertEqual(len(parse(NINJA_LOG)), 6)

    def test_what_is_no_ninja_log_is_refused(self):
        for text in ("", "hello\n", "# ninja log v4\n"):
            with self.subTest(text=text), self.assertRaises(ci_time.InputError):
                parse(text)


class ClassificationTest(unittest.TestCase):
    def test_kinds_of_outputs(self):
        kinds = {
            "compile": ["a/CMakeFiles/t.dir/a.cpp.o", "a.obj", "a_pch.hxx.gch", "a_pch.hxx.pch"],
            "link": ["bin/a", "lib/liba.so", "lib/liba.so.1.2", "lib/liba.a", "a.exe", "a.dll"],
            "other": ["CMakeFiles/cmake.verify_globs", "CMakeFiles/stamp", "page.html"],
        }
        for kind, outputs in kinds.items():
            for output in outputs:
                with self.subTest(output=output):
                    self.assertEqual(ci_time.kind_of(output), kind)

    def test_an_edge_is_what_any_of_its_outputs_is(self):
        self.assertEqual(ci_time.Step(("a.dwo", "a.o"), 1).kind, "compile")

    def test_sources_have_the_path_of_the_project(self):
        sources = {
            UNIT: "tests/unit/a_test.cpp",
            "a/b/CMakeFiles/t.dir/__/c/d.cpp.o": "a/c/d.cpp",
            "CMakeFiles/t.dir/main.c.o": "main.c",
        }
        for output, source in sources.items():
            self.assertEqual(ci_time.source_of(output), source)

    def test_links_count_for_the_target_that_is_compiled(self):
        totals = ci_time.seconds_by_target(parse(NINJA_LOG))
        self.assertEqual(totals["unit"], (4.0, 3))
        self.assertEqual(totals["libother.so"], (2.0, 1))
        self.assertNotIn("cmake.verify_globs", totals)


class CtestLogTest(unittest.TestCase):
    def test_passed_and_failed_tests_are_read(self):
        tests = ci_time.parse_ctest_log(CTEST_LOG)
        self.assertEqual(
            [(test.name, test.seconds) for test in tests],
            [("unit", 42.85), ("checks.what a name has", 1), ("crash", 3.5), ("expects", 0.25)],
        )
        self.assertEqual(tests[2].result, "***Exception: SegFault")


class ReportTest(DirectoryTest):
    def write_logs(self):
        self.write(".ninja_log", NINJA_LOG)
        self.write("ctest.log", CTEST_LOG)

    def test_report_has_sums_and_the_dearest(self):
        self.write_logs()
        run("record", self.build_dir, "build", "70")
        code, out, err = run("report", self.build_dir)
        self.assertEqual((code, err), (0, ""))
        lines = [" ".join(line.split()) for line in out.splitlines()]
        for line in (
            "variant release",
            "70.0 build",
            "3.5 2 compile",
            "4.5 3 link",
            "8.0 6 all steps",
            "4.0 3 unit",
            "2.5 unit tests/unit/a_test.cpp",
            "42.9 unit",
            "3.5 crash (Exception: SegFault)",
        ):
            self.assertIn(line, lines)
        self.assertNotIn("missing", out)

    def test_lines_are_narrow(self):
        folder = "tests/" + 20 * "long_folder/"
        target = 20 * "target_"
        output = f"{folder}CMakeFiles/{target}.dir/a.cpp.o"
        self.write(".ninja_log", f"# ninja log v5\n0\t1\t0\t{output}\tab\n")
        name = 20 * "test."
        self.write("ctest.log", f" 1/1 Test #1: {name} ...   Passed    1.00 sec\n")
        _, out, _ = run("report", self.build_dir)
        self.assertIn("a.cpp", out)
        self.assertLess(max(map(len, out.splitlines())), 100)

    def test_missing_logs_are_named_and_the_rest_is_reported(self):
        self.write(".ninja_log", NINJA_LOG)
        code, out, err = run("report", self.build_dir)
        self.assertEqual((code, err), (0, ""))
        self.assertIn("missing: phases.tsv, ctest.log\n", out)
        self.assertIn("tests/unit/a_test.cpp", out)
        (self.build_dir / ".ninja_log").unlink()
        code, out, _ = run("report", self.build_dir)
        self.assertEqual(code, 0)
        self.assertIn("missing: phases.tsv, .ninja_log, ctest.log\n", out)

    def test_tables_are_markdown_with_a_row_for_each_variant(self):
        self.write_logs()
        run("record", self.build_dir, "build", "70")
        other = self.build_dir.with_name("clang")
        other.mkdir()
        code, out, err = run("table", self.build_dir, other)
        self.assertEqual((code, err), (0, ""))
        for line in (
            "| variant | build | total |\n|---|---:|---:|\n| release | 70.0 | 70.0 |",
            "| release | 3.5 (2) | 4.5 (3) | 0.0 (1) | 8.0 (6) | 47.6 (4) |",
            "| clang | 0.0 (0) | 0.0 (0) | 0.0 (0) | 0.0 (0) | 0.0 (0) |",
            "### clang\n\nMissing: phases.tsv, .ninja_log, ctest.log.",
            "| 2.5 | unit | tests/unit/a_test.cpp |",
        ):
            self.assertIn(line, out)


class CostsTest(DirectoryTest):
    def test_costs_are_those_of_a_second_or_more_by_name(self):
        self.write("ctest.log", CTEST_LOG)
        status, out, _ = run("costs", self.build_dir)
        self.assertEqual(status, 0)
        self.assertEqual(out, "checks.what a name has 1 1\ncrash 1 4\nunit 1 43\n---\n")

    def test_without_tests_there_are_none(self):
        self.assertEqual(run("costs", self.build_dir)[0], 2)


class RecordTest(DirectoryTest):
    def test_a_phase_is_replaced_and_the_order_stays(self):
        for phase, seconds in (("install", "1"), ("build", "2.25"), ("install", "3")):
            self.assertEqual(run("record", self.build_dir, phase, seconds), (0, "", ""))
        text = (self.build_dir / "phases.tsv").read_text()
        self.assertEqual(text, "install\t3.0\nbuild\t2.2\n")

    def test_the_build_directory_may_not_exist_yet(self):
        new = self.build_dir / "new"
        self.assertEqual(run("record", new, "install", "1")[0], 0)
        self.assertTrue((new / "phases.tsv").is_file())


class SplitTest(DirectoryTest):
    def write_build(self, *sources):
        compiler = self.write("compiler.sh", COMPILER)
        commands, log = [], "# ninja log v5\n"
        for number, source in enumerate(sources):
            output = f"CMakeFiles/t.dir/{source}.o"
            log += f"0\t{1000 - number}\t0\t{output}\t{number:x}\n"
            command = f"/usr/bin/ccache sh {compiler} -O2 -o {output} -c {source}"
            commands.append({"directory": str(self.build_dir), "command": command})
        self.write(".ninja_log", log)
        self.write("compile_commands.json", json.dumps(commands))

    def test_the_dearest_are_compiled_elsewhere_and_without_launcher(self):
        self.write_build("first.cpp", "second.cpp", "third.cpp")
        code, out, err = run("split", self.build_dir, "2")
        self.assertEqual((code, err), (0, ""))
        lines = [" ".join(line.split()) for line in out.splitlines()]
        self.assertEqual(lines[0], "Processor seconds of the dearest objects, variant release:")
        self.assertEqual(lines[1], "all front end back end source")
        sources = [line.split()[-1] for line in lines[2:]]
        self.assertEqual(sources, ["first.cpp", "second.cpp", "total"])
        self.assertFalse((self.build_dir / "CMakeFiles").exists())
        outputs = (self.build_dir / "outputs.txt").read_text().split()
        self.assertEqual([pathlib.Path(output).exists() for output in outputs], [False, False])

    def test_what_does_not_compile_is_named_and_the_rest_measured(self):
        self.write_build("broken.cpp", "good.cpp")
        code, out, err = run("split", self.build_dir)
        self.assertEqual(code, 1)
        self.assertIn("broken.cpp.o does not compile: broken.cpp:1: error: broken\n", err)
        self.assertIn("good.cpp", out)

    def test_what_it_needs_is_named(self):
        self.assert_refused(["split", self.build_dir], ".ninja_log is missing")
        self.write(".ninja_log", NINJA_LOG)
        self.assert_refused(["split", self.build_dir], "compile_commands.json is missing")
        self.write("compile_commands.json", "[{}]")
        self.assert_refused(["split", self.build_dir], "no list of compile commands")
        self.write("compile_commands.json", "[]")
        self.assert_refused(["split", self.build_dir], "no compile command")


class BadUsageTest(DirectoryTest):
    def test_bad_usage_is_one_line_and_exit_code_2(self):
        cases = {
            (): "required",
            ("count",): "invalid choice",
            ("report",): "BUILD_DIR",
            ("report", self.build_dir / "none"): "no directory",
            ("record", self.build_dir, "build"): "SECONDS",
            ("record", self.build_dir, "build", "long"): "'long' is no number of seconds",
            ("record", self.build_dir, "build", "-1"): "'-1' is no number of seconds",
            ("record", self.build_dir, "build", "nan"): "'nan' is no number of seconds",
            ("record", self.build_dir, "Two words", "1"): "no lower-case word",
            ("split", self.build_dir, "0"): "'0' is no number above 0",
        }
        for arguments, text in cases.items():
            with self.subTest(arguments=arguments):
                self.assert_refused(arguments, text)

    def test_malformed_logs_are_refused(self):
        self.write("phases.tsv", "build\tlong\n")
        self.assert_refused(["report", self.build_dir], "phases.tsv has a line")
        self.write("phases.tsv", "")
        self.write(".ninja_log", "something else\n")
        self.assert_refused(["report", self.build_dir], "no ninja log")


if __name__ == "__main__":
    unittest.main()
