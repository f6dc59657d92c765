/// An output that tests look into.
#pragma once

#include <absl/status/status.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "alloctap/dump/dump_output.hpp"

namespace alloctap::testing {

/// Keeps every piece; refuses those after the first `pieces_accepted`.
struct PieceOutput {
  absl::Status open() { return absl::OkStatus(); }
  absl::Status write(std::string_view text) {
    ++writes;
    if (pieces.size() == pieces_accepted) return absl::DataLossError("full");
    pieces.emplace_back(text);
    return absl::OkStatus();
  }
  absl::Status commit() {
    ++commits;
    return absl::OkStatus();
  }

  [[nodiscard]] std::string text() const {
    std::string all;
    for (const std::string& piece : pieces) all += piece;
    return all;
  }

  std::size_t pieces_accepted = SIZE_MAX;
  std::vector<std::string> pieces{};
  int writes = 0;
  int commits = 0;
};

static_assert(DumpOutput<PieceOutput>);

}  // namespace alloctap::testing
