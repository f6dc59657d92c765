/// The levels of Android's malloc_debug, as of 2014.
#pragma once

#include "alloctap/check/checks.hpp"
#include "alloctap/check/fill_on_allocate.hpp"
#include "alloctap/check/fill_on_free.hpp"
#include "alloctap/check/front_guard.hpp"
#include "alloctap/check/kind_mismatch.hpp"
#include "alloctap/check/pointer_verification.hpp"
#include "alloctap/check/quarantine.hpp"
#include "alloctap/check/rear_guard.hpp"

namespace alloctap {

/// Leaks only, which every tracker finds.
using Level1 = NoChecks;

/// Fills blocks when they are allocated and freed.
using Level5 = Checks<FillOnAllocate<>, FillOnFree<>>;

/// All checks: red zones of 32 bytes on both sides, a quarantine of 100 blocks, and a check of each
/// free. Unlike malloc_debug, also checks that allocation and deallocation calls match.
using Level10 = Checks<KindMismatch, PointerVerification, FrontGuard<32>, RearGuard<32>,
                       FillOnFree<>, Quarantine<100>>;

}  // namespace alloctap
