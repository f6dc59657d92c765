#include <doctest/doctest.h>

#include <initializer_list>

#include "alloctap/os/windows/memory_protection.hpp"

namespace {

using namespace alloctap::os;

/// A page with a word of 1 at its start.
struct Page {
  explicit Page(DWORD protection)
      : word(static_cast<std::uintptr_t*>(
            ::VirtualAlloc(nullptr, 4096, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE))) {
    *word = 1;
    DWORD before = 0;
    ::VirtualProtect(word, 4096, protection, &before);
  }
  ~Page() { ::VirtualFree(word, 0, MEM_RELEASE); }
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;

  [[nodiscard]] DWORD protection() const {
    MEMORY_BASIC_INFORMATION region;
    ::VirtualQuery(word, &region, sizeof region);
    return region.Protect;
  }

  std::uintptr_t* word;
};

}  // namespace

TEST_CASE("a word changes on any page that can be read, and the page is protected as before") {
  for (const DWORD protection : {PAGE_READONLY, PAGE_READWRITE, PAGE_EXECUTE_READ}) {
    const Page page(protection);
    CHECK(exchange_slot(page.word, 1, 2) == SlotExchange::kDone);
    CHECK(*page.word == 2);
    CHECK(page.protection() == protection);
  }
}

TEST_CASE("a word that holds something else stays, and its page as it was") {
  const Page page(PAGE_READONLY);
  CHECK(exchange_slot(page.word, 7, 2) == SlotExchange::kChanged);
  CHECK(*page.word == 1);
  CHECK(page.protection() == PAGE_READONLY);
}

TEST_CASE("a word in no memory is refused") {
  std::uintptr_t* gone = nullptr;
  {
    const Page page(PAGE_READWRITE);
    gone = page.word;
  }
  CHECK(exchange_slot(gone, 1, 2) == SlotExchange::kRefused);
}
