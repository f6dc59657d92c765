/// The dump whose format was named when the program ran.
#pragma once

#include <alloctap/dump/dump_policy.hpp>
#include <alloctap/snapshot/suppressions.hpp>

#include "settings.hpp"

namespace alloctap::run {

/// Stands for the dump policy behind `format`. All of them are compiled once, in a file of their
/// own, for every tracker and output. `suppressions` and `leaks` are theirs.
struct ChosenDump {
  DumpFormat format = format_of<TextDump>;
  const Suppressions* suppressions = nullptr;
  bool leaks = false;

  void write(const Report& report, DumpWriter& writer) const;
};

static_assert(DumpPolicy<ChosenDump>);

}  // namespace alloctap::run
