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

/// Leaks alone, which every tracker finds.
using Level1 = NoChecks;

/// Blocks are filled as they come and go.
using Level5 = Checks<FillOnAllocate<>, FillOnFree<>>;

/// Everything: guards of 32 bytes on both sides, the last 100 freed blocks kept back, and every
/// free looked at. Beyond malloc_debug's: the kinds of allocation and release must fit.
using Level10 = Checks<KindMismatch, PointerVerification, FrontGuard<32>, RearGuard<32>,
                       FillOnFree<>, Quarantine<100>>;

}  // namespace alloctap
