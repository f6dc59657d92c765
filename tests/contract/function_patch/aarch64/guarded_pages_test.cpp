// 14: landing pads that the processor asks for, and signed return addresses.
#include <doctest/doctest.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "alloctap/hook/inline/function_patch.hpp"
#include "tests/contract/function_patch/aarch64/guarded_targets.hpp"
#include "tests/contract/function_patch/targets.hpp"

namespace {

using alloctap::FunctionPatch;
using Guarded = int (*)(int);

constexpr unsigned long kHasSigning = 1UL << 30;
constexpr unsigned long kHasLandingPads = 1UL << 17;
constexpr int kMark = 1000;

Guarded original = nullptr;
int replacement(int x) { return original(x) + kMark; }

/// A call that no compiler knows the destination of.
int call(Guarded function, int x) {
  Guarded volatile pointer = function;
  return pointer(x);
}

/// Whether a branch through a pointer to where no landing pad is ends the process.
bool is_guarded() {
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGILL, SIG_DFL);
    _exit(call(&guarded_without_pad, 1) == 8 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGILL;
}

FunctionPatch patch_function(Guarded function) {
  auto patch = FunctionPatch::prepare(function, &replacement);
  INFO(std::string(patch.status().message()));
  REQUIRE(patch.ok());
  original = patch->original(function);
  return *std::move(patch);
}

std::uint32_t first_word(Guarded function) {
  return *reinterpret_cast<const std::uint32_t*>(function);
}

using Link = std::uintptr_t (*)();
Link original_link = nullptr;
std::uintptr_t forward_link() { return original_link(); }

/// Whether the return address that `link` answers is signed at any of `depths` depths of the stack.
/// A signature of seven bits, of the address and the stack pointer, is zero once in 128.
bool is_signed_at_any(Link link, int depths = 16) {
  constexpr int kAddressBits = 48;
  if (link() >> kAddressBits != 0) return true;
  const volatile bool below = depths > 1 && is_signed_at_any(link, depths - 1);
  return below;  // by way of the stack, so that each call has a frame of its own
}

}  // namespace

TEST_CASE("functions in guarded pages are patched, and the pages stay guarded") {
  if ((getauxval(AT_HWCAP2) & kHasLandingPads) == 0) return;
  REQUIRE(is_guarded());
  constexpr std::uint32_t kLandingPad = 0xD503245F;
  constexpr std::uint32_t kSigning = 0xD503233F;
  const std::vector<std::pair<Guarded, std::uint32_t>> functions{{&guarded_leaf, kLandingPad},
                                                                 {&guarded_caller, kSigning}};
  for (const auto& [function, pad] : functions) {
    CHECK(first_word(function) == pad);
    CHECK(call(function, 1) == 8);
    FunctionPatch patch = patch_function(function);
    for (int round = 0; round < 2; ++round) {
      REQUIRE(patch.enable().ok());
      CHECK(first_word(function) == pad);
      CHECK(call(function, 1) == 8 + kMark);
      CHECK(call(original, 1) == 8);
      CHECK(is_guarded());
      REQUIRE(patch.disable().ok());
      CHECK(call(function, 1) == 8);
      CHECK(is_guarded());
    }
  }
}

TEST_CASE("a return address is signed in the original as it was, and not for the replacement") {
  if ((getauxval(AT_HWCAP) & kHasSigning) == 0) return;
  const auto bytes = static_cast<std::size_t>(
      target_signed_link_end - reinterpret_cast<const std::byte*>(&target_signed_link));
  auto patch = FunctionPatch::prepare(
      {.address = reinterpret_cast<const void*>(&target_signed_link), .bytes = bytes},
      reinterpret_cast<const void*>(&forward_link));
  REQUIRE(patch.ok());
  original_link = patch->original(&target_signed_link);
  CHECK(is_signed_at_any(&target_signed_link));
  CHECK(is_signed_at_any(original_link));
  REQUIRE(patch->enable().ok());
  CHECK(is_signed_at_any(&target_signed_link));
}
