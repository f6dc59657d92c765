/// Memory that is not there, for scans.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "alloctap/meta/mapping_container.hpp"
#include "alloctap/snapshot/reach/block_index.hpp"

namespace alloctap::testing {

/// A `MemoryImage`: words at addresses; what was not written is 0.
class MadeUpMemory {
 public:
  void write(std::uintptr_t address, std::uintptr_t word) { words_[address] = word; }

  template <class Visit>
  void visit_words(AddressRange range, Visit&& visit) {
    for (auto at = words_.lower_bound(range.start); at != words_.end() && at->first < range.end;
         ++at) {
      visit(std::span<const std::uintptr_t>(&at->second, 1));
    }
  }

 private:
  std::map<std::uintptr_t, std::uintptr_t> words_;
};

/// Blocks of 64 bytes, one behind the other, that point at each other.
struct MadeUpHeap {
  static constexpr std::uintptr_t kStart = 0x7f00'0000'0000;
  static constexpr std::size_t kBlockBytes = 64;
  static constexpr std::uintptr_t kRoots = 0x1000;

  explicit MadeUpHeap(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) blocks.push_back({address(i), kBlockBytes, 1});
  }

  static std::uintptr_t address(std::size_t block) { return kStart + block * 2 * kBlockBytes; }

  /// The word with that number in `from` points at `to`.
  void link(std::size_t from, std::size_t to, std::size_t word = 0) {
    memory.write(address(from) + word * sizeof(std::uintptr_t), address(to));
  }

  std::vector<ScannedBlock> blocks;
  MadeUpMemory memory;
};

}  // namespace alloctap::testing
