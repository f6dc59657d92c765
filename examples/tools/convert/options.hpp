/// The command line of alloctap-convert.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "alloctap/status.hpp"
#include "settings.hpp"

namespace CLI {
class App;
}

namespace alloctap::run {

/// What stands on the command line.
struct ConvertTexts {
  std::vector<std::string> files;
  std::vector<std::string> outputs;
  bool replay = false;
};

/// Adds the options, whose values go to `texts`.
void describe(CLI::App& app, ConvertTexts& texts);

struct ConvertOptions {
  struct Target {
    DumpFormat format = format_of<TextDump>;
    std::string path;
  };

  std::string record;
  std::vector<Target> targets;
  /// Whether to replay its events.
  bool replay = false;
  /// What to print instead of converting anything; empty otherwise.
  std::string answer;
};

/// Of a command line that asks for nothing sensible, the error says what to write.
[[nodiscard]] Result<ConvertOptions> parse_convert_options(std::span<char*> arguments);

}  // namespace alloctap::run
