#include "alloctap/hook/hook_claims.hpp"

#include <doctest/doctest.h>

using alloctap::HookClaims;
using alloctap::HookTarget;

TEST_CASE("the process's allocator has one backend at a time") {
  REQUIRE(HookClaims::claim(HookTarget::kProcessAllocator));
  CHECK_FALSE(HookClaims::claim(HookTarget::kProcessAllocator));
  CHECK_FALSE(HookClaims::claim(HookTarget::kProcessAllocator));
  HookClaims::release(HookTarget::kProcessAllocator);
  CHECK(HookClaims::claim(HookTarget::kProcessAllocator));
  HookClaims::release(HookTarget::kProcessAllocator);
}

TEST_CASE("manual backends are as many as a program wants, beside any other") {
  REQUIRE(HookClaims::claim(HookTarget::kProcessAllocator));
  CHECK(HookClaims::claim(HookTarget::kManual));
  CHECK(HookClaims::claim(HookTarget::kManual));
  HookClaims::release(HookTarget::kManual);
  CHECK_FALSE(HookClaims::claim(HookTarget::kProcessAllocator));
  HookClaims::release(HookTarget::kProcessAllocator);
}
