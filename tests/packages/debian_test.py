#!/usr/bin/env python3
"""usage: debian_test.py BUILD_DIR CPACK CXX README

Makes the Debian packages of what is built, and looks at them; installs and removes them in a bare
Debian 12. That is made once, in the build directory, with the packages that it fetched: later runs
need no network.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = CPACK = CXX = README = TOOLS = DEV = None
MOST_BYTES = 10_000_000
# Of alloctap-tools, without debug information.
MOST_INSTALLED_KIB = 10_240


def run(*command, **arguments):
    """The output of a command that must succeed."""
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **arguments
    )
    if done.returncode != 0:
        raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout[-4000:]}")
    return done.stdout


def work_directory():
    return BUILD / "tests/packages"


def field(package, name):
    return run("dpkg-deb", "--field", package, name).strip()


def first_program(text):
    """The first program of README.md, with the function that it leaves out."""
    program = next(p for p in re.findall(r"```cpp\n(.*?)```", text, re.DOTALL) if "int main" in p)
    if "load_level() {" not in program:
        program = "static void load_level() { static auto* kept = new char[1000]; (void)kept; }\n" + program
    return program


def setUpModule():
    """Makes the packages."""
    if shutil.which("dpkg-shlibdeps") is None:
        raise unittest.SkipTest("there is no dpkg-shlibdeps")
    global TOOLS, DEV  # pylint: disable=global-statement
    work = work_directory()
    for old in work.glob("*.deb"):
        old.unlink()
    run(CPACK, "--config", BUILD / "CPackConfig.cmake", "-B", work, cwd=work)
    shutil.rmtree(work / "_CPack_Packages")
    (TOOLS,) = work.glob("alloctap-tools_*.deb")
    (DEV,) = work.glob("liballoctap-dev_*_all.deb")


class Packages(unittest.TestCase):
    def test_contents(self):
        self.assertLess(TOOLS.stat().st_size, MOST_BYTES)
        self.assertLess(DEV.stat().st_size, MOST_BYTES)
        tools = run("dpkg-deb", "--contents", TOOLS)
        for path in (
            "bin/alloctap-run",
            "bin/alloctap-convert",
            "bin/alloctap-diff",
            "lib/alloctap/alloctap-symbolize",
            "lib/alloctap/liballoctap-run.so",
            "share/man/man1/alloctap-run.1.gz",
            "share/bash-completion/completions/alloctap-run",
            "share/zsh/vendor-completions/_alloctap-run",
            "share/doc/alloctap-tools/copyright",
        ):
            self.assertRegex(tools, rf"\./usr/{re.escape(path)}\n")
        dev = run("dpkg-deb", "--contents", DEV)
        for path in (
            "include/alloctap/alloctap.hpp",
            "share/cmake/alloctap/alloctap-config.cmake",
            "share/pkgconfig/alloctap.pc",
        ):
            self.assertRegex(dev, rf"\./usr/{re.escape(path)}\n")

    def test_installed_size(self):
        if run("dpkg", "--print-architecture").strip() != "amd64":
            self.skipTest("the limit is that of amd64")
        self.assertLess(int(field(TOOLS, "Installed-Size")), MOST_INSTALLED_KIB)

    def test_dependencies(self):
        for library in ("libc6", "libdw1", "libstdc\\+\\+6", "libabsl20[0-9]+"):
            self.assertRegex(field(TOOLS, "Depends"), rf"\b{library} \(>= ")
        self.assertRegex(field(DEV, "Depends"), r"^libboost-dev \(>= 1\.74\)")

    def test_lintian_finds_no_errors(self):
        if shutil.which("lintian") is None:
            self.skipTest("there is no lintian")
        print(run("lintian", "--allow-root", "--fail-on", "error", TOOLS, DEV), end="")

    def test_pkg_config_suffices_for_the_first_program(self):
        if shutil.which("pkg-config") is None:
            self.skipTest("there is no pkg-config")
        with tempfile.TemporaryDirectory() as name:
            directory = pathlib.Path(name)
            run("dpkg-deb", "--extract", DEV, directory)
            source = directory / "program.cpp"
            source.write_text(first_program(README.read_text()))
            environment = dict(os.environ, PKG_CONFIG_PATH=str(directory / "usr/share/pkgconfig"))
            flags = run("pkg-config", "--cflags", "--libs", "alloctap", env=environment).split()
            self.assertIn(f"-I{directory}/usr/share/pkgconfig/../../include", flags)
            run(CXX, "-std=c++20", "program.cpp", "-o", "program", *flags, cwd=directory)
            report = run(directory / "program", cwd=directory)
            if (directory / "heap.txt").exists():
                report += (directory / "heap.txt").read_text()
            self.assertIn("load_level()", report)


def why_no_bare_debian():
    """Why one cannot be made here; empty where it can."""
    if os.geteuid() != 0:
        return "only root can make a bare Debian"
    if shutil.which("debootstrap") is None:
        return "there is no debootstrap"
    if run("dpkg", "--print-architecture").strip() != "amd64":
        return "there is a bare Debian for amd64 alone"
    isolated = subprocess.run(
        ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "true"],
        capture_output=True,
        text=True,
        check=False,
    )
    return f"no mounts of its own: {isolated.stderr.strip()}" if isolated.returncode != 0 else ""


def mirror():
    """Where this machine has Debian 12 from; nothing where it has another."""
    targets = ("Codename: bookworm", "Component: main", "Created-By: Packages")
    sites = run("apt-get", "indextargets", "--format", "$(SITE)", *targets).split()
    return sites[:1]


class BareDebian(unittest.TestCase):
    def setUp(self):
        why = why_no_bare_debian()
        if why:
            self.skipTest(why)
        self.bare = work_directory() / "debian-12"
        if not self.bare.exists():
            self.make_bare()
        # dpkg never writes into a file that is there, so that a copy may share them.
        self.root = work_directory() / "debian-12.copy"
        shutil.rmtree(self.root, ignore_errors=True)
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)
        run("cp", "--archive", "--link", self.bare, self.root)

    def make_bare(self):
        self.root = self.bare.with_suffix(".new")
        shutil.rmtree(self.root, ignore_errors=True)
        # Nothing here must outlive a loss of power, and nobody looks at 14,000 files of Boost.
        settings = self.root / "etc/dpkg/dpkg.cfg.d"
        settings.mkdir(parents=True)
        (settings / "quick").write_text("force-unsafe-io\npath-exclude=/usr/include/boost/*\n")
        try:
            run("debootstrap", "--variant=minbase", "bookworm", self.root, *mirror())
            self.inside("apt-get", "update")
        except AssertionError as error:
            self.skipTest(f"no bare Debian could be made: {error}")
        self.root.rename(self.bare)

    def inside(self, *command):
        isolated = ("unshare", "--mount", "--pid", "--fork", f"--mount-proc={self.root}/proc")
        variables = ("PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C")
        return run(*isolated, "chroot", self.root, "env", "-i", *variables, *command)

    def files(self):
        """All but what the loader notes."""
        return {
            "/" + os.path.relpath(os.path.join(directory, name), self.root)
            for top in ("etc", "opt", "usr")
            for directory, _, names in os.walk(self.root / top)
            for name in names
            if name != "ld.so.cache"
        }

    def keep_fetched_packages(self):
        archives = "var/cache/apt/archives"
        for package in (self.root / archives).glob("*.deb"):
            kept = self.bare / archives / package.name
            if not kept.exists():
                kept.hardlink_to(package)

    def test_packages_come_and_go(self):
        before = self.files()
        paths = [f"/tmp/{package.name}" for package in (TOOLS, DEV)]
        for package in (TOOLS, DEV):
            shutil.copy(package, self.root / "tmp")
        install = ("apt-get", "install", "-y", "--no-install-recommends")
        try:
            self.inside(*install, "--download-only", *paths)
        except AssertionError as error:
            self.skipTest(f"what the packages depend on could not be fetched: {error}")
        self.keep_fetched_packages()
        self.inside(*install, *paths)
        self.assertTrue((self.root / "usr/include/alloctap/alloctap.hpp").exists())
        self.check_commands()
        self.inside("apt-get", "purge", "-y", "alloctap-tools", "liballoctap-dev")
        # What they depend on stays; some of it says /lib for /usr/lib.
        lists = (self.root / "var/lib/dpkg/info").glob("*.list")
        listed = "\n".join(path.read_text() for path in lists).splitlines()
        of_others = {re.sub("^/lib", "/usr/lib", path) for path in listed}
        self.assertEqual(self.files() - before - of_others, set())
        self.assertEqual(list((self.root / "usr").rglob("*alloctap*")), [])

    def check_commands(self):
        reports = ("-o", "/tmp/a.json", "--dump", "record=/tmp/a.record")
        listed = self.inside("alloctap-run", *reports, "ls", "/")
        self.assertIn("usr\n", listed)
        self.inside("alloctap-run", "--checks=level5", "-o", "/tmp/b.json", "sh", "-c", "true")
        self.inside("alloctap-convert", "/tmp/a.record", "html=/tmp/a.html")
        self.assertIn("/tmp/a.json", self.inside("alloctap-diff", "/tmp/a.json", "/tmp/b.json"))
        report = json.loads((self.root / "tmp/a.json").read_text())
        self.assertEqual(report["schema"], "alloctap.heap/1")
        self.assertGreater(report["totals"]["allocations"], 0)
        self.assertGreater((self.root / "tmp/a.html").stat().st_size, 10_000)


if __name__ == "__main__":
    BUILD, CPACK, CXX, README = map(pathlib.Path, sys.argv[1:5])
    unittest.main(argv=sys.argv[:1], verbosity=2)
