/// Threads in schema alloctap.heap/1.
#pragma once

#include <cstdint>
#include <optional>

#include "alloctap/dump/json_builder.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/snapshot/thread_summary.hpp"

namespace alloctap {

/// Writes `threads` as an array.
inline void write_threads(JsonBuilder& json, const ArenaArray<ThreadSummary>& threads) {
  json.begin_array();
  for (const ThreadSummary& thread : threads) {
    json.begin_object();
    json.number("id", static_cast<std::uint64_t>(thread.thread_id));
    json.key("name");
    json.string_or_null(thread.name());
    json.key("alive");
    json.value(thread.alive);
    json.number("threads", thread.threads);
    json.number("allocations", thread.total.allocations);
    json.number("allocated_bytes", thread.total.allocated_bytes);
    json.number("temporary_allocations", thread.total.temporary_allocations);
    json.number("deallocations", thread.deallocations);
    json.key("net_bytes");
    json.value(thread.net_bytes);
    const auto& holding = thread.holding;
    using Number = std::optional<std::uint64_t>;
    json.key("live_allocations");
    json.value_or_null(holding ? Number(holding->live_allocations) : Number());
    json.key("live_bytes");
    json.value_or_null(holding ? Number(holding->live_bytes) : Number());
    json.end_object();
  }
  json.end_array();
}

}  // namespace alloctap
