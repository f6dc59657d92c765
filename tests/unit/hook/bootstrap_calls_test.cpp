#include <doctest/doctest.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>
#include <type_traits>

#include "alloctap/hook/redirected_entry.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/is_aligned.hpp"

namespace {

namespace functions = alloctap::functions;
using alloctap::AllocationFunctions;
using alloctap::BootstrapArena;
using alloctap::BootstrapCall;
using alloctap::testing::holds_in_child;
using alloctap::testing::is_aligned;

template <class Function, class... Arguments>
auto call(Arguments... arguments) {
  return BootstrapCall<Function>::call(arguments...);
}

bool is_zero(const void* block, std::size_t bytes) {
  const auto* text = static_cast<const char*>(block);
  return std::string_view(text, bytes).find_first_not_of('\0') == std::string_view::npos;
}

}  // namespace

TEST_CASE("every allocation function has a stand-in of its own signature") {
  AllocationFunctions::for_each([](auto function) {
    using Function = decltype(function);
    using StandIn = decltype(&BootstrapCall<Function>::call);
    CAPTURE(function.name);
    CHECK(std::is_convertible_v<StandIn, typename Function::Signature*>);
  });
}

TEST_CASE("blocks come zeroed from the bootstrap arena and know their size") {
  for (void* block : {call<functions::Malloc>(std::size_t{100}),
                      call<functions::Calloc>(std::size_t{10}, std::size_t{10}),
                      call<functions::New>(std::size_t{100}),
                      call<functions::NewArrayNothrow>(std::size_t{100}, std::nothrow)}) {
    REQUIRE(BootstrapArena::owns(block));
    CHECK(is_zero(block, 100));
    CHECK(is_aligned(block, 16));
    CHECK(call<functions::MallocUsableSize>(block) == 100);
    std::memset(block, 0xFF, 100);
  }
}

TEST_CASE("a block of no bytes is one") {
  void* block = call<functions::Malloc>(std::size_t{0});
  REQUIRE(block != nullptr);
  CHECK(call<functions::Malloc>(std::size_t{0}) != block);
  CHECK(call<functions::MallocUsableSize>(block) == 0);
}

TEST_CASE("aligned blocks are aligned") {
  for (const std::size_t alignment : {16U, 64U, 512U}) {
    CHECK(is_aligned(call<functions::Memalign>(alignment, std::size_t{10}), alignment));
    CHECK(is_aligned(call<functions::AlignedAlloc>(alignment, alignment), alignment));
    CHECK(is_aligned(call<functions::NewAligned>(std::size_t{10}, std::align_val_t{alignment}),
                     alignment));
    void* block = nullptr;
    CHECK(call<functions::PosixMemalign>(&block, alignment, std::size_t{10}) == 0);
    CHECK(is_aligned(block, alignment));
    CHECK(BootstrapArena::owns(block));
  }
}

TEST_CASE("a copied text is the text, or its start") {
  CHECK(std::string_view(call<functions::Strdup>("four")) == "four");
  CHECK(std::string_view(call<functions::Strdup>("")).empty());
  CHECK(std::string_view(call<functions::Strndup>("four", std::size_t{3})) == "fou");
  CHECK(std::string_view(call<functions::Strndup>("four", std::size_t{9})) == "four");
}

TEST_CASE("a block grows and shrinks with its content") {
  void* block = call<functions::Realloc>(static_cast<void*>(nullptr), std::size_t{8});
  REQUIRE(block != nullptr);
  std::memcpy(block, "12345678", 8);
  void* larger = call<functions::Reallocarray>(block, std::size_t{4}, std::size_t{8});
  CHECK(call<functions::MallocUsableSize>(larger) == 32);
  CHECK(std::memcmp(larger, "12345678", 8) == 0);
  CHECK(is_zero(static_cast<char*>(larger) + 8, 24));
  void* smaller = call<functions::Realloc>(larger, std::size_t{3});
  CHECK(call<functions::MallocUsableSize>(smaller) == 3);
  CHECK(std::memcmp(smaller, "123", 3) == 0);
}

TEST_CASE("a block of the host is not touched: it is neither moved nor measured nor freed") {
  // Volatile: the compiler would see what cannot happen, that such a block is the arena's.
  void* volatile hosts = std::malloc(10);
  void* block = hosts;
  errno = 0;
  CHECK(call<functions::Realloc>(block, std::size_t{20}) == nullptr);
  CHECK(errno == ENOMEM);
  CHECK(call<functions::MallocUsableSize>(block) == 0);
  call<functions::Free>(block);
  call<functions::DeleteSized>(block, std::size_t{10});
  std::free(block);
  CHECK(call<functions::MallocUsableSize>(static_cast<void*>(nullptr)) == 0);
}

TEST_CASE("more than there is cannot be had, and neither can a product that overflows") {
  constexpr std::size_t kHuge = SIZE_MAX / 2 + 1;
  const auto fails = [](void* block) {
    CHECK(block == nullptr);
    CHECK(errno == ENOMEM);
    errno = 0;
  };
  errno = 0;
  fails(call<functions::Malloc>(BootstrapArena::kBytes));
  fails(call<functions::Malloc>(SIZE_MAX));
  fails(call<functions::Calloc>(kHuge, std::size_t{2}));
  fails(call<functions::Calloc>(std::size_t{3}, kHuge));
  fails(call<functions::Reallocarray>(static_cast<void*>(nullptr), kHuge, std::size_t{2}));
  void* untouched = &errno;
  CHECK(call<functions::PosixMemalign>(&untouched, std::size_t{16}, SIZE_MAX) == ENOMEM);
  CHECK(untouched == &errno);
  CHECK(errno == 0);
}

TEST_CASE("when the arena is used up calls fail as the host's do") {
  CHECK(holds_in_child([] {
    while (call<functions::Malloc>(std::size_t{64}) != nullptr) {
    }
    errno = 0;
    return call<functions::Strdup>("a text that has no room any more, because none is left here") ==
               nullptr &&
           errno == ENOMEM;
  }));
}

TEST_CASE("mappings are the system's own") {
  constexpr std::size_t kPage = 4096;
  void* pages = call<functions::Mmap>(static_cast<void*>(nullptr), kPage, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS, -1, off_t{0});
  REQUIRE(pages != MAP_FAILED);
  std::memcpy(pages, "kept", 5);
  void* moved =
      call<functions::Mremap>(pages, kPage, 8 * kPage, MREMAP_MAYMOVE, static_cast<void*>(nullptr));
  REQUIRE(moved != MAP_FAILED);
  CHECK(std::string_view(static_cast<const char*>(moved)) == "kept");
  CHECK(call<functions::Munmap>(moved, 8 * kPage) == 0);
  CHECK(call<functions::Mmap64>(static_cast<void*>(nullptr), std::size_t{0}, PROT_READ, MAP_PRIVATE,
                                -1, off_t{0}) == MAP_FAILED);
  CHECK(errno != 0);
}
