#include "alloctap/stack/stack_memory.hpp"

#include <doctest/doctest.h>
#include <sys/mman.h>

#include <array>

#include "tests/support/address_of.hpp"

namespace {

using alloctap::CopiedStack;
using alloctap::LiveStack;
using alloctap::testing::address_of;

constexpr std::size_t kPage = 4096;

/// Three pages, of which the middle one may not be read.
class Pages {
 public:
  Pages()
      : start_(static_cast<std::byte*>(
            mmap(nullptr, 3 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    munmap(start_ + kPage, kPage);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() {
    munmap(start_, kPage);
    munmap(start_ + 2 * kPage, kPage);
  }

  [[nodiscard]] std::uintptr_t at(std::size_t offset) const { return address_of(start_) + offset; }
  void write(std::size_t offset, std::uintptr_t word) const {
    *reinterpret_cast<std::uintptr_t*>(start_ + offset) = word;
  }

 private:
  std::byte* start_;
};

}  // namespace

TEST_CASE("words of the live part of a stack are read, and no others") {
  std::array<std::uintptr_t, 8> words{0, 1, 2, 3, 4, 5, 6, 7};
  const std::uintptr_t low = address_of(&words[2]);
  const std::uintptr_t high = address_of(&words[6]);
  LiveStack stack(low, high);
  std::uintptr_t word = 99;
  for (std::size_t i = 2; i < 6; ++i) {
    REQUIRE(stack.read(address_of(&words[i]), word));
    CHECK(word == i);
  }
  word = 99;
  for (const std::uintptr_t outside : {low - 8, high, high + 8, high - 4, low + 1, low + 4,
                                       std::uintptr_t{0}, UINTPTR_MAX, UINTPTR_MAX - 7}) {
    CHECK_FALSE(stack.read(outside, word));
  }
  CHECK(word == 99);
}

TEST_CASE("a caller is read where its frame lies further out in the live part of a stack") {
  std::array<std::uintptr_t, 8> words{0, 1, 2, 3, 4, 5, 6, 7};
  const auto at = [&](std::size_t i) { return address_of(words.data()) + i * 8; };
  const LiveStack stack(at(2), at(6));
  std::uintptr_t pc = 0;
  std::uintptr_t fp = 0;
  // Return address and frame pointer of a frame that begins at the third word and ends at the
  // sixth.
  REQUIRE(stack.read_caller(at(2), at(5), at(4), at(3), pc, fp));
  CHECK(pc == 4);
  CHECK(fp == 3);
  REQUIRE(stack.read_caller(at(2), at(6), at(5), at(2), pc, fp));
  CHECK(pc == 5);
  CHECK(fp == 2);
  CHECK(stack.ends_at(at(6)));
  CHECK_FALSE(stack.ends_at(at(5)));
  const auto refuses = [&](std::uintptr_t sp, std::uintptr_t cfa, std::uintptr_t fp_place) {
    return !stack.read_caller(sp, cfa, cfa - 8, fp_place, pc, fp);
  };
  CHECK(refuses(at(4), at(4), at(3)));
  CHECK(refuses(at(4), at(3), at(3)));
  CHECK(refuses(at(2), at(7), at(3)));
  CHECK(refuses(at(2), UINTPTR_MAX - 7, at(3)));
  CHECK(refuses(at(2), 0, at(3)));
  CHECK(refuses(at(2), at(5) + 4, at(3) + 4));
  CHECK(refuses(at(3), at(5), at(1)));
  CHECK(refuses(at(3), at(5), 0));
  CHECK(pc == 5);
  CHECK(fp == 2);
}

TEST_CASE("words are read anywhere as copies, and what is not mapped is noticed") {
  const Pages pages;
  CopiedStack stack;
  std::uintptr_t word = 99;
  pages.write(8, 1);
  pages.write(kPage - 8, 2);
  pages.write(2 * kPage, 3);
  REQUIRE(stack.read(pages.at(8), word));
  CHECK(word == 1);
  REQUIRE(stack.read(pages.at(kPage - 8), word));
  CHECK(word == 2);
  REQUIRE(stack.read(pages.at(2 * kPage), word));
  CHECK(word == 3);
  for (const std::uintptr_t unreadable :
       {pages.at(kPage), pages.at(2 * kPage - 8), pages.at(kPage - 4), pages.at(9),
        std::uintptr_t{0}, std::uintptr_t{8}, UINTPTR_MAX - 7, std::uintptr_t{1} << 63U}) {
    CHECK_FALSE(stack.read(unreadable, word));
  }
  REQUIRE(stack.read(pages.at(8), word));
  CHECK(word == 1);
}

TEST_CASE("a copy is of one moment until it is forgotten") {
  const Pages pages;
  CopiedStack stack;
  std::uintptr_t word = 0;
  pages.write(16, 1);
  REQUIRE(stack.read(pages.at(16), word));
  pages.write(16, 2);
  REQUIRE(stack.read(pages.at(16), word));
  CHECK(word == 1);
  stack.forget();
  REQUIRE(stack.read(pages.at(16), word));
  CHECK(word == 2);
}
