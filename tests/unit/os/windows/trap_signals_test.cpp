#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "alloctap/os/memory_protection.hpp"
#include "alloctap/os/patched_code.hpp"
#include "alloctap/os/virtual_memory.hpp"
#include "alloctap/os/windows/api.hpp"

namespace {

using namespace alloctap;

/// A function that traps by its first byte, and returns 7 from `kResumed` on.
constexpr std::size_t kResumed = 8;
std::uintptr_t trapping = 0;

std::uintptr_t resume_trapping(std::uintptr_t place) noexcept {
  return place != 0 && place == trapping ? trapping + kResumed : 0;
}

/// Handled by this test where nobody resumes it: as if the instruction had been a nop.
long passed_on = 0;
LONG CALLBACK skip_trap(EXCEPTION_POINTERS* exception) {
  ++passed_on;
  exception->ContextRecord->Rip += 1;
  return EXCEPTION_CONTINUE_EXECUTION;
}

/// mov $7, %eax; ret, behind `trap` and nops.
class TrappingCode {
 public:
  explicit TrappingCode(unsigned trap) : code_(os::map_pages(os::page_size())) {
    std::memset(code_, 0x90, kResumed);
    std::memcpy(code_, &trap, 1);
    constexpr std::array<unsigned char, 6> kRest{0xB8, 7, 0, 0, 0, 0xC3};
    std::memcpy(static_cast<std::byte*>(code_) + kResumed, kRest.data(), kRest.size());
    REQUIRE(os::protect_pages(address(), os::page_size(), {.readable = true, .executable = true}));
  }
  ~TrappingCode() { os::unmap_pages(code_, os::page_size()); }
  TrappingCode(const TrappingCode&) = delete;
  TrappingCode& operator=(const TrappingCode&) = delete;

  [[nodiscard]] std::uintptr_t address() const { return reinterpret_cast<std::uintptr_t>(code_); }
  [[nodiscard]] int run() const { return reinterpret_cast<int (*)()>(address())(); }

 private:
  void* code_;
};

/// int3, and an instruction that there is none of.
constexpr std::array kTraps{0xCCU, 0x06U};

}  // namespace

TEST_CASE("a thread that traps goes on where it is told to, and nobody else sees it") {
  REQUIRE(os::catch_traps(&resume_trapping));
  void* const last = ::AddVectoredExceptionHandler(0, &skip_trap);
  for (const unsigned trap : kTraps) {
    const TrappingCode code(trap);
    trapping = code.address();
    passed_on = 0;
    CHECK(code.run() == 7);
    CHECK(passed_on == 0);
  }
  trapping = 0;
  ::RemoveVectoredExceptionHandler(last);
}

TEST_CASE("a trap of nobody goes to the handlers that were there, once") {
  void* const last = ::AddVectoredExceptionHandler(0, &skip_trap);
  REQUIRE(os::catch_traps(&resume_trapping));
  REQUIRE(os::catch_traps(&resume_trapping));
  for (const unsigned trap : kTraps) {
    const TrappingCode code(trap);
    passed_on = 0;
    CHECK(code.run() == 7);
    CHECK(passed_on == 1);
  }
  ::RemoveVectoredExceptionHandler(last);
}
