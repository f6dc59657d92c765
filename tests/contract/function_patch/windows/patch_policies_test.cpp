// 9: processes in which no code may be written, or made. Wine enforces no policy on dynamic code,
// so the system's own function is made to answer as Windows does then.
#include <doctest/doctest.h>

#include <atomic>
#include <string>

#include "alloctap/hook/inline/function_patch.hpp"
#include "alloctap/os/windows/api.hpp"
#include "alloctap/status.hpp"
#include "tests/contract/function_patch/targets.hpp"

namespace {

using alloctap::FunctionPatch;

using Protect = NTSTATUS NTAPI(HANDLE, void**, SIZE_T*, ULONG, ULONG*);
std::atomic<Protect*> original_protect{nullptr};
/// What is refused, and with what.
std::atomic<ULONG> forbidden{0};
constexpr auto kAccessDenied = static_cast<NTSTATUS>(0xC0000022);

NTSTATUS NTAPI refuse_code(HANDLE process, void** start, SIZE_T* bytes, ULONG protection,
                           ULONG* before) {
  if ((protection & forbidden) != 0) return kAccessDenied;
  return original_protect.load()(process, start, bytes, protection, before);
}

FunctionPatch patch_protect() {
  auto* const function =
      reinterpret_cast<Protect*>(alloctap::os::default_symbol("NtProtectVirtualMemory"));
  constexpr std::size_t kStubBytes = 21;
  auto patch = FunctionPatch::prepare(
      {.address = reinterpret_cast<const void*>(function), .bytes = kStubBytes},
      reinterpret_cast<const void*>(&refuse_code));
  INFO(std::string(patch.status().message()));
  REQUIRE(patch.ok());
  original_protect = patch->original(function);
  forbidden = 0;
  REQUIRE(patch->enable().ok());
  return *std::move(patch);
}

TARGET_ABI int never(int, TargetHelper) { return 0; }

alloctap::Result<FunctionPatch> prepare(Target target, const std::byte* end) {
  const auto* start = reinterpret_cast<const std::byte*>(target);
  return FunctionPatch::prepare(
      {.address = start, .bytes = static_cast<std::size_t>(end - start), .name = "x"},
      reinterpret_cast<const void*>(&never));
}

void check_told(const alloctap::Status& status, const char* what) {
  const std::string text(status.message());
  INFO(text);
  CHECK(status.code() == alloctap::StatusCode::kPermissionDenied);
  CHECK(text.starts_with("FunctionPatch: x at 0x"));
  CHECK(text.find(what) != std::string::npos);
  CHECK(text.find("; error 5: Access denied") != std::string::npos);
  CHECK(text.find("policy on dynamic code") != std::string::npos);
  CHECK(text.ends_with("; PltHook and WindowsImportHook write no code"));
}

}  // namespace

TEST_CASE("where no memory can become code nothing is prepared, and the error says so") {
  FunctionPatch protect = patch_protect();
  forbidden = PAGE_EXECUTE_READ;
  // Nobody else here patches it, so it has no island.
  const void* const function = alloctap::os::default_symbol("RtlCreateHeap");
  const auto status = FunctionPatch::prepare({.address = function, .name = "x"},
                                             reinterpret_cast<const void*>(&never))
                          .status();
  forbidden = 0;
  REQUIRE(protect.disable().ok());
  check_told(status, ": the system does not let memory become executable");
}

TEST_CASE("where code cannot be written a function stays as it is, and the error says so") {
  FunctionPatch protect = patch_protect();
  auto patch = prepare(&target_padded_with_breakpoints, target_padded_with_breakpoints_end);
  REQUIRE(patch.ok());
  forbidden = PAGE_EXECUTE_READWRITE;
  const auto status = patch->enable();
  forbidden = 0;
  REQUIRE(protect.disable().ok());
  check_told(status, ": the system does not let its code be written");
  CHECK_FALSE(patch->is_enabled());
  CHECK(target_padded_with_breakpoints(1, nullptr) == 1);
}
