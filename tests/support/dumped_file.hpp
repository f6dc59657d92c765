/// What tests of file outputs write, and look for.
#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "alloctap/dump/impl/outputs.hpp"
#include "alloctap/status.hpp"
#include "tests/support/status_text.hpp"

namespace alloctap::testing {

inline std::string content(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void fill(const std::string& path, std::string_view text) { std::ofstream(path) << text; }

/// How many there are in the directory of `path`, with the one at `path`.
inline std::size_t files_beside(const std::string& path) {
  const std::filesystem::directory_iterator files(std::filesystem::path(path).parent_path());
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

/// A whole dump of one piece.
inline Status dump(FileOutput& output, std::string_view text) {
  if (Status status = output.open(); !status.ok()) return status;
  if (Status status = output.write(text); !status.ok()) return status;
  return output.commit();
}

}  // namespace alloctap::testing
