/// What a recorder holds, for code that is compiled once for all configs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/meta/mapping_container.hpp"
#include "alloctap/queue/logged_events.hpp"
#include "alloctap/record/thread_stats_table.hpp"
#include "alloctap/runtime/function_ref.hpp"
#include "alloctap/sample/sampling_view.hpp"
#include "alloctap/stack/stack_table.hpp"
#include "alloctap/tag/tag_policy.hpp"

namespace alloctap {

class PeakTracker;
class Timeline;

/// The parts of a recorder, and functions for what depends on its config: nullptr where that has no
/// such thing. Control plane, or where `PeakTracker` says.
struct RecordedData {
  using BlockVisitor = FunctionRef<void(const void* pointer, const BlockRecord& record)>;

  ThreadStatsTable& threads;
  StackTable& stacks;
  MappingContainer& mappings;
  PeakTracker& peak;
  Timeline& timeline;
  TagsDescription tags;
  SamplingView sampling;

  /// Visits each block that a report counts as live.
  void (*for_each_live)(BlockVisitor visit) noexcept;
  /// Visits each variable of the tracker that may hold the program's pointers.
  void (*for_each_table)(FunctionRef<void(const void* start, std::size_t bytes)> visit) noexcept;
  /// Delivers what the queue holds; the world is stopped.
  void (*flush_queue)() noexcept = nullptr;
  /// Returns how long a live block has been there, in nanoseconds.
  std::int64_t (*age_ns)(const void* pointer) noexcept = nullptr;
  /// Adds the events that were logged so far; returns false if the system has no memory for them.
  bool (*cut_log)(LoggedEvents& events) noexcept = nullptr;

  /// Whether events are applied by the threads that make them.
  [[nodiscard]] bool delivers_at_once() const noexcept { return flush_queue == nullptr; }
};

}  // namespace alloctap
