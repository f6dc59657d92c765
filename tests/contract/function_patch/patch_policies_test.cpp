// 9: systems that let no code be written, or made. Each in a child process, which it is for.
#include <absl/strings/escaping.h>
#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "alloctap/hook/inline/function_patch.hpp"
#include "alloctap/message_text.hpp"
#include "alloctap/status.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/forbid_code.hpp"
#include "tests/support/mapped_files.hpp"

namespace {

using namespace alloctap::testing;
using alloctap::FunctionPatch;

/// A function of the C library that nobody else here patches.
const auto kGuarded = &strverscmp;

alloctap::Result<FunctionPatch> prepare_guarded() {
  return FunctionPatch::prepare({.address = reinterpret_cast<const void*>(kGuarded), .name = "x"},
                                reinterpret_cast<const void*>(&strcmp));
}

/// strcmp sees it the other way round.
bool does_what_it_did() { return kGuarded("a9", "a10") < 0; }

bool tells_of_policy(const alloctap::Status& status, const char* reason) {
  const void* const address = reinterpret_cast<const void*>(kGuarded);
  const std::string bytes(static_cast<const char*>(address), 16);
  const std::string start = alloctap::join_text(
      "FunctionPatch: x at 0x", alloctap::hex_text(reinterpret_cast<std::uintptr_t>(address)),
      ", bytes ", absl::BytesToHexString(bytes), ": the system does not let ", reason);
  return status.code() == alloctap::StatusCode::kPermissionDenied &&
         status.message().starts_with(start);
}

}  // namespace

TEST_CASE("where code cannot be written a function stays as it is, and the error says so") {
  CHECK(holds_in_child([] {
    if (!forbid_code(ForbiddenCode::kWritable)) return false;
    const auto files = mapped_files();
    auto patch = prepare_guarded();
    if (!patch.ok()) return false;
    return tells_of_policy(patch->enable(), "its code be written; SELinux, a seccomp filter") &&
           !patch->is_enabled() && does_what_it_did() && mapped_files() == files &&
           mapped_file_at(reinterpret_cast<const void*>(kGuarded)).is_as_in_file();
  }));
}

TEST_CASE("where that comes later, calls pass to the original, and the error says so") {
  CHECK(holds_in_child([] {
    auto patch = prepare_guarded();
    if (!patch.ok() || !patch->enable().ok() || does_what_it_did()) return false;
    if (!forbid_code(ForbiddenCode::kWritable)) return false;
    return tells_of_policy(patch->disable(), "its code be written; ") && patch->is_enabled() &&
           does_what_it_did();
  }));
}

TEST_CASE("where no memory can become code nothing is prepared, and the error says so") {
  CHECK(holds_in_child([] {
    if (!forbid_code(ForbiddenCode::kAny)) return false;
    const auto files = mapped_files();
    return tells_of_policy(prepare_guarded().status(), "memory become executable; ") &&
           does_what_it_did() && mapped_files() == files &&
           mapped_file_at(reinterpret_cast<const void*>(kGuarded)).is_as_in_file();
  }));
}
