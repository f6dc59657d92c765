#include <doctest/doctest.h>
#include <sys/mman.h>

#include <array>
#include <cstdlib>
#include <vector>

#include "alloctap/hook/plt/pass.hpp"

namespace {

using namespace alloctap;

/// Three pages of words, of which the second may only be read.
class Pages {
 public:
  static constexpr std::size_t kWords = 4096 / sizeof(std::uintptr_t);

  Pages() {
    words_ =
        static_cast<std::uintptr_t*>(mmap(nullptr, std::size_t{3} * 4096, PROT_READ | PROT_WRITE,
                                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (words_ == MAP_FAILED) std::abort();
    for (std::size_t i = 0; i < 3 * kWords; ++i) words_[i] = i;
    if (mprotect(words_ + kWords, 4096, PROT_READ) != 0) std::abort();
  }
  ~Pages() { munmap(words_, std::size_t{3} * 4096); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  std::uintptr_t address(std::size_t word) const {
    return reinterpret_cast<std::uintptr_t>(words_ + word);
  }
  std::uintptr_t operator[](std::size_t word) const { return words_[word]; }
  bool is_writable(std::size_t word) const {
    return MemoryRegions::read().find(address(word))->writable;
  }

 private:
  std::uintptr_t* words_;
};

/// Which of `stores` were made, by address.
std::vector<bool> write(std::vector<SlotStore> stores) {
  const MemoryRegions regions = MemoryRegions::read();
  std::vector<bool> made;
  SlotWriter(regions).write(stores, [&](const SlotStore&, bool stored) { made.push_back(stored); });
  return made;
}

}  // namespace

TEST_CASE(
    "words are written where they may be and where they may not, and pages stay as they were") {
  const Pages pages;
  constexpr std::size_t kProtected = Pages::kWords + 3;
  constexpr std::size_t kBehind = 2 * Pages::kWords + 1;
  CHECK(write({{pages.address(kBehind), kBehind, 30},
               {pages.address(1), 1, 10},
               {pages.address(kProtected), kProtected, 20}}) == std::vector{true, true, true});
  CHECK(pages[1] == 10);
  CHECK(pages[kProtected] == 20);
  CHECK(pages[kBehind] == 30);
  CHECK(pages.is_writable(1));
  CHECK_FALSE(pages.is_writable(kProtected));
  CHECK(pages.is_writable(kBehind));
}

TEST_CASE("a word that holds something else stays as it is") {
  const Pages pages;
  constexpr std::size_t kProtected = Pages::kWords;
  CHECK(write({{pages.address(1), 2, 10}, {pages.address(kProtected), 0, 20}}) ==
        std::vector{false, false});
  CHECK(pages[1] == 1);
  CHECK(pages[kProtected] == kProtected);
}

TEST_CASE("an address that nothing is mapped at is not written") {
  CHECK(write({{8, 0, 1}, {16, 0, 1}}) == std::vector{false, false});
  CHECK(write({}).empty());
}

TEST_CASE("regions tell what may be read, over their borders too") {
  const Pages pages;
  const MemoryRegions regions = MemoryRegions::read();
  CHECK(regions.is_readable(pages.address(0), std::size_t{3} * 4096));
  CHECK(regions.is_readable(pages.address(5), 0));
  CHECK_FALSE(regions.is_readable(0, 1));
  CHECK_FALSE(regions.is_readable(pages.address(0), UINT64_MAX));
  CHECK(regions.find(0) == nullptr);
}
