/// A stack frame in the text format of valgrind's tools.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "alloctap/dump/frame_labels.hpp"

namespace alloctap {

/// The text "0xADDRESS: function (file:line)", or "0xADDRESS: function (in module)" if the file is
/// unknown. The placeholder of an unknown stack has only its label. Text is cut at 4096 bytes.
class ValgrindFrame {
 public:
  ValgrindFrame(const LabelledFrame& frame, const CodeAddress& place) noexcept {
    if (frame.place != LabelledFrame::kNoPlace) {
      append("0x");
      append_number(place.address, 16);
      append(": ");
    }
    append(frame.label);
    if (!frame.file.empty()) {
      append_file(frame);
    } else if (place.module != nullptr) {
      append(" (in ");
      append(place.module->path);
      append(")");
    }
  }

  [[nodiscard]] std::string_view view() const noexcept { return {text_.data(), size_}; }

 private:
  void append_file(const LabelledFrame& frame) noexcept {
    append(" (");
    append(frame.file.substr(frame.file.rfind('/') + 1));
    if (frame.line > 0) {
      append(":");
      append_number(frame.line, 10);
    }
    append(")");
  }

  void append(std::string_view text) noexcept {
    const std::size_t length = std::min(text.size(), text_.size() - size_);
    std::memcpy(text_.data() + size_, text.data(), length);
    size_ += length;
  }

  void append_number(std::uintptr_t number, int base) noexcept {
    std::array<char, 24> digits;
    const char* end = std::to_chars(digits.data(), digits.data() + digits.size(), number, base).ptr;
    append({digits.data(), static_cast<std::size_t>(end - digits.data())});
  }

  std::array<char, 4096> text_;
  std::size_t size_ = 0;
};

}  // namespace alloctap
