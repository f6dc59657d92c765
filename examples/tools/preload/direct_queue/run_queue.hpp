/// The queue of the object that counts events.
#pragma once

#include <alloctap/queue/direct_queue.hpp>
#include <cstdint>

#include "preload/kind_namespace.hpp"

namespace alloctap::run::inline ALLOCTAP_RUN_KIND {

using RunQueue = DirectQueue;

/// There is no log.
template <class Queue>
void limit_event_log(Queue&, std::uint64_t) noexcept {}

}  // namespace alloctap::run::inline ALLOCTAP_RUN_KIND
