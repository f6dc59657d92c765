/// Access to a recorder's data for code that does not depend on the config.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/meta/mapping_container.hpp"
#include "alloctap/queue/event_stream.hpp"
#include "alloctap/record/thread_stats_table.hpp"
#include "alloctap/runtime/function_ref.hpp"
#include "alloctap/sample/sampling_policy.hpp"
#include "alloctap/stack/stack_table.hpp"
#include "alloctap/tag/tag_policy.hpp"

namespace alloctap {

class PeakTracker;
class Timeline;

/// References to the parts of a recorder, and pointers to functions for the parts whose type
/// depends on the config. A function pointer is nullptr if the config lacks the feature. Used by
/// the control plane, and by `PeakTracker` inside malloc.
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
  /// Visits each variable of the tracker that may hold pointers to the program's blocks. The leak
  /// scan skips those variables.
  void (*for_each_table)(FunctionRef<void(const void* start, std::size_t bytes)> visit) noexcept;
  /// Delivers all queued events; nullptr if events are never queued. The world is stopped.
  void (*flush_queue)() noexcept = nullptr;
  /// Returns the age of a live block in nanoseconds; -1 if it is unknown.
  std::int64_t (*age_ns)(const void* pointer) noexcept = nullptr;
  /// Appends the events logged so far. Returns false if out of memory.
  bool (*cut_log)(LoggedEvents& events) noexcept = nullptr;

  /// Returns whether the thread that causes an event applies it at once, without a queue.
  [[nodiscard]] bool delivers_at_once() const noexcept { return flush_queue == nullptr; }
};

}  // namespace alloctap
