/// What is said of a fault when it is found.
#pragma once

#include <alloctap/check/misuse.hpp>
#include <string_view>

#include "preload/final_report.hpp"
#include "preload/run_suppressions.hpp"

namespace alloctap::run {

/// Tells standard error what `misuse` is, in a line; the rest is the report's. Says nothing where
/// there are rules about faults: names are known to the report alone. Runs inside malloc.
inline void print_misuse(const Misuse& misuse) noexcept {
  if (has_misuse_rules()) return;
  const std::string_view kind = alloctap::name_of(misuse);
  char line[80];
  std::size_t length = kind.copy(line, sizeof line);
  constexpr std::string_view kRest = "; the report tells of it";
  length += kRest.copy(line + length, sizeof line - length);
  print_line({line, length});
}

}  // namespace alloctap::run
