#!/usr/bin/env python3
"""usage: recipes_test.py SOURCE_DIR CMAKE VERSION

The recipes for vcpkg and Conan, run by stand-ins for their tools; the jobs of the workflow; the
target uninstall.
"""

import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import types
import unittest

SOURCE = CMAKE = VERSION = None

# Functions that vcpkg gives to a port; each prints its call.
PORT_FUNCTIONS = (
    "vcpkg_cmake_configure",
    "vcpkg_cmake_install",
    "vcpkg_cmake_config_fixup",
    "vcpkg_fixup_pkgconfig",
    "vcpkg_install_copyright",
)


class Vcpkg(unittest.TestCase):
    def setUp(self):
        self.port = SOURCE / "cmake/packaging/vcpkg"

    def test_manifest(self):
        manifest = json.loads((self.port / "vcpkg.json").read_text())
        self.assertEqual(manifest["name"], "alloctap")
        self.assertEqual(manifest["version"], VERSION)
        lists = [manifest["dependencies"]]
        for name, feature in manifest["features"].items():
            self.assertRegex(name, r"^[a-z0-9]+(-[a-z0-9]+)*$")
            self.assertTrue(feature["description"])
            lists.append(feature["dependencies"])
        for dependency in sum(lists, []):
            name = dependency if isinstance(dependency, str) else dependency["name"]
            self.assertRegex(name, r"^[a-z0-9]+(-[a-z0-9]+)*$")

    def test_port(self):
        script = "".join(
            f'function({name})\n  message(STATUS "{name} ${{ARGN}}")\nendfunction()\n'
            for name in PORT_FUNCTIONS
        )
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "port.cmake"
            path.write_text(script + f'include("{self.port}/portfile.cmake")\n')
            done = subprocess.run(
                [CMAKE, f"-DCURRENT_PORT_DIR={self.port}", "-P", path],
                capture_output=True,
                text=True,
                check=False,
            )
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in PORT_FUNCTIONS:
            self.assertIn(f"-- {name}", done.stdout)
        self.assertIn(f"SOURCE_PATH;{SOURCE};", done.stdout)
        self.assertIn(f"FILE_LIST;{SOURCE}/LICENSE", done.stdout)


def stand_in_for_conan():
    """The parts of Conan that the recipe imports."""

    def copy(recipe, pattern, src, dst):
        recipe.copied.append((pattern, src, dst))

    def load(_, path):
        return pathlib.Path(path).read_text()

    modules = {
        "conan": {"ConanFile": type("ConanFile", (), {})},
        "conan.tools": {},
        "conan.tools.cmake": {"CMake": object, "CMakeToolchain": object},
        "conan.tools.files": {"copy": copy, "load": load},
    }
    for name, contents in modules.items():
        module = types.ModuleType(name)
        module.__dict__.update(contents)
        sys.modules[name] = module


class Conan(unittest.TestCase):
    def setUp(self):
        stand_in_for_conan()
        path = SOURCE / "cmake/packaging/conan/conanfile.py"
        spec = importlib.util.spec_from_file_location("conanfile", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        self.recipe = module.AlloctapConan()
        self.recipe.recipe_folder = str(path.parent)
        self.recipe.export_sources_folder = "exported"
        self.recipe.copied = []

    def test_version_is_the_projects(self):
        self.recipe.set_version()
        self.assertEqual(self.recipe.version, VERSION)

    def test_all_sources_are_there(self):
        self.recipe.export_sources()
        for pattern, source, _ in self.recipe.copied:
            self.assertTrue(list(pathlib.Path(source).glob(pattern)), pattern)

    def test_each_option_requires_something(self):
        self.assertEqual(set(self.recipe.options), set(self.recipe.default_options))
        counts = []
        for chosen in (None, *self.recipe.options):
            required = []
            self.recipe.requires = lambda name, required=required, **_: required.append(name)
            self.recipe.options = types.SimpleNamespace(
                **{name: name == chosen for name in self.recipe.default_options}
            )
            self.recipe.requirements()
            for name in required:
                self.assertRegex(name, r"^[a-z]+/\S+$")
            counts.append(len(required))
        self.assertTrue(all(count > counts[0] for count in counts[1:]), counts)

    def test_package_is_found(self):
        properties = {}
        self.recipe.cpp_info = types.SimpleNamespace(set_property=properties.__setitem__)
        self.recipe.package_info()
        self.assertEqual(properties, {"cmake_find_mode": "none"})
        self.assertEqual(self.recipe.cpp_info.builddirs, ["share/cmake/alloctap"])


class Workflow(unittest.TestCase):
    def test_jobs_are_the_variants_of_ci(self):
        script = (SOURCE / ".ci/run").read_text()
        variants = re.search(r"^variants='([^']*)'$", script, re.MULTILINE).group(1).split()
        workflow = (SOURCE / ".github/workflows/ci.yml").read_text()
        jobs = re.search(r"^ +variant: \[([^]]*)\]$", workflow, re.MULTILINE).group(1)
        self.assertEqual(re.split(r", *", jobs), variants)
        self.assertIn("sh cmake/check_format.sh", script)
        self.assertIn("sh cmake/check_format.sh", workflow)

    def test_files_are_yaml(self):
        try:
            import yaml  # pylint: disable=import-outside-toplevel
        except ImportError:
            self.skipTest("there is no python3-yaml")
        files = list((SOURCE / ".github").rglob("*.yml"))
        self.assertTrue(files)
        for path in files:
            self.assertIsInstance(yaml.safe_load(path.read_text()), dict, path)


class Uninstall(unittest.TestCase):
    def test_what_was_installed_goes(self):
        with tempfile.TemporaryDirectory() as name:
            build = pathlib.Path(name)
            prefix = build / "prefix"
            ours = ("include/alloctap/os/file.hpp", "share/cmake/alloctap/a.cmake", "bin/alloctap-run")
            others = ("include/other.h", "share/alloctap/users.txt", "bin/other")
            for path in ours + others:
                (prefix / path).parent.mkdir(parents=True, exist_ok=True)
                (prefix / path).touch()
            for manifest, paths in (("", ours[:2]), ("_alloctap-tools", ours[2:])):
                lines = "\n".join(str(prefix / path) for path in paths)
                (build / f"install_manifest{manifest}.txt").write_text(lines)
            script = SOURCE / "cmake/uninstall.cmake"
            command = [CMAKE, f"-DBUILD_DIR={build}", "-P", script]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (0, "-- uninstalled 3 files\n"))
            left = sorted(str(path.relative_to(prefix)) for path in prefix.rglob("*"))
            kept = ["bin", "include", "share", "share/alloctap", "share/cmake", *others]
            self.assertEqual(left, sorted(kept))
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("nothing to uninstall", done.stderr)


if __name__ == "__main__":
    SOURCE = pathlib.Path(sys.argv[1])
    CMAKE, VERSION = sys.argv[2:4]
    unittest.main(argv=sys.argv[:1], verbosity=2)
