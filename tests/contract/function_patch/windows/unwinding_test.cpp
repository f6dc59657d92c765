// 23: exceptions that displaced instructions raise.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "alloctap/hook/inline/function_patch.hpp"
#include "alloctap/os/windows/api.hpp"
#include "tests/contract/function_patch/native_call.hpp"
#include "tests/contract/function_patch/target_macros.hpp"

// Returns what is at its argument. Two registers are saved, and the load is displaced with that.
extern "C" int target_guarded_load(const int* place);
extern "C" const std::byte target_guarded_load_end[];
__asm__(R"(
  .text
  begin_calling guarded_load
  save rbx
  save rsi
  saved
  mov (%rcx), %eax
  xor %ebx, %ebx
  xor %esi, %esi
  pop %rsi
  .cfi_adjust_cfa_offset -8
  pop %rbx
  .cfi_adjust_cfa_offset -8
  ret
  end_calling guarded_load
  .purgem begin
  .purgem end
)");

namespace {

using alloctap::FunctionPatch;

using Load = int (*)(const int*);
Load original = nullptr;
int pass_on(const int* place) { return original(place) + 1000; }

/// Where the instruction stood that raised an exception, and how many did.
std::uintptr_t raised_at = 0;
int raised = 0;

/// Unwinds one frame by the system's tables and goes on there, as if the function had returned -1.
LONG CALLBACK return_to_caller(EXCEPTION_POINTERS* exception) {
  CONTEXT& context = *exception->ContextRecord;
  if (exception->ExceptionRecord->ExceptionCode != EXCEPTION_ACCESS_VIOLATION) {
    return EXCEPTION_CONTINUE_SEARCH;
  }
  raised_at = context.Rip;
  if (++raised > 2) std::abort();
  DWORD64 base = 0;
  auto* const function = ::RtlLookupFunctionEntry(context.Rip, &base, nullptr);
  if (function == nullptr) return EXCEPTION_CONTINUE_SEARCH;
  void* data = nullptr;
  DWORD64 frame = 0;
  ::RtlVirtualUnwind(UNW_FLAG_NHANDLER, base, context.Rip, function, &context, &data, &frame,
                     nullptr);
  context.Rax = static_cast<DWORD64>(-1);
  return EXCEPTION_CONTINUE_EXECUTION;
}

}  // namespace

TEST_CASE("an exception in a displaced instruction finds its way to the callers") {
  const auto* start = reinterpret_cast<const std::byte*>(&target_guarded_load);
  const auto bytes = static_cast<std::size_t>(target_guarded_load_end - start);
  auto patch = FunctionPatch::prepare({.address = start, .bytes = bytes},
                                      reinterpret_cast<const void*>(&pass_on));
  INFO(std::string(patch.status().message()));
  REQUIRE(patch.ok());
  original = patch->original(&target_guarded_load);
  const Load volatile load = &target_guarded_load;
  const int seven = 7;
  void* const handler = ::AddVectoredExceptionHandler(1, &return_to_caller);
  CHECK(load(&seven) == 7);
  CHECK(load(nullptr) == -1);
  const std::uintptr_t in_function = raised_at;
  REQUIRE(patch->enable().ok());
  CHECK(load(&seven) == 1007);
  CHECK(load(nullptr) == 999);
  ::RemoveVectoredExceptionHandler(handler);
  CHECK(in_function != raised_at);
  const auto trampoline = reinterpret_cast<std::uintptr_t>(original);
  CHECK(raised_at > trampoline);
  CHECK(raised_at < trampoline + alloctap::arch::EntryPatch::kIslandBytes);
}
