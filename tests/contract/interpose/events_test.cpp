// Every C function of allocation_functions.hpp, called as a program calls it: what the sink is
// told.
#include <doctest/doctest.h>
#include <malloc.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "alloctap/symbol/module_table.hpp"
#include "event_probe.hpp"

using namespace alloctap;
using namespace alloctap::testing;

TEST_CASE("case 22, semantics: each C function that allocates tells size, alignment and kind") {
  const Installed installed;
  constexpr auto kMalloc = AllocationKind::kMalloc;
  constexpr auto kAligned = AllocationKind::kAlignedAlloc;
  frees_with_free(allocates(kMalloc, 100, 0, [] { return std::malloc(hundred); }));
  frees_with_free(allocates(kMalloc, 300, 0, [] { return std::calloc(3, hundred); }));
  frees_with_free(allocates(kMalloc, 5, 0, [] { return strdup("four"); }));
  frees_with_free(allocates(kMalloc, 4, 0, [] { return strndup("four", 3); }));
  frees_with_free(allocates(kAligned, 100, 32, [] { return memalign(32, hundred); }));
  frees_with_free(
      allocates(kAligned, 128, 64, [] { return std::aligned_alloc(64, hundred + 28); }));
  frees_with_free(allocates(kAligned, 100, 0, [] { return valloc(hundred); }));
  frees_with_free(allocates(kAligned, 100, 0, [] { return pvalloc(hundred); }));
  frees_with_free(allocates(kAligned, 100, 256, [] {
    void* block = nullptr;
    return posix_memalign(&block, 256, hundred) == 0 ? block : nullptr;
  }));
}

TEST_CASE("case 22, semantics: reallocations tell the old block before and the new one after") {
  const Installed installed;
  void* old = escape(std::malloc(hundred));
  Told told = told_by([&] { return std::realloc(old, 1000 * hundred); });
  REQUIRE(told.count == 3);
  CHECK(told.calls[0].function == SinkFunction::kBeginReallocate);
  CHECK(told.calls[0].pointer == old);
  CHECK(told.calls[0].deallocation_kind == DeallocationKind::kRealloc);
  CHECK(told.calls[1].function == SinkFunction::kFinishReallocate);
  CHECK(told.calls[2].function == SinkFunction::kAllocate);
  CHECK(told.calls[2].pointer == told.result);
  CHECK(told.calls[2].size == 100'000);
  told = told_by([block = told.result] { return reallocarray(block, 7, hundred); });
  REQUIRE(told.count == 3);
  CHECK(told.calls[2].size == 700);
  frees_with_free(told.result);
}

TEST_CASE("case 22, semantics: mapping calls tell where and how much") {
  const Installed installed;
  constexpr std::size_t kPage = 4096;
  constexpr int kAccess = PROT_READ | PROT_WRITE;
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS;
  Told told = told_by([] { return mmap(nullptr, 3 * kPage, kAccess, kFlags, -1, 0); });
  REQUIRE(told.count == 1);
  CHECK(told.calls[0].function == SinkFunction::kMap);
  CHECK(told.calls[0].pointer == told.result);
  CHECK(told.calls[0].size == 3 * kPage);

  told = told_by([old = told.result] { return mremap(old, 3 * kPage, kPage, 0); });
  REQUIRE(told.count == 3);
  CHECK(told.calls[0].function == SinkFunction::kBeginUnmap);
  CHECK(told.calls[0].size == 3 * kPage);
  CHECK(told.calls[2].function == SinkFunction::kMap);
  CHECK(told.calls[2].size == kPage);

  void* const left = told.result;
  told = told_by([&] { return munmap(left, kPage) == 0 ? left : nullptr; });
  REQUIRE(told.count == 2);
  CHECK(told.result == left);
  CHECK(told.calls[0].function == SinkFunction::kBeginUnmap);
  CHECK(told.calls[1].function == SinkFunction::kFinishUnmap);

  told = told_by([] { return mmap64(nullptr, kPage, kAccess, kFlags, -1, 0); });
  CHECK(told.count == 1);
  munmap(told.result, kPage);
}

TEST_CASE("case 22, semantics: asking for a block's size tells nothing") {
  const Installed installed;
  void* block = escape(std::malloc(hundred));
  std::size_t usable = 0;
  const Told told = told_by([&] {
    usable = malloc_usable_size(block);
    return nullptr;
  });
  CHECK(told.count == 0);
  CHECK(usable >= 100);
  CHECK(malloc_usable_size(nullptr) == 0);
  std::free(block);
}

TEST_CASE("the origin is in the code that made the call, this program's or a library's") {
  const Installed installed;
  const auto module_of = [](const Told& told) {
    const ModuleTable modules = ModuleTable::read();
    const auto* caller = static_cast<const std::byte*>(told.calls[0].origin.caller) - 1;
    const Module* module = modules.find(reinterpret_cast<std::uintptr_t>(caller));
    return std::string(module == nullptr ? "" : module->path);
  };
  const Told direct = told_by([] { return std::malloc(hundred); });
  CHECK(module_of(direct).find("interpose_events") != std::string::npos);
  std::free(direct.result);
  char* line = nullptr;
  const Told indirect = told_by([&] { return asprintf(&line, "%d", 7) == 1 ? line : nullptr; });
  CHECK(module_of(indirect).find("libc.so") != std::string::npos);
  std::free(line);
}

TEST_CASE("case 23, ABI: errno is the original's, whatever the sink does to it") {
  const Installed installed;
  errno = EAGAIN;
  void* block = escape(std::malloc(hundred));
  CHECK(errno == EAGAIN);
  block = escape(std::realloc(block, 10'000));
  CHECK(errno == EAGAIN);
  std::free(block);
  CHECK(errno == EAGAIN);
  void* place = escape(mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  CHECK(errno == EAGAIN);
  munmap(place, 4096);
  CHECK(errno == EAGAIN);
}

TEST_CASE(
    "case 21, bootstrap: after it is uninstalled the functions pass through, and a second install "
    "feeds again") {
  {
    const Installed installed;
    CHECK(told_by([] { return std::malloc(hundred); }).count == 1);
  }
  Told told = told_by([] { return std::malloc(hundred); });
  CHECK(told.count == 0);
  CHECK(told.result != nullptr);
  const Installed again;
  told = told_by([] { return std::malloc(hundred); });
  CHECK(told.count == 1);
}
