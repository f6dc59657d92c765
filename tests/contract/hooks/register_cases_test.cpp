// Case 23 of hook backends on x86-64: what a function must preserve is preserved through the hook,
// and all arguments arrive.
#include <dlfcn.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <type_traits>

#include "tests/contract/hooks/call_with_registers.hpp"
#include "tests/contract/hooks/hooked_program.hpp"

namespace {

using namespace alloctap::testing;

/// Rounding toward zero, subnormal numbers taken for zero, all exceptions masked.
constexpr std::uint32_t kMxcsr = 0xffc0;
/// Rounding toward zero to 53 bits, all exceptions masked.
constexpr std::uint32_t kX87 = 0x0e7f;
constexpr std::uint64_t kDirectionFlag = 1U << 10;

PreservedRegisters distinct_registers() {
  PreservedRegisters registers{.mxcsr = kMxcsr, .x87_control = kX87};
  std::uint64_t pattern = 0x0123'4567'89ab'cdefU;
  for (std::uint64_t& general : registers.general) general = pattern *= 3;
  return registers;
}

template <class T>
std::uint64_t bits(T value) {
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<std::uint64_t>(value);
  } else {
    return static_cast<std::uint64_t>(value);
  }
}

/// Calls `function`, whose address was taken while it was hooked, and returns what it returned.
template <class Result, class... Parameters, class... Arguments>
std::uint64_t call_and_compare(Result (*function)(Parameters...), Arguments... arguments) {
  const CallArguments passed{bits(arguments)...};
  PreservedRegisters registers = distinct_registers();
  const std::uint64_t result = alloctap_call_with_registers(
      &registers, reinterpret_cast<const void*>(function), passed.data());
  const PreservedRegisters expected = distinct_registers();
  CHECK(registers.general == expected.general);
  CHECK((registers.mxcsr & kMxcsr) == kMxcsr);
  CHECK(registers.x87_control == kX87);
  CHECK(registers.stack_difference == 0);
  CHECK((registers.flags & kDirectionFlag) == 0);
  return result;
}

void* block_of(std::uint64_t result) { return reinterpret_cast<void*>(result); }

}  // namespace

TEST_CASE(
    "case 23, ABI: registers that are the caller's are as they were after each heap function") {
  const Recording recording;
  const EventCount count;
  void* block = block_of(call_and_compare(&std::malloc, 100));
  const EventTotals made = count.so_far();
  block = block_of(call_and_compare(&std::realloc, block, 10'000));
  call_and_compare(&std::free, block);
  block = block_of(call_and_compare(&std::calloc, 3, 100));
  call_and_compare(&malloc_usable_size, block);
  call_and_compare(&std::free, block);
  const int error = static_cast<int>(call_and_compare(&posix_memalign, &block, 64, 100));
  call_and_compare(&std::free, block);
  CHECK(error == 0);
  CHECK(made.allocations > 0);
}

TEST_CASE("case 23, ABI: all six arguments of mmap arrive, and registers are as they were") {
  constexpr std::uint64_t kPage = 4096;
  const int file = memfd_create("alloctap", 0);
  REQUIRE(file >= 0);
  REQUIRE(ftruncate(file, 2 * kPage) == 0);
  REQUIRE(pwrite(file, "second", 6, kPage) == 6);
  const Recording recording;
  const EventCount count;
  const auto* const second = static_cast<const char*>(block_of(call_and_compare(
      &mmap, static_cast<void*>(nullptr), kPage, PROT_READ, MAP_PRIVATE, file, kPage)));
  const EventTotals mapped = count.so_far();
  REQUIRE(second != MAP_FAILED);
  CHECK(std::string(second, 6) == "second");
  CHECK(mapped.mapped_bytes == (sees().mappings ? kPage : 0));
  CHECK(call_and_compare(&munmap, second, kPage) == 0);
  close(file);
}

TEST_CASE("case 23, ABI: registers are as they were after dlopen, dlsym and dlclose") {
  const Recording recording;
  void* const plugin =
      block_of(call_and_compare(&dlopen, static_cast<const char*>(ALLOCTAP_LATE_PLUGIN), RTLD_NOW));
  REQUIRE(plugin != nullptr);
  CHECK(call_and_compare(&dlsym, plugin, static_cast<const char*>("allocate_in_plugin")) != 0);
  CHECK(call_and_compare(&dlsym, plugin, static_cast<const char*>("nothing of the kind")) == 0);
  CHECK(call_and_compare(&dlclose, plugin) == 0);
}
