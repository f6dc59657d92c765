/// A directory in which programs run under alloctap-run.exe.
#pragma once

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/temporary_directory.hpp"
#include "tests/support/windows/piped_program.hpp"

namespace alloctap::testing {

inline const std::string kRun = ALLOCTAP_RUN;
inline const std::string kProgram = ALLOCTAP_RUN_PROGRAM;

class Workplace {
 public:
  /// alloctap-run with these options in front of the program and its arguments.
  [[nodiscard]] PipedOutcome run(const std::string& options, const std::string& arguments) const {
    return start(options, arguments).finish();
  }
  [[nodiscard]] PipedProgram start(const std::string& options, const std::string& arguments) const {
    return {'"' + kRun + "\" " + options + " \"" + kProgram + "\" " + arguments,
            directory_.file(".")};
  }
  [[nodiscard]] std::string file(const std::string& name) const { return directory_.file(name); }
  /// Reports of all processes.
  [[nodiscard]] std::vector<nlohmann::json> reports() const {
    std::vector<nlohmann::json> all;
    for (const auto& entry : std::filesystem::directory_iterator(file("."))) {
      if (entry.path().extension() == ".json")
        all.push_back(json(entry.path().filename().string()));
    }
    return all;
  }
  [[nodiscard]] nlohmann::json json(const std::string& name) const {
    std::ifstream stream(file(name));
    CAPTURE(name);
    REQUIRE(stream.good());
    return nlohmann::json::parse(stream);
  }

 private:
  TemporaryDirectory directory_;
};

}  // namespace alloctap::testing
