/// Implements get_malloc_leak_info and free_malloc_leak_info of Android's C library of 2014.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "alloctap/macros.hpp"
#include "alloctap/runtime/arena.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/stack/stack_table.hpp"

namespace alloctap {

/// The live blocks with one stack and one size, in the layout of bionic's malloc_debug of 2014.
struct MallocLeakEntry {
  static constexpr std::size_t kFrames = 32;

  /// Size of each block in bytes.
  std::size_t size = 0;
  std::size_t allocations = 0;
  /// Return addresses, innermost first. Padded with zeros; deeper stacks are truncated.
  std::array<std::uintptr_t, kFrames> frames{};

  [[nodiscard]] std::size_t total_bytes() const noexcept { return size * allocations; }
};
static_assert(sizeof(MallocLeakEntry) == 2 * sizeof(std::size_t) + 32 * sizeof(std::uintptr_t));

/// Appends an entry for each combination of stack and size, ordered by total bytes, then by number
/// of blocks. Requires a snapshot taken with `SnapshotOptions::blocks`. Entries for unknown stacks
/// have no frames. Returns false if out of memory.
[[nodiscard]] inline bool list_malloc_leaks(const Snapshot& snapshot,
                                            ArenaArray<MallocLeakEntry>& entries) noexcept {
  ArenaArray<LiveBlock> blocks;
  if (!blocks.resize(snapshot.blocks.size())) return false;
  std::copy(snapshot.blocks.begin(), snapshot.blocks.end(), blocks.begin());
  std::sort(blocks.begin(), blocks.end(), [](const LiveBlock& a, const LiveBlock& b) {
    return a.stack != b.stack ? a.stack < b.stack : a.size < b.size;
  });
  const LiveBlock* last = nullptr;
  for (const LiveBlock& block : blocks) {
    if (last == nullptr || last->stack != block.stack || last->size != block.size) {
      MallocLeakEntry entry{.size = block.size};
      const auto frames = snapshot.table->frames(block.stack);
      std::copy_n(frames.begin(), std::min(frames.size(), entry.frames.size()),
                  entry.frames.begin());
      if (!entries.push_back(entry)) return false;
    }
    ++entries.back().allocations;
    last = &block;
  }
  std::sort(entries.begin(), entries.end(), [](const MallocLeakEntry& a, const MallocLeakEntry& b) {
    return a.total_bytes() != b.total_bytes() ? a.total_bytes() > b.total_bytes()
                                              : a.allocations > b.allocations;
  });
  return true;
}

/// Implements get_malloc_leak_info and free_malloc_leak_info over a `Tracker`. Lists only recorded
/// (with sampling, only sampled) blocks. Thread-safe; must not be used inside a hook.
template <class Tracker>
struct MallocLeakInfo {
  /// Returns a list of `MallocLeakEntry` in `*info`, which the caller frees with `release`.
  /// `*overall_size` is the list's size in bytes, `*info_size` an entry's size. Each entry has room
  /// for `*backtrace_size` frames. `*total_memory` is the sum of the bytes of all listed blocks.
  /// Sets all results to zero if no block is live or memory ran out. Does nothing if an argument is
  /// nullptr.
  static void get(std::uint8_t** info, std::size_t* overall_size, std::size_t* info_size,
                  std::size_t* total_memory, std::size_t* backtrace_size) noexcept {
    if (info == nullptr || overall_size == nullptr || info_size == nullptr ||
        total_memory == nullptr || backtrace_size == nullptr) {
      return;
    }
    *info = nullptr;
    *overall_size = *info_size = *total_memory = *backtrace_size = 0;
    ArenaArray<MallocLeakEntry> entries;
    const auto snapshot = Tracker::snapshot({.blocks = true});
    if (!snapshot.ok() || !list_malloc_leaks(*snapshot, entries) || entries.empty()) return;
    *info = keep(std::move(entries), *total_memory, *overall_size);
    if (*info == nullptr) return;
    *info_size = sizeof(MallocLeakEntry);
    *backtrace_size = MallocLeakEntry::kFrames;
  }

  /// Frees the list that `get` returned; ignores nullptr.
  static void release(std::uint8_t* info) noexcept {
    if (info == nullptr) return;
    auto* list = reinterpret_cast<List*>(info - sizeof(List));
    const std::size_t bytes = list->bytes;
    Arena::deallocate(list, bytes);
  }

 private:
  /// The header that precedes the entries in memory.
  struct alignas(16) List {
    std::size_t bytes;
  };

  static std::uint8_t* keep(ArenaArray<MallocLeakEntry> entries, std::size_t& total,
                            std::size_t& size) noexcept {
    const std::size_t bytes = sizeof(List) + entries.size() * sizeof(MallocLeakEntry);
    void* memory = Arena::allocate(bytes);
    if (memory == nullptr) return nullptr;
    auto* list = ::new (memory) List{bytes};
    std::copy(entries.begin(), entries.end(), reinterpret_cast<MallocLeakEntry*>(list + 1));
    for (const MallocLeakEntry& entry : entries) total += entry.total_bytes();
    size = bytes - sizeof(List);
    return reinterpret_cast<std::uint8_t*>(list + 1);
  }
};

}  // namespace alloctap

/// Defines `get_malloc_leak_info` and `free_malloc_leak_info` over `Tracker`, for code written for
/// Android. Use it in one source file, outside all namespaces.
#define ALLOCTAP_DEFINE_MALLOC_LEAK_INFO(Tracker)                                              \
  extern "C" {                                                                                 \
  ALLOCTAP_EXPORT void get_malloc_leak_info(std::uint8_t** info, std::size_t* overall_size,    \
                                            std::size_t* info_size, std::size_t* total_memory, \
                                            std::size_t* backtrace_size);                      \
  ALLOCTAP_EXPORT void free_malloc_leak_info(std::uint8_t* info);                              \
  ALLOCTAP_EXPORT void get_malloc_leak_info(std::uint8_t** info, std::size_t* overall_size,    \
                                            std::size_t* info_size, std::size_t* total_memory, \
                                            std::size_t* backtrace_size) {                     \
    ::alloctap::MallocLeakInfo<Tracker>::get(info, overall_size, info_size, total_memory,      \
                                             backtrace_size);                                  \
  }                                                                                            \
  ALLOCTAP_EXPORT void free_malloc_leak_info(std::uint8_t* info) {                             \
    ::alloctap::MallocLeakInfo<Tracker>::release(info);                                        \
  }                                                                                            \
  }                                                                                            \
  static_assert(true, "for the semicolon behind it")
