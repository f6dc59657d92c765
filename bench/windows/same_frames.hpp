/// Whether all ways to walk a stack find the same frames.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <vector>

#include "bench/capture_patterns.hpp"

namespace alloctap::bench {

/// A way to write the frames of its caller, and those outside.
struct FrameWriter {
  std::string_view name;
  std::uint32_t (*capture)(ThreadState& thread);
};

/// Tells on standard error of each writer that finds other frames than the first one does, or fewer
/// than there are: who ends early is no peer.
class SameFrames {
 public:
  /// Whether there is none, `depth` frames deep.
  static bool check(const std::vector<FrameWriter>& writers, std::uint32_t depth) {
    std::vector<std::vector<std::uintptr_t>> found;
    std::uint32_t there = 0;
    // Each is called from the same place, so the innermost frame is the same too.
    const auto below = [&](std::uint32_t frames) {
      there = frames;
      for (const FrameWriter& writer : writers) {
        ThreadState& thread = *ThreadStates::mine();
        const std::uint32_t captured = writer.capture(thread);
        found.emplace_back(thread.frames, thread.frames + captured);
      }
    };
    AtDepth<decltype(below)>::run(depth, below);
    bool same = true;
    for (std::size_t i = 0; i < writers.size(); ++i) {
      if (found[i] == found[0] && found[i].size() >= there) continue;
      complain(writers[i].name, found[i], found[0], there);
      same = false;
    }
    return same;
  }

 private:
  static void complain(std::string_view name, const std::vector<std::uintptr_t>& found,
                       const std::vector<std::uintptr_t>& wanted, std::uint32_t there) {
    const auto [mine, theirs] =
        std::mismatch(found.begin(), found.end(), wanted.begin(), wanted.end());
    std::fprintf(
        stderr,
        "stack_capture_bench: %.*s finds %zu frames where there are at least %u; the first "
        "%td are as the first way finds them\n",
        static_cast<int>(name.size()), name.data(), found.size(), there, mine - found.begin());
  }
};

}  // namespace alloctap::bench
