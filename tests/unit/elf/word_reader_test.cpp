#include <doctest/doctest.h>

#include <cstdint>

#include "alloctap/elf/byte_reader.hpp"

namespace {

using alloctap::elf::WordReader;
using alloctap::elf::WordReaderRef;

struct CountingReader {
  bool operator()(std::uintptr_t address, std::uintptr_t& word) noexcept {
    ++calls;
    word = address + 1;
    return address != 0;
  }
  int calls = 0;
};

static_assert(WordReader<CountingReader>);
static_assert(WordReader<WordReaderRef>);

TEST_CASE("a reference to a reader reads by that very reader") {
  CountingReader reader;
  const WordReaderRef ref = reader;
  const WordReaderRef copy = ref;
  std::uintptr_t word = 0;
  CHECK(ref(0x1000, word));
  CHECK(word == 0x1001);
  CHECK_FALSE(copy(0, word));
  CHECK(reader.calls == 2);
}

TEST_CASE("a constant reader may be referred to") {
  const auto reader = [](std::uintptr_t, std::uintptr_t& word) noexcept {
    word = 7;
    return true;
  };
  std::uintptr_t word = 0;
  CHECK(WordReaderRef(reader)(0x1000, word));
  CHECK(word == 7);
}

}  // namespace
