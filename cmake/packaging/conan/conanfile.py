"""The recipe for Conan 2, for the checkout that it stands in: conan create cmake/packaging/conan"""

import os
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain
from conan.tools.files import copy, load

ROOT = os.path.join("..", "..", "..")


class AlloctapConan(ConanFile):
    name = "alloctap"
    description = "A memory tracker that a program embeds"
    license = "BSL-1.0"
    topics = ("memory", "profiler", "leaks", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeDeps"
    # Each brings what a component of the CMake package needs.
    options = {
        "inline_hook": [True, False],
        "json_dump": [True, False],
        "libdw_symbolizer": [True, False],
        "pprof_dump": [True, False],
    }
    default_options = {
        "inline_hook": False,
        "json_dump": True,
        "libdw_symbolizer": False,
        "pprof_dump": False,
    }

    def set_version(self):
        lists = load(self, os.path.join(self.recipe_folder, ROOT, "CMakeLists.txt"))
        self.version = re.search(r"^  VERSION (\S+)$", lists, re.MULTILINE).group(1)

    def export_sources(self):
        root = os.path.normpath(os.path.join(self.recipe_folder, ROOT))
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*"):
            copy(self, pattern, src=root, dst=self.export_sources_folder)

    def requirements(self):
        self.requires("boost/[>=1.74]", transitive_headers=True, options={"header_only": True})
        if self.options.inline_hook:
            self.requires("zydis/[>=3.2]", transitive_headers=True, transitive_libs=True)
        if self.options.json_dump:
            self.requires("rapidjson/cci.20230929", transitive_headers=True)
        if self.options.libdw_symbolizer:
            self.requires("elfutils/[>=0.186]", transitive_headers=True, transitive_libs=True)
        if self.options.pprof_dump:
            self.requires("protozero/[>=1.7]", transitive_headers=True)
            self.requires("zlib/[>=1.2.11]", transitive_headers=True, transitive_libs=True)

    def package_id(self):
        self.info.settings.clear()

    def generate(self):
        toolchain = CMakeToolchain(self)
        for part in ("TESTS", "EXAMPLES", "BENCHMARKS"):
            toolchain.variables[f"ALLOCTAP_BUILD_{part}"] = False
        toolchain.generate()

    def build(self):
        CMake(self).configure()

    def package(self):
        CMake(self).install()

    def package_info(self):
        # The project's own CMake package.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("share", "cmake", "alloctap")]
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
