/// Text labels for the frames of stacks, also in the text format of valgrind's tools.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "alloctap/dump/named_stacks.hpp"
#include "alloctap/event/stack_identity.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/text_bytes.hpp"
#include "alloctap/runtime/text_pool.hpp"

namespace alloctap {

/// A function in a stack, as most formats show it.
struct LabelledFrame {
  /// The function's name. If unknown, "module+0xoffset", or "0xaddress" outside all modules.
  std::string_view label;
  /// The source file; empty if unknown.
  std::string_view file = {};
  /// The source line, counted from 1; 0 if unknown.
  std::uint32_t line = 0;
  /// Whether the function is inlined into that of the next frame, which has the same `place`.
  bool inlined = false;
  /// The call's number in the `FrameList`, or `kNoPlace` for the placeholder of a stack without
  /// frames.
  std::size_t place = kNoPlace;

  static constexpr std::size_t kNoPlace = ~std::size_t{0};
};

/// The labelled frames of a report's stacks. A stack without frames has one placeholder. Its label
/// says why the frames are missing. Uses arena memory. The report must outlive this object.
class FrameLabels {
 public:
  explicit FrameLabels(const Report& report) noexcept : report_(report), list_(report) {
    complete_ = list_.complete() && starts_.reserve(list_.size() + 1);
    for (std::size_t i = 0; complete_ && i < list_.size(); ++i) add_place(i);
    complete_ = complete_ && starts_.push_back(frames_.size());
  }

  /// Returns false if memory for the frames ran out. No other member may then be called.
  [[nodiscard]] bool complete() const noexcept { return complete_; }

  [[nodiscard]] const FrameList& list() const noexcept { return list_; }

  /// Returns the functions at the address of call number `place`: inlined functions, innermost
  /// first, then the function that contains them. Never empty.
  [[nodiscard]] std::span<const LabelledFrame> at(std::size_t place) const noexcept {
    return {frames_.data() + starts_[place], starts_[place + 1] - starts_[place]};
  }

  /// Returns the number of labelled frames, not counting placeholders.
  [[nodiscard]] std::size_t size() const noexcept { return frames_.size(); }

  /// Returns the index of `frame`, a frame from `at` or a visit, but not a placeholder.
  [[nodiscard]] std::size_t index_of(const LabelledFrame& frame) const noexcept {
    return static_cast<std::size_t>(&frame - frames_.data());
  }

  /// Calls `visit(const LabelledFrame&)` for each frame of `stack`, from the allocation outward.
  template <class Visit>
  void visit_leaf_first(StackId stack, Visit&& visit) const {
    const auto calls = report_.snapshot.table->frames(stack);
    if (calls.empty()) return visit(stand_in(stack));
    for (const std::uintptr_t call : calls) {
      for (const LabelledFrame& frame : at(list_.index_of(stack, call))) visit(frame);
    }
  }

  /// Calls `visit(const LabelledFrame&)` for each frame of `stack`, from the thread's start inward.
  template <class Visit>
  void visit_root_first(StackId stack, Visit&& visit) const {
    const auto calls = report_.snapshot.table->frames(stack);
    if (calls.empty()) return visit(stand_in(stack));
    for (std::size_t i = calls.size(); i-- > 0;) {
      const auto frames = at(list_.index_of(stack, calls[i]));
      for (std::size_t j = frames.size(); j-- > 0;) visit(frames[j]);
    }
  }

 private:
  static LabelledFrame stand_in(StackId stack) noexcept {
    return {.label = stack == kStackNotTaken ? "[size outside the range]" : "[stack unknown]"};
  }

  void add_place(std::size_t place) noexcept {
    complete_ = starts_.push_back(frames_.size());
    const auto source = list_.source(place);
    if (source.empty()) add({.label = nameless(place), .place = place});
    for (std::size_t i = 0; i < source.size(); ++i) {
      const bool named = !source[i].function.empty();
      add({.label = named ? source[i].function : nameless(place),
           .file = source[i].file,
           .line = source[i].line,
           .inlined = i + 1 < source.size(),
           .place = place});
    }
  }

  void add(const LabelledFrame& frame) noexcept {
    complete_ = complete_ && !frame.label.empty() && frames_.push_back(frame);
  }

  std::string_view nameless(std::size_t place) noexcept {
    const auto [address, module] = list_.place(place);
    constexpr std::size_t kLongestFile = 256;
    char text[kLongestFile + 32];
    char* end = text;
    const auto append = [&](std::string_view part) {
      std::memcpy(end, part.data(), part.size());
      end += part.size();
    };
    if (module != nullptr) {
      append(cut_text(module->path.substr(module->path.rfind('/') + 1), kLongestFile));
      append("+");
    }
    append("0x");
    const std::uintptr_t number = module == nullptr ? address : address - module->bias;
    end = std::to_chars(end, text + sizeof text, number, 16).ptr;
    return texts_.keep({text, static_cast<std::size_t>(end - text)});
  }

  const Report& report_;
  FrameList list_;
  ArenaArray<LabelledFrame> frames_;
  /// For each call number of `list_`, the index in `frames_` of the call's first frame. One more
  /// element, `frames_.size()`, ends the range of the last call.
  ArenaArray<std::size_t> starts_;
  TextPool texts_;
  bool complete_ = true;
};

/// A frame as valgrind's tools write it: "0xADDRESS: function (file:line)", or "0xADDRESS: function
/// (in module)" if the file is unknown. The placeholder of an unknown stack has only its label.
/// Text is cut at 4096 bytes.
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
