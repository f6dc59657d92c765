#pragma once

#include <fstream>
#include <iterator>
#include <string>

namespace alloctap::testing {

/// All of the file, empty if it cannot be read.
[[nodiscard]] inline std::string file_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace alloctap::testing
