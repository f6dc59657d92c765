/// Leaks of a test case, and their description as text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "alloctap/dump/named_stacks.hpp"
#include "alloctap/testing/counted_stack.hpp"

namespace alloctap::testing {

/// A copy of a `NamedFrame` that owns its strings.
struct FrameText {
  std::string function = {};
  std::string module = {};
  std::string file = {};
  std::uint32_t line = 0;
  std::uint64_t offset = 0;
};

[[nodiscard]] inline std::vector<FrameText> copy_frames(std::span<const NamedFrame> frames) {
  std::vector<FrameText> texts;
  for (const NamedFrame& frame : frames) {
    texts.push_back({.function = std::string(frame.function),
                     .module = std::string(frame.module_name()),
                     .file = std::string(frame.file),
                     .line = frame.line,
                     .offset = frame.offset});
  }
  return texts;
}

/// Returns "function   file:line"; if the file is unknown, "function   module+0x12ab".
[[nodiscard]] inline std::string to_text(const FrameText& frame) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text = frame.function.empty() ? "??" : frame.function;
  if (!frame.file.empty()) {
    text += "   " + frame.file;
    return frame.line == 0 ? text : text + ":" + std::to_string(frame.line);
  }
  std::string digits;
  for (std::uint64_t rest = frame.offset; rest > 0; rest /= 16) {
    digits.insert(digits.begin(), kDigits[rest % 16]);
  }
  return text + "   " + (frame.module.empty() ? "" : frame.module + "+") + "0x" +
         (digits.empty() ? "0" : digits);
}

/// Leaked blocks of one stack.
struct LeakedStack {
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
  /// The part of the case that allocated the blocks, such as "outer/inner"; empty if the blocks
  /// were allocated outside of parts.
  std::string part;
  /// Frames of the allocation, leaf first, without the framework's frames that run the test.
  std::vector<FrameText> frames;
};

/// A test case that leaked blocks at equal stacks in both runs.
struct LeakedCase {
  std::string name;
  /// Sorted by bytes, largest first.
  std::vector<LeakedStack> stacks;
};

/// Returns "64 bytes in 2 blocks".
[[nodiscard]] inline std::string count_text(std::uint64_t bytes, std::uint64_t blocks) {
  return count_text(bytes, "byte") + " in " + count_text(blocks, "block");
}

/// Returns a multi-line description of the leaks and their stacks.
[[nodiscard]] inline std::string to_text(const LeakedCase& leaked) {
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
  for (const LeakedStack& stack : leaked.stacks) {
    blocks += stack.blocks;
    bytes += stack.bytes;
  }
  std::string text =
      "\"" + leaked.name + "\" leaks " + count_text(bytes, blocks) + " each time it runs\n";
  for (const LeakedStack& stack : leaked.stacks) {
    text += "  " + count_text(stack.bytes, stack.blocks);
    text += stack.part.empty() ? ", allocated by\n" : ", allocated in \"" + stack.part + "\" by\n";
    for (const FrameText& frame : stack.frames) text += "    " + to_text(frame) + "\n";
    if (stack.frames.empty()) text += "    (stack unknown)\n";
  }
  return text;
}

}  // namespace alloctap::testing
