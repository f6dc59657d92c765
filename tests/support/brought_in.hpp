// What of the memory that is asked for is there before it is touched.
#pragma once

#include <doctest/doctest.h>

#include <cstddef>

#include "alloctap/os/virtual_memory.hpp"
#include "tests/support/process_memory.hpp"

namespace alloctap::testing {

/// By how many bytes the resident memory of this process grows while `work` runs. Sanitizers take
/// and give back a few pages meanwhile.
template <class Work>
std::ptrdiff_t resident_growth(Work&& work) {
  const auto before = static_cast<std::ptrdiff_t>(process_memory().resident);
  work();
  return static_cast<std::ptrdiff_t>(process_memory().resident) - before;
}

/// What the system brings in of so many bytes: about all, or about none where it cannot.
inline std::ptrdiff_t brought_in_of(std::size_t bytes) {
  void* const pages = os::map_pages(bytes);
  REQUIRE(pages != nullptr);
  const std::ptrdiff_t grown = resident_growth([&] { os::bring_in_pages(pages, bytes); });
  os::unmap_pages(pages, bytes);
  return grown;
}

}  // namespace alloctap::testing
