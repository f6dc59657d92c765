// Memory that nobody has touched yet.
#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>

#include "alloctap/os/memory_map.hpp"
#include "alloctap/os/virtual_memory.hpp"

namespace alloctap::testing {

/// Pages that read as zeros, never huge ones: each is there as soon as it was touched, alone.
class UntouchedMemory {
 public:
  explicit UntouchedMemory(std::size_t bytes)
      : bytes_(bytes), begin_(static_cast<std::byte*>(os::map_pages(bytes))) {
    REQUIRE(begin_ != nullptr);
    os::use_huge_pages(begin_, bytes, false);
  }
  UntouchedMemory(const UntouchedMemory&) = delete;
  UntouchedMemory& operator=(const UntouchedMemory&) = delete;
  ~UntouchedMemory() { os::unmap_pages(begin_, bytes_); }

  [[nodiscard]] std::byte* begin() const { return begin_; }

 private:
  std::size_t bytes_;
  std::byte* begin_;
};

/// Whether the system tells which pages were touched.
inline bool tells_untouched() {
  const std::size_t page = os::page_size();
  const UntouchedMemory memory(page);
  const auto start = reinterpret_cast<std::uintptr_t>(memory.begin());
  bool is_found = false;
  os::visit_present_pages(start, start + page, [&](auto, auto) { is_found = true; });
  return !is_found;
}

}  // namespace alloctap::testing
