/// The queue of the object that keeps events too.
#pragma once

#include <alloctap/queue/logging_queue.hpp>
#include <cstdint>

#include "preload/kind_namespace.hpp"

namespace alloctap::run::inline ALLOCTAP_RUN_KIND {

using RunQueue = LoggingQueue<>;

/// Before the tracker starts.
template <class Queue>
void limit_event_log(Queue& queue, std::uint64_t bytes) noexcept {
  queue.log().set_most_bytes(bytes);
}

}  // namespace alloctap::run::inline ALLOCTAP_RUN_KIND
