#include "alloctap/hook/windows/aligned_functions.hpp"

#include <doctest/doctest.h>

#include <cstdint>

#include "alloctap/hook/windows/checked_blocks.hpp"

namespace {

using namespace alloctap;

AlignedRequest offset_request(std::size_t size, std::size_t alignment, std::size_t offset) {
  return crt::AlignedOffsetMalloc::request(size, alignment, offset);
}

}  // namespace

TEST_CASE("what the library complains of is not valid, and what it has otherwise is not plain") {
  CHECK(offset_request(10, 64, 0).is_plain());
  CHECK(offset_request(0, 0, 0).is_plain());
  CHECK(offset_request(100, 32, 64).is_plain());
  CHECK_FALSE(offset_request(10, 48, 0).is_valid());
  CHECK_FALSE(offset_request(10, 8, 10).is_valid());
  CHECK(offset_request(100, 64, 32).is_valid());
  CHECK_FALSE(offset_request(100, 64, 32).is_plain());
  // It aligns to a pointer's size at least.
  CHECK_FALSE(offset_request(100, 1, 4).is_plain());
  CHECK_FALSE(offset_request(SIZE_MAX - 100, 64, 0).is_plain());
}

TEST_CASE("a block of many is zeroed, and too many are more than there can be") {
  const AlignedRequest request = crt::AlignedRecalloc::request(nullptr, 30, 10, 64);
  CHECK(request.size == 300);
  CHECK(request.is_zeroed);
  CHECK(crt::AlignedRecalloc::request(nullptr, 5, 0, 64).size == 0);
  CHECK_FALSE(crt::AlignedRecalloc::request(nullptr, SIZE_MAX / 2, 4, 64).is_plain());
  CHECK(crt::AlignedOffsetRecalloc::request(nullptr, 30, 10, 64, 8).offset == 8);
}

TEST_CASE("aligned memory tells the block that it was cut from, and nobody else does so") {
  alignas(16) static std::byte heap[4096];
  for (const std::size_t alignment : {8U, 16U, 64U, 1024U}) {
    CAPTURE(alignment);
    std::size_t asked = 0;
    void* const memory = WindowsAlignedMemory::allocate(100, alignment, [&](std::size_t bytes) {
      asked = bytes;
      return static_cast<void*>(heap);
    });
    CHECK(reinterpret_cast<std::uintptr_t>(memory) % alignment == 0);
    CHECK(static_cast<std::byte*>(memory) + 100 <= heap + asked);
    CHECK(WindowsAlignedMemory::block_of(memory) == heap);
    CHECK(WindowsAlignedMemory::librarys_word(memory) != reinterpret_cast<std::uintptr_t>(heap));
  }
  CHECK(WindowsAlignedMemory::allocate(100, 64, [](std::size_t) -> void* { return nullptr; }) ==
        nullptr);
}

TEST_CASE("what the library notes in front of a block of its own is read where it can be") {
  alignas(64) static std::uintptr_t words[16] = {};
  words[7] = 0x1230;
  CHECK(WindowsAlignedMemory::librarys_word(&words[8]) == 0x1230);
  CHECK(WindowsAlignedMemory::librarys_word(reinterpret_cast<const std::byte*>(&words[8]) + 5) ==
        0x1230);
  CHECK(WindowsAlignedMemory::librarys_word(nullptr) == 0);
  CHECK(WindowsAlignedMemory::librarys_word(reinterpret_cast<const void*>(std::uintptr_t{16})) ==
        0);
}
