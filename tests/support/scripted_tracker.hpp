/// Trackers that tests tell what happens, stack by stack.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <utility>

#include "alloctap/impl/tracker.hpp"
#include "alloctap/message_text.hpp"
#include "alloctap/queue/buffer_queue.hpp"
#include "tests/support/block_at.hpp"
#include "tests/support/fakes.hpp"
#include "tests/support/status_text.hpp"

namespace alloctap::testing {

/// Each `Test` has a tracker of its own.
template <class Test>
struct ScriptedConfig : DefaultConfig {
  using Hook = ManualHook<Test>;
  using Stack = ScriptedStack;
};

template <class Test>
struct BufferedScriptedConfig : ScriptedConfig<Test> {
  using Queue = BufferQueue;
};

template <class Tracker>
[[nodiscard]] Session started() {
  auto session = Tracker::start();
  CAPTURE(to_string(session.status()));
  REQUIRE(session.ok());
  return *std::move(session);
}

template <class Tracker>
[[nodiscard]] Snapshot snapshot_of() {
  auto snapshot = Tracker::snapshot();
  REQUIRE(snapshot.ok());
  return *std::move(snapshot);
}

}  // namespace alloctap::testing
