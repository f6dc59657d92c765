#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/integration/run/launcher_fixture.hpp"

namespace {

using namespace launcher_test;
using Texts = std::vector<std::string>;

const Texts kHooks{"interpose", "plt", "inline", "malloc-hooks"};

/// The library that the programs are linked to; others take its place by their names.
constexpr std::string_view kPlaceholder = "libplaceholder_of_a_sanitizer.so";

/// Copies the file at `from`, with `name` for a text that is no shorter.
void copy_renamed(const fs::path& from, const fs::path& to, std::string_view text,
                  std::string_view name) {
  std::string image = read_file(from);
  std::string replacement(name);
  replacement.resize(text.size(), '\0');
  for (std::size_t at = image.find(text); at != image.npos; at = image.find(text, at + 1)) {
    image.replace(at, text.size(), replacement);
  }
  write_file(to, image, 0755);
}

/// A program in the working directory that needs `library`, which is there too.
std::string program_needing(const Launcher& launcher, const std::string& library) {
  copy_renamed(ALLOCTAP_RUN_NEEDED, launcher.work() / library, kPlaceholder, library);
  copy_renamed(ALLOCTAP_RUN_NEEDING, launcher.work() / "program", kPlaceholder, library);
  return "./program";
}

std::string program_with(const Launcher& launcher, const char* file, std::string_view symbol) {
  copy_renamed(file, launcher.work() / "program", "__asan_init", symbol);
  return "./program";
}

Result run_by(const Launcher& launcher, const std::string& hook, const std::string& program) {
  CAPTURE(hook);
  return launcher.run({"--hook=" + hook, program});
}

void check_runs(const Launcher& launcher, const std::string& hook, const std::string& program) {
  const Result result = run_by(launcher, hook, program);
  CAPTURE(result.err);
  CHECK(result.code == 0);
  CHECK(result.out == "started\n");
}

TEST_CASE("the address sanitizer's library is refused, unless it need not be the first") {
  for (const std::string library : {"libasan.so.8", "libclang_rt.asan-x86_64.so"}) {
    Launcher launcher;
    const std::string program = program_needing(launcher, library);
    for (const std::string hook : {"interpose", "plt", "inline"}) {
      check_refused(run_by(launcher, hook, program), 2,
                    {"'./program'", "-fsanitize=address", "'" + library + "'",
                     "ASAN_OPTIONS=verify_asan_link_order=0", "--hook=malloc-hooks"});
    }
    launcher.environment.push_back("ASAN_OPTIONS=detect_leaks=1:verify_asan_link_order=0");
    for (const std::string hook : {"interpose", "plt", "inline"}) {
      check_runs(launcher, hook, program);
    }
    check_refused(run_by(launcher, "malloc-hooks", program), 2, {library, "--hook=inline"});
  }
}

TEST_CASE("sanitizers that no tracker can run beside are refused with every hook") {
  for (const std::string library :
       {"libtsan.so.2", "libclang_rt.tsan-x86_64.so", "libhwasan.so.0"}) {
    const Launcher launcher;
    const std::string program = program_needing(launcher, library);
    for (const std::string& hook : kHooks) {
      check_refused(run_by(launcher, hook, program), 2,
                    {"'./program'", "'" + library + "'", "track a build without it"});
    }
  }
  const Launcher launcher;
  for (const std::string& hook : kHooks) {
    check_refused(
        run_by(launcher, hook, program_with(launcher, ALLOCTAP_RUN_SANITIZED, "__tsan_init")), 2,
        {"-fsanitize=thread", "track a build without it"});
  }
}

TEST_CASE("the leak sanitizer's library is refused where its malloc would not be called") {
  const Launcher launcher;
  const std::string program = program_needing(launcher, "liblsan.so.0");
  for (const std::string hook : {"interpose", "plt", "inline"}) check_runs(launcher, hook, program);
  check_refused(run_by(launcher, "malloc-hooks", program), 2, {"-fsanitize=leak", "--hook=inline"});
}

TEST_CASE("the undefined behaviour sanitizer has no allocator, and is no matter") {
  const Launcher launcher;
  const std::string program = program_needing(launcher, "libubsan.so.1");
  for (const std::string& hook : kHooks) check_runs(launcher, hook, program);
}

TEST_CASE("a sanitizer that a library needs, or LD_PRELOAD names, is found") {
  Launcher launcher;
  program_needing(launcher, "libtsan.so.2");
  copy_renamed(ALLOCTAP_RUN_MIDDLE, launcher.work() / fs::path(ALLOCTAP_RUN_MIDDLE).filename(),
               kPlaceholder, "libtsan.so.2");
  fs::copy_file(ALLOCTAP_RUN_NEEDING_MIDDLE, launcher.work() / "indirect");
  check_refused(launcher.run({"./indirect"}), 2, {"'./indirect'", "'libtsan.so.2'"});
  fs::create_directory(launcher.work() / "elsewhere");
  fs::rename(launcher.work() / "indirect", launcher.work() / "elsewhere/indirect");
  launcher.environment.push_back("LD_LIBRARY_PATH=" + launcher.work().native());
  check_refused(launcher.run({"elsewhere/indirect"}), 2, {"'libtsan.so.2'"});
  launcher.environment.push_back("LD_PRELOAD=/nowhere/libasan.so.8");
  check_refused(launcher.run({"/bin/true"}), 2, {"'/bin/true'", "libasan.so.8"});
}

TEST_CASE("a runtime that is linked in is refused by --hook=interpose, which names the others") {
  const Launcher launcher;
  for (const auto& [symbol, name] :
       {std::pair{"__asan_init", "address"}, {"__lsan_init", "leak"}, {"__msan_init", "memory"}}) {
    const std::string program = program_with(launcher, ALLOCTAP_RUN_SANITIZED, symbol);
    check_refused(run_by(launcher, "interpose", program), 2,
                  {"'./program'", std::string("-fsanitize=") + name, "its runtime is linked in",
                   "write --hook=malloc-hooks"});
    for (const std::string hook : {"plt", "inline", "malloc-hooks"}) {
      check_runs(launcher, hook, program);
    }
  }
}

TEST_CASE("a runtime that is linked in and exports no hooks, as gcc's, leaves two ways") {
  const Launcher launcher;
  const std::string program = program_with(launcher, ALLOCTAP_RUN_SANITIZED_HIDDEN, "__asan_init");
  for (const std::string hook : {"interpose", "malloc-hooks"}) {
    const Result result = run_by(launcher, hook, program);
    check_refused(result, 2, {"-fsanitize=address", "write --hook=inline or --hook=plt"});
  }
  for (const std::string hook : {"plt", "inline"}) check_runs(launcher, hook, program);
}

}  // namespace
