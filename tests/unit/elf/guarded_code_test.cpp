#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "alloctap/elf/module_code.hpp"

namespace {

using namespace alloctap;

/// A note of type NT_GNU_PROPERTY_TYPE_0 with these words for properties.
std::vector<std::uint32_t> note_of(const std::vector<std::uint32_t>& properties) {
  constexpr std::uint32_t kGnu = 0x00554E47;
  std::vector<std::uint32_t> words{4, static_cast<std::uint32_t>(properties.size() * 4), 5, kGnu};
  words.insert(words.end(), properties.begin(), properties.end());
  return words;
}

bool promises(const std::vector<std::uint32_t>& words) {
  return elf::promises_landing_pads(std::as_bytes(std::span(words)));
}

constexpr std::uint32_t kFeatures = 0xC0000000;
constexpr std::uint32_t kStackSize = 1;

}  // namespace

TEST_CASE("a module promises landing pads by a bit of a property, wherever that stands") {
  CHECK(promises(note_of({kFeatures, 4, 1, 0})));
  CHECK(promises(note_of({kFeatures, 4, 3, 0})));
  CHECK(promises(note_of({kStackSize, 8, 1, 1, kFeatures, 4, 1, 0})));
  CHECK_FALSE(promises(note_of({kFeatures, 4, 2, 0})));
  CHECK_FALSE(promises(note_of({kStackSize, 8, 1, 1})));
}

TEST_CASE("a property note that ends too early promises nothing") {
  CHECK_FALSE(promises({}));
  CHECK_FALSE(promises(note_of({})));
  CHECK_FALSE(promises(note_of({kFeatures})));
  CHECK_FALSE(promises(note_of({kFeatures, 4})));
  CHECK_FALSE(promises(note_of({kStackSize, 0xFFFFFFFF, kFeatures, 4, 1, 0})));
}

TEST_CASE("code that nobody loaded is not known to be guarded") {
  int local = 0;
  CHECK_FALSE(elf::has_guarded_code(reinterpret_cast<std::uintptr_t>(&local)));
}
