/// A dump in memory.
#pragma once

#include <string_view>

#include "alloctap/dump/dump_output.hpp"
#include "alloctap/guard/arena_array.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// Keeps the text in the arena until it is destroyed. Move-only.
class MemoryOutput {
 public:
  Status open() {
    text_.clear();
    return Status();
  }

  Status write(std::string_view text) {
    while (text_.capacity() - text_.size() < text.size()) {
      if (!text_.reserve(text_.capacity() * 2 + text.size())) {
        return Status::resource_exhausted("dump: the system has no memory to keep it");
      }
    }
    for (const char character : text) static_cast<void>(text_.push_back(character));
    return Status();
  }

  Status commit() { return Status(); }

  /// What was written; valid until the next dump into this output.
  [[nodiscard]] std::string_view text() const noexcept { return {text_.data(), text_.size()}; }

 private:
  ArenaArray<char> text_;
};

static_assert(DumpOutput<MemoryOutput>);

}  // namespace alloctap
