#include <doctest/doctest.h>
#include <elf.h>
#include <linux/capability.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <string>

#include "tests/integration/run/launcher_fixture.hpp"

namespace {

using namespace launcher_test;

fs::path copy_of_echo(const Launcher& launcher, const char* name) {
  fs::path copy = launcher.work() / name;
  fs::copy_file("/bin/echo", copy);
  return copy;
}

/// /bin/echo with some bytes replaced.
void write_changed_echo(const fs::path& path, std::size_t offset, std::string_view bytes) {
  std::string image = read_file("/bin/echo");
  image.replace(offset, bytes.size(), bytes);
  write_file(path, image, 0755);
}

TEST_CASE("a static program is refused") {
  const Launcher launcher;
  for (const char* program : {ALLOCTAP_RUN_STATIC_PROGRAM, ALLOCTAP_RUN_STATIC_PIE_PROGRAM}) {
    check_refused(launcher.run({program}), 2, {program, "statically linked", "InterposeHook"});
  }
  const std::string script = launcher.work() / "script";
  write_file(script, std::string("#!") + ALLOCTAP_RUN_STATIC_PROGRAM + "\n", 0755);
  check_refused(launcher.run({"./script"}), 2, {ALLOCTAP_RUN_STATIC_PROGRAM, "statically linked"});
}

TEST_CASE("the loader itself may run a program") {
  const Launcher launcher;
  const fs::path loader = "/lib64/ld-linux-x86-64.so.2";
  if (!fs::exists(loader)) return;
  CHECK(launcher.run({loader, "/bin/echo", "started"}).out == "started\n");
}

TEST_CASE("where there is no /proc that is said") {
  const Launcher launcher;
  const auto without_proc = [&](const std::string& command) {
    const std::string script = "mount -t tmpfs none /proc && exec " + command;
    return launcher.execute({"/usr/bin/unshare", "--mount", "/bin/sh", "-c", script});
  };
  if (without_proc("true").code != 0) {
    MESSAGE("not tested: this user may not cover /proc");
    return;
  }
  check_refused(without_proc(launcher.binary().native() + " /bin/echo started"), 2,
                {"there is no /proc", "mount -t proc"});
}

TEST_CASE("programs for other machines are refused") {
  const Launcher launcher;
  write_changed_echo(launcher.work() / "narrow", EI_CLASS, "\x01");
  write_changed_echo(launcher.work() / "swapped", EI_DATA, "\x02");
  write_changed_echo(launcher.work() / "sparc", offsetof(Elf64_Ehdr, e_machine), "\x2b");
  check_refused(launcher.run({"./narrow"}), 2, {"'./narrow'", "32-bit", "64-bit build"});
  check_refused(launcher.run({"./swapped"}), 2, {"'./swapped'", "another machine"});
  check_refused(launcher.run({"./sparc"}), 2, {"'./sparc'", "ELF machine 43"});
}

TEST_CASE("of a program in Go a line says that there is no report at its end") {
  const Launcher launcher;
  for (const char* option : {"--mmap=on", "--interval=1"}) {
    const Result result = launcher.run({option, ALLOCTAP_RUN_GO_PROGRAM});
    CHECK(result.code == 0);
    const bool is_warned = result.err.find("is written in Go") != std::string::npos &&
                           result.err.find("--interval") != std::string::npos;
    CHECK(is_warned == (std::string(option) == "--mmap=on"));
  }
  CHECK(launcher.run({"/bin/true"}).err.empty());
}

TEST_CASE("programs for another C library, or a missing one, are refused") {
  const Launcher launcher;
  const std::string image = read_file("/bin/echo");
  const std::size_t loader = image.find("/lib64/ld-linux");
  if (loader == std::string::npos) return;
  write_changed_echo(launcher.work() / "musl", loader,
                     std::string("/lib/ld-musl-x86_64.so.1\0", 25));
  write_changed_echo(launcher.work() / "missing", loader, "/lib99");
  check_refused(launcher.run({"./musl"}), 2, {"'./musl'", "'/lib/ld-musl-x86_64.so.1'"});
  check_refused(launcher.run({"./missing"}), 127, {"'./missing'", "'/lib99/ld-linux", "install"});
}

TEST_CASE("damaged programs are refused") {
  const Launcher launcher;
  const std::string image = read_file("/bin/echo");
  for (const std::size_t length : {std::size_t{4}, std::size_t{63}, std::size_t{100}}) {
    write_file(launcher.work() / "damaged", image.substr(0, length), 0755);
    check_refused(launcher.run({"./damaged"}), 126, {"'./damaged'", "damaged"});
  }
  write_changed_echo(launcher.work() / "class", EI_CLASS, "\x07");
  write_changed_echo(launcher.work() / "odd", offsetof(Elf64_Ehdr, e_phentsize), "\x01");
  write_changed_echo(launcher.work() / "far", offsetof(Elf64_Ehdr, e_phoff), "\xff\xff\xff\xff");
  write_changed_echo(launcher.work() / "beyond", offsetof(Elf64_Ehdr, e_phoff) + 7, "\xff");
  for (const char* name : {"./class", "./odd", "./far", "./beyond"}) {
    check_refused(launcher.run({name}), 126, {name, "damaged"});
  }
}

TEST_CASE("setuid and setgid matter where they change who runs the program" *
          doctest::skip(::geteuid() != 0)) {
  const Launcher launcher;
  const auto make = [&](const char* name, uid_t user, gid_t group, int mode) {
    const fs::path copy = copy_of_echo(launcher, name);
    REQUIRE(::chown(copy.c_str(), user, group) == 0);
    fs::permissions(copy, static_cast<fs::perms>(mode));
  };
  make("root_user", 0, 0, 04755);
  make("other_user", 65534, 65534, 04755);
  make("root_group", 0, 0, 02755);
  make("other_group", 0, 65534, 02755);
  make("locking", 0, 65534, 02745);
  for (const char* name : {"./root_user", "./root_group", "./locking"}) {
    CHECK(launcher.run({name, "started"}).out == "started\n");
  }
  for (const char* name : {"./other_user", "./other_group"}) {
    check_refused(launcher.run({name, "started"}), 2, {name, "setuid or setgid", "copy"});
  }
  check_refused(launcher.run_as_nobody({"./root_user", "started"}), 2, {"'./root_user'", "setuid"});
  check_refused(launcher.run_as_nobody({"./root_group", "started"}), 2, {"setgid"});
  CHECK(launcher.run_as_nobody({"./other_user", "started"}).out == "started\n");
  CHECK(launcher
            .execute({"/usr/bin/setpriv", "--no-new-privs", launcher.binary(), "./other_user",
                      "started"})
            .out == "started\n");
}

TEST_CASE("file capabilities are refused" * doctest::skip(::geteuid() != 0)) {
  const Launcher launcher;
  const fs::path program = copy_of_echo(launcher, "capable");
  vfs_cap_data capabilities{};
  capabilities.magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE;
  capabilities.data[0].permitted = 1u << CAP_NET_RAW;
  if (::setxattr(program.c_str(), "security.capability", &capabilities, XATTR_CAPS_SZ_2, 0) != 0) {
    MESSAGE("not tested: this file system keeps no capabilities: " << std::strerror(errno));
    return;
  }
  check_refused(launcher.run({"./capable", "started"}), 2, {"'./capable'", "capabilities", "copy"});
  check_refused(launcher.run_as_nobody({"./capable", "started"}), 2, {"capabilities"});
  write_file(launcher.work() / "script", "#!" + program.native() + "\n", 0755);
  check_refused(launcher.run({"./script"}), 2, {"capabilities"});
}

}  // namespace
