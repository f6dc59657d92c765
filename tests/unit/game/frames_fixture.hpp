/// What the tests of frames share.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "alloctap/game/frames.hpp"
#include "alloctap/tag/scoped_tags.hpp"
#include "tests/unit/record/recorder_fixture.hpp"

namespace alloctap::testing {

/// Each test has tables, and frames, of its own.
template <class Test>
struct FramesConfig : RecorderConfig<Test> {
  using Tags = ScopedTags;
  using Observers = GameFramesOf<Test>;
};

/// A program whose frames are counted.
template <class Test>
struct Game : Program<FramesConfig<Test>> {
  using Frames = GameFramesOf<Test>;

  static void allocate(std::uintptr_t block, std::size_t size, std::uintptr_t caller = 0x100) {
    const std::array<std::uintptr_t, 2> frames{caller, 0x200};
    ScriptedStack::play(frames);
    Program<FramesConfig<Test>>::allocate(block, size);
  }

  /// So many blocks, from `first` on, 16 bytes apart.
  static void allocate_many(std::uintptr_t first, std::uint32_t count, std::size_t size,
                            std::uintptr_t caller = 0x100) {
    for (std::uint32_t i = 0; i < count; ++i) allocate(first + i * 16, size, caller);
  }
};

/// What `tag` did in a frame; zeros where it did nothing.
inline TagOfFrame tag_of(const Snapshot& snapshot, const FrameSummary& frame, Tag tag) {
  for (std::uint32_t i = 0; i < frame.tag_count; ++i) {
    const TagOfFrame& of_tag = snapshot.frames.tags[frame.first_tag + i];
    if (of_tag.tag == tag.id) return of_tag;
  }
  return {};
}

/// The innermost return address of a stack.
inline std::uintptr_t caller_of(const Snapshot& snapshot, StackId stack) {
  const auto frames = snapshot.table->frames(stack);
  return frames.begin() == frames.end() ? 0 : *frames.begin();
}

}  // namespace alloctap::testing
