/// Those of google-benchmark's options that scripts give.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <regex>
#include <string>
#include <vector>

namespace alloctap::bench {

struct Options {
  std::regex filter{""};
  /// For each case.
  double seconds = 0.1;

  /// Nothing, and a sentence on standard error, where one cannot be understood.
  static std::optional<Options> read(const std::vector<std::string>& arguments) {
    Options options;
    for (const std::string& argument : arguments) {
      if (options.take(argument)) continue;
      std::fprintf(stderr,
                   "stack_capture_bench: cannot take %s; it is one of --benchmark_filter=REGEX, "
                   "--benchmark_min_time=SECONDS, --benchmark_format=json\n",
                   argument.c_str());
      return std::nullopt;
    }
    return options;
  }

 private:
  bool take(const std::string& argument) {
    const std::size_t equals = argument.find('=');
    if (equals == std::string::npos) return false;
    const std::string name = argument.substr(0, equals);
    const std::string value = argument.substr(equals + 1);
    if (name == "--benchmark_filter") return take_filter(value);
    if (name == "--benchmark_min_time") return take_seconds(value);
    return name == "--benchmark_format" && value == "json";
  }

  bool take_filter(const std::string& value) {
    try {
      filter.assign(value);
    } catch (const std::regex_error&) {
      return false;
    }
    return true;
  }

  bool take_seconds(const std::string& value) {
    char* end = nullptr;
    seconds = std::strtod(value.c_str(), &end);
    constexpr double kMaxCount = 3600;
    return !value.empty() && *end == '\0' && seconds > 0 && seconds < kMaxCount;
  }
};

}  // namespace alloctap::bench
