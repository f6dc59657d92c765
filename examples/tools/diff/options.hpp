/// The command line of alloctap-diff.
#pragma once

#include <alloctap/snapshot/profile_diff.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "alloctap/status.hpp"

namespace CLI {
class App;
}

namespace alloctap::run {

/// As they stand on the command line: CLI11 would give some of them a meaning.
struct DiffTexts {
  std::vector<std::string> files;
  std::string allow;
  std::string match;
  std::string most;
  std::string page;
};

/// Adds the options, whose values go to `texts`.
void describe(CLI::App& app, DiffTexts& texts);

struct DiffOptions {
  std::string before;
  std::string after;
  /// How many bytes more may be live; nothing: as many as there are.
  std::optional<std::uint64_t> allowed_growth;
  StackMatch match = StackMatch::kPlaces;
  /// How many stacks are shown in each list.
  std::size_t most_stacks = 20;
  /// Where a page goes; empty: nowhere.
  std::string page;
  /// The answer to --help or --version; where there is one, nothing is to be compared.
  std::string answer;
};

/// The error names the value and the remedy.
[[nodiscard]] Result<DiffOptions> parse_diff_options(std::span<char*> arguments);

}  // namespace alloctap::run
