// What a capture of a made-up stack keeps between its calls.
#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "alloctap/os/memory_map.hpp"
#include "alloctap/stack/chain_walk.hpp"
#include "tests/unit/stack/stack_model.hpp"

namespace alloctap::testing {

/// A chain, brought up to date by walks over a model.
struct KeptChain {
  using Walk = ChainWalk<ModelRules>;
  static constexpr std::size_t kMaxCount = 64;

  KeptChain() {
    REQUIRE(chain.reserve(Walk::chain_frames_for(kMaxCount)));
    REQUIRE(walked.reserve(Walk::walked_frames_for(kMaxCount)));
  }
  ~KeptChain() {
    chain.release();
    walked.release();
  }
  KeptChain(const KeptChain&) = delete;
  KeptChain& operator=(const KeptChain&) = delete;

  UnwindOutcome walk(const StackModel& model, std::size_t most) {
    return walk(model, model.leaf(), most);
  }
  UnwindOutcome walk(const StackModel& model, const UnwindFrame& leaf, std::size_t most) {
    const os::StackBounds bounds = model.bounds();
    walked_over = 0;
    const ModelRules rules{.asked = &walked_over, .without_tables = without_tables};
    return Walk(chain, walked, bounds, most, rules).walk_from(leaf);
  }

  /// The innermost frames of the chain, leaf first, at most `most`.
  [[nodiscard]] std::vector<std::uintptr_t> innermost(std::size_t most) const {
    std::vector<std::uintptr_t> pcs;
    for (std::size_t i = chain.size(); i > 0 && pcs.size() < most; --i) {
      pcs.push_back(chain.pc(i - 1));
    }
    return pcs;
  }

  CachedFrameChain chain;
  UnwindBuffer walked;
  /// `ModelRules::without_tables`.
  bool without_tables = false;
  /// How many frames the last walk had to ask the rules of.
  std::size_t walked_over = 0;
};

}  // namespace alloctap::testing
