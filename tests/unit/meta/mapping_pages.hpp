/// Drives a mapping container in pages instead of bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "alloctap/meta/mapping_container.hpp"
#include "alloctap/os/virtual_memory.hpp"

namespace alloctap::testing {

inline constexpr std::uintptr_t kFirstPage = 0x5000'0000'0000;

inline std::size_t pages(std::size_t count) { return count * os::page_size(); }

inline bool map_pages(MappingContainer& container, std::size_t first, std::size_t count,
                      StackId stack) {
  return container.map(kFirstPage + pages(first), pages(count), stack);
}

inline DetachedMappings begin_unmap(MappingContainer& container, std::size_t first,
                                    std::size_t count) {
  return container.begin_unmap(kFirstPage + pages(first), pages(count));
}

inline void unmap(MappingContainer& container, std::size_t first, std::size_t count) {
  DetachedMappings detached = begin_unmap(container, first, count);
  container.finish_unmap(detached);
}

/// A record in pages.
struct Seen {
  std::size_t first = 0;
  std::size_t count = 0;
  StackId stack = 0;
  std::uint64_t order = 0;
  bool operator==(const Seen&) const = default;
};

inline std::vector<Seen> intervals(MappingContainer& container) {
  std::vector<Seen> seen;
  container.for_each([&](const MappingRecord& record) {
    seen.push_back({(record.start - kFirstPage) / pages(1), record.length / pages(1), record.stack,
                    record.order});
  });
  return seen;
}

}  // namespace alloctap::testing
