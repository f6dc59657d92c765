#include "convert/replay_text.hpp"

#include <alloctap/dump/human_units.hpp>
#include <alloctap/snapshot/replay.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "alloctap/message_text.hpp"

namespace alloctap::run {
namespace {

/// Where there are more, how many is enough.
constexpr std::size_t kMaxLines = 20;

ReplayText cannot_compare(const Snapshot& snapshot) {
  if (snapshot.events.count == 0 && snapshot.events.missed == 0) {
    return {.text = "has no events; alloctap-run --events=BYTES --dump record=PATH keeps them"};
  }
  return {.text = join_text("has the first ", snapshot.events.count, " of ",
                            snapshot.events.count + snapshot.events.missed,
                            " events: what they add up to is no number of it")};
}

std::string count_of(std::uint64_t count, std::string_view noun) {
  return join_text(count, " ", std::string(noun), std::string(plural(count)));
}

std::string describe(const ReplayDifference& difference) {
  const std::string whose =
      difference.stack == kNoStackId ? "" : join_text(" of stack ", difference.stack);
  return join_text("\n  ", std::string(difference.name), whose, ": ", difference.recorded,
                   " recorded, ", difference.replayed, " replayed");
}

std::string describe_equal(const Snapshot& snapshot, const Replay& replay) {
  const Totals& totals = replay.totals();
  const std::uint64_t tolerance = peak_tolerance(snapshot, replay);
  const std::string within = tolerance == 0 ? "" : join_text(", which may differ by ", tolerance);
  const bool paused = snapshot.account.pauses > 0;
  return join_text("and its ", count_of(snapshot.events.count, "event"), ", of ",
                   count_of(replay.threads(), "thread"),
                   ", are equal: ", count_of(totals.allocations, "allocation"), " of ",
                   count_of(totals.allocated_bytes, "byte"), ", ",
                   count_of(totals.deallocations, "deallocation"), ", ",
                   paused ? "" : join_text(totals.temporary_allocations, " temporary, "),
                   totals.live_allocations, " live of ", count_of(totals.live_bytes, "byte"),
                   ", also for each of ", count_of(snapshot.stacks.size(), "stack"),
                   ", and the peak of ", count_of(totals.peak_live_bytes, "byte"), within);
}

}  // namespace

ReplayText replay_text(const Snapshot& snapshot) {
  if (!snapshot.events.complete()) return cannot_compare(snapshot);
  Replay replay;
  if (!replay.run(snapshot)) return {.text = "needs more memory to be replayed than there is"};
  std::size_t differences = 0;
  std::string lines;
  visit_replay_differences(snapshot, replay, [&](const ReplayDifference& difference) {
    if (++differences <= kMaxLines) lines += describe(difference);
  });
  if (differences == 0) return {.equal = true, .text = describe_equal(snapshot, replay)};
  if (differences > kMaxLines) lines += "\n  ...";
  return {.text = join_text("and its ", snapshot.events.count, " events differ in ",
                            count_of(differences, "number"), " (", snapshot.account.dropped,
                            " were dropped):", lines)};
}

}  // namespace alloctap::run
