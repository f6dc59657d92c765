#include <doctest/doctest.h>

#include "alloctap/hook/hook_backend.hpp"

namespace {

using alloctap::HookClaims;
using alloctap::HookTarget;

constexpr std::string_view kFirst = "first";
constexpr std::string_view kSecond = "second";

}  // namespace

TEST_CASE("the process's allocator has one backend at a time, and the next one learns which") {
  REQUIRE(HookClaims::claim(HookTarget::kProcessAllocator, kFirst) == nullptr);
  for (int i = 0; i < 2; ++i) {
    const std::string_view* holder = HookClaims::claim(HookTarget::kProcessAllocator, kSecond);
    REQUIRE(holder != nullptr);
    CHECK(*holder == "first");
  }
  HookClaims::release(HookTarget::kProcessAllocator);
  CHECK(HookClaims::claim(HookTarget::kProcessAllocator, kSecond) == nullptr);
  HookClaims::release(HookTarget::kProcessAllocator);
}

TEST_CASE("manual backends are as many as a program wants, beside any other") {
  REQUIRE(HookClaims::claim(HookTarget::kProcessAllocator, kFirst) == nullptr);
  CHECK(HookClaims::claim(HookTarget::kManual, kFirst) == nullptr);
  CHECK(HookClaims::claim(HookTarget::kManual, kSecond) == nullptr);
  HookClaims::release(HookTarget::kManual);
  CHECK(HookClaims::claim(HookTarget::kProcessAllocator, kSecond) != nullptr);
  HookClaims::release(HookTarget::kProcessAllocator);
}
