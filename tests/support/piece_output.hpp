/// An output that tests look into.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "alloctap/dump/outputs.hpp"
#include "alloctap/status.hpp"

namespace alloctap::testing {

/// Keeps every piece; refuses those after the first `pieces_accepted`.
struct PieceOutput {
  Status open() { return Status(); }
  Status write(std::string_view text) {
    ++writes;
    if (pieces.size() == pieces_accepted) return Status::data_loss("full");
    pieces.emplace_back(text);
    return Status();
  }
  Status commit() {
    ++commits;
    return Status();
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
