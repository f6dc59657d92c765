/// A small report with tags and threads, for tests of dumps.
#pragma once

#include <memory>

#include "tests/support/sample_report.hpp"

namespace alloctap::testing {

/// Beside the sample's stacks, which nobody owns: one in Game/Physics, and two of the same frames
/// in Game/Sound/Voice, one of them of the first thread.
class TaggedReport : public SampleReport {
 public:
  TaggedReport() {
    game = tags->find_or_add(kNoTag, "Game");
    physics = tags->find_or_add(game, "Physics");
    voice = tags->find_or_add(tags->find_or_add(game, "Sound"), "Voice");
    static_cast<void>(tags->find_or_add(kNoTag, "Unused"));
    snapshot.tags = tags.get();
    add({intern({kMain + 1}, {.tag = physics}), {10, 1000, 1}, 2, 200});
    add({intern({kMain + 1}, {.tag = voice}), {20, 2000, 2}, 3, 300});
    add({intern({kMain + 1}, {.tag = voice, .thread = 1}), {30, 3000, 3}, 0, 0});
    snapshot.threads[0].number = 1;
    snapshot.threads[0].holding = {{.live_allocations = 0, .live_bytes = 0}};
    snapshot.threads[1].number = 2;
    snapshot.threads[1].holding = {{.live_allocations = 1, .live_bytes = 8}};
  }

  /// The second thread gave back what the first had allocated, and what nobody knows who had.
  void hand_over() {
    snapshot.freed.knowledge = FreedKnowledge::kAll;
    const StackId voices = intern({kMain + 1}, {.tag = voice, .thread = 1});
    static_cast<void>(snapshot.freed.blocks.push_back({voices, 1, 30, 3000}));
    static_cast<void>(snapshot.freed.blocks.push_back({voices, 0, 2, 200}));
    static_cast<void>(snapshot.freed.blocks.push_back({kUnknownStack, 1, 1, 7}));
  }

  std::unique_ptr<TagTable> tags = std::make_unique<TagTable>();
  TagId game = kNoTag;
  TagId physics = kNoTag;
  TagId voice = kNoTag;
};

}  // namespace alloctap::testing
