// Every function of allocation_functions.hpp, called as a program calls it: what the sink is told.
#include <doctest/doctest.h>
#include <malloc.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>

#include "alloctap/hook/interposed_malloc.hpp"
#include "alloctap/symbol/module_table.hpp"
#include "alloctap/testing/fake_sink.hpp"

namespace {

using namespace alloctap;
using alloctap::testing::FakeSink;
using alloctap::testing::SinkCall;
using alloctap::testing::SinkFunction;

/// Stands for a tracker.
struct Probe {
  using Sink = FakeSink<Probe>;
};

/// Keeps the compiler from knowing what a pointer is good for.
template <class T>
ALLOCTAP_ALWAYS_INLINE T* escape(T* pointer) {
  __asm__ volatile("" : "+r"(pointer) : : "memory");
  return pointer;
}

/// What the sink was told during a call.
struct Told {
  std::array<SinkCall, 8> calls{};
  std::size_t count = 0;
  void* result = nullptr;
};

template <class Call>
Told told_by(Call call) {
  Told told;
  Probe::Sink::clear();
  told.result = escape(static_cast<void*>(call()));
  told.count = Probe::Sink::count();
  std::copy_n(Probe::Sink::calls().begin(), std::min(told.count, told.calls.size()),
              told.calls.begin());
  return told;
}

struct Installed {
  Installed() { REQUIRE(InterposeHook::install<Probe::Sink>().ok()); }
  ~Installed() { InterposeHook::uninstall(); }
};

/// `call` is told as one allocation; returns its block.
template <class Call>
void* allocates(AllocationKind kind, std::size_t size, std::size_t alignment, Call call) {
  const Told told = told_by(call);
  REQUIRE(told.count == 1);
  const SinkCall& event = told.calls[0];
  CHECK(event.function == SinkFunction::kAllocate);
  CHECK(event.pointer == told.result);
  CHECK(event.size == size);
  CHECK(event.alignment == alignment);
  CHECK(event.allocation_kind == kind);
  CHECK(event.origin.frame != nullptr);
  return told.result;
}

/// `call` is told as one deallocation of `block`.
template <class Call>
void frees(void* block, DeallocationKind kind, std::size_t size, std::size_t alignment, Call call) {
  const Told told = told_by([&] {
    call();
    return nullptr;
  });
  REQUIRE(told.count == 1);
  const SinkCall& event = told.calls[0];
  CHECK(event.function == SinkFunction::kDeallocate);
  CHECK(event.pointer == block);
  CHECK(event.size == size);
  CHECK(event.alignment == alignment);
  CHECK(event.deallocation_kind == kind);
}

void frees_with_free(void* block) {
  frees(block, DeallocationKind::kFree, 0, 0, [&] { std::free(block); });
}

constexpr std::align_val_t k64{64};
volatile std::size_t hundred = 100;

}  // namespace

ALLOCTAP_DEFINE_INTERPOSED_MALLOC(Probe);

TEST_CASE("each C function that allocates tells size, alignment and kind") {
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

TEST_CASE("operators for one object tell kind, size and alignment") {
  const Installed installed;
  constexpr auto kNew = AllocationKind::kNew;
  constexpr auto kDelete = DeallocationKind::kDelete;
  constexpr auto kAlignedDelete = DeallocationKind::kAlignedDelete;
  const auto make = [] { return ::operator new(hundred); };
  const auto make_aligned = [] { return ::operator new(hundred, k64); };
  void* p = allocates(kNew, 100, 0, make);
  frees(p, kDelete, 0, 0, [&] { ::operator delete(p); });
  p = allocates(kNew, 100, 0, make);
  frees(p, kDelete, 100, 0, [&] { ::operator delete(p, hundred); });
  p = allocates(kNew, 100, 0, [] { return ::operator new(hundred, std::nothrow); });
  frees(p, kDelete, 0, 0, [&] { ::operator delete(p, std::nothrow); });
  p = allocates(AllocationKind::kAlignedNew, 100, 64, make_aligned);
  frees(p, kAlignedDelete, 0, 64, [&] { ::operator delete(p, k64); });
  p = allocates(AllocationKind::kAlignedNew, 100, 64, make_aligned);
  frees(p, kAlignedDelete, 100, 64, [&] { ::operator delete(p, hundred, k64); });
  p = allocates(AllocationKind::kAlignedNew, 100, 64,
                [] { return ::operator new(hundred, k64, std::nothrow); });
  frees(p, kAlignedDelete, 0, 64, [&] { ::operator delete(p, k64, std::nothrow); });
}

TEST_CASE("operators for arrays tell kind, size and alignment") {
  const Installed installed;
  constexpr auto kNew = AllocationKind::kNewArray;
  constexpr auto kDelete = DeallocationKind::kDeleteArray;
  constexpr auto kAlignedDelete = DeallocationKind::kAlignedDeleteArray;
  const auto make = [] { return ::operator new[](hundred); };
  const auto make_aligned = [] { return ::operator new[](hundred, k64); };
  void* p = allocates(kNew, 100, 0, make);
  frees(p, kDelete, 0, 0, [&] { ::operator delete[](p); });
  p = allocates(kNew, 100, 0, make);
  frees(p, kDelete, 100, 0, [&] { ::operator delete[](p, hundred); });
  p = allocates(kNew, 100, 0, [] { return ::operator new[](hundred, std::nothrow); });
  frees(p, kDelete, 0, 0, [&] { ::operator delete[](p, std::nothrow); });
  p = allocates(AllocationKind::kAlignedNewArray, 100, 64, make_aligned);
  frees(p, kAlignedDelete, 0, 64, [&] { ::operator delete[](p, k64); });
  p = allocates(AllocationKind::kAlignedNewArray, 100, 64, make_aligned);
  frees(p, kAlignedDelete, 100, 64, [&] { ::operator delete[](p, hundred, k64); });
  p = allocates(AllocationKind::kAlignedNewArray, 100, 64,
                [] { return ::operator new[](hundred, k64, std::nothrow); });
  frees(p, kAlignedDelete, 0, 64, [&] { ::operator delete[](p, k64, std::nothrow); });
}

TEST_CASE("reallocations tell the old block before and the new one after") {
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

TEST_CASE("mapping calls tell where and how much") {
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

TEST_CASE("asking for a block's size tells nothing") {
  const Installed installed;
  void* block = escape(std::malloc(hundred));
  std::size_t usable = 0;
  const Told told = told_by([&] {
    usable = malloc_usable_size(block);
    return nullptr;
  });
  CHECK(told.count == 0);
  CHECK(usable >= 100);
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

TEST_CASE("errno is the original's, whatever the sink does to it") {
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

TEST_CASE("after it is uninstalled the functions pass through, and a second install feeds again") {
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
