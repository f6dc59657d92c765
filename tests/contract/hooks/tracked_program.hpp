/// A program's tracker behind the functions that the cases of hook backends call.
#pragma once

#include <cstdlib>
#include <optional>
#include <utility>

#include "alloctap/impl/tracker.hpp"
#include "alloctap/message_text.hpp"
#include "alloctap/stack/stack_capture.hpp"
#include "alloctap/status.hpp"
#include "tests/contract/hooks/hooked_program.hpp"

namespace alloctap::testing {

/// One that starts and stops for the cases.
template <class Tracker>
struct TrackedProgram {
  static std::string start() {
    auto started = Tracker::start();
    if (!started.ok()) return to_string(started.status());
    session = *std::move(started);
    return "";
  }

  static void end() {
    if (session) session->end();
    session.reset();
  }

  static EventTotals totals() {
    const Result<Snapshot> now = Tracker::snapshot();
    if (!now.ok()) std::abort();
    return {.allocations = now->totals.allocations,
            .deallocations = now->totals.deallocations,
            .allocated_bytes = now->totals.allocated_bytes,
            .live_bytes = now->totals.live_bytes,
            .mapped_bytes = ::alloctap::SinkOf<Tracker>::meta().mappings().live_bytes(),
            .unmatched_frees = now->account.unmatched_frees};
  }

  static inline std::optional<Session> session;
};

/// `sees` is what the backend is expected to see.
template <class Tracker>
constexpr HookedProgram hooked_program_of(Sees (*sees)()) {
  using Program = TrackedProgram<Tracker>;
  return {&Program::start, &Program::end, &Program::totals, sees};
}

}  // namespace alloctap::testing
