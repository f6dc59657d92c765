/// What alloctap-convert says of the events of a record.
#pragma once

#include <alloctap/snapshot/snapshot.hpp>
#include <string>

namespace alloctap::run {

struct ReplayText {
  /// Whether all events are there and add up to all numbers.
  bool equal = false;
  /// To follow on the name of the record.
  std::string text;
};

/// Goes through the events of `snapshot` again.
[[nodiscard]] ReplayText replay_text(const Snapshot& snapshot);

}  // namespace alloctap::run
