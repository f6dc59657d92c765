#include "alloctap/hook/windows/heap_calls.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <csetjmp>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "tests/unit/hook/windows/windows_entries.hpp"

namespace {

using namespace alloctap::testing;

struct HeapCallsTest;
using Entries = WindowsEntries<HeapCallsTest>;
using Sink = Entries::Sink;

const auto allocate = Entries::call<alloctap::ntdll::RtlAllocateHeap>;
const auto reallocate = Entries::call<alloctap::ntdll::RtlReAllocateHeap>;
const auto release = Entries::call<alloctap::ntdll::RtlFreeHeap>;
const auto make_heap = Entries::call<alloctap::ntdll::RtlCreateHeap>;
const auto destroy_heap = Entries::call<alloctap::ntdll::RtlDestroyHeap>;

HANDLE new_heap() { return make_heap(HEAP_GROWABLE, nullptr, 0, 0, nullptr, nullptr); }

/// More than any heap has.
constexpr SIZE_T kTooMuch = SIZE_T{1} << 60;

}  // namespace

TEST_CASE("a block of a heap is told with its size and its heap, and its free before the call") {
  const Entries entries;
  const HANDLE heap = ::GetProcessHeap();
  void* const block = allocate(heap, 0, 100);
  REQUIRE(block != nullptr);
  REQUIRE(Sink::told().size() == 1);
  CHECK(Sink::told()[0] == Told{SinkFunction::kAllocate, block, 100, heap});
  Sink::look_at_free = [](void* pointer) { return ::HeapSize(::GetProcessHeap(), 0, pointer); };
  CHECK(release(heap, 0, block) != 0);
  REQUIRE(Sink::told().size() == 2);
  CHECK(Sink::told()[1] == Told{SinkFunction::kDeallocate, block, 0, heap});
  CHECK(Sink::seen_at_free == 100);
}

TEST_CASE("nothing is told of heap calls that fail, free nothing, or are below another call") {
  const Entries entries;
  const HANDLE heap = ::GetProcessHeap();
  CHECK(allocate(heap, 0, kTooMuch) == nullptr);
  CHECK(release(heap, 0, nullptr) != 0);
  const alloctap::ReentrancyGuard inside;
  void* const block = allocate(heap, 0, 100);
  CHECK(block != nullptr);
  CHECK(release(heap, 0, block) != 0);
  CHECK(Sink::told().empty());
}

TEST_CASE("a block that moves is taken out before, and told anew under its heap") {
  const Entries entries;
  const HANDLE heap = new_heap();
  void* const old = allocate(heap, 0, 100);
  Sink::forget();
  void* const block = reallocate(heap, 0, old, 200'000);
  REQUIRE(block != nullptr);
  REQUIRE(Sink::told().size() == 3);
  CHECK(Sink::told()[0] == Told{SinkFunction::kBeginReallocate, old, 0, heap});
  CHECK(Sink::told()[1] == Told{SinkFunction::kFinishReallocate, old});
  CHECK(Sink::told()[2] == Told{SinkFunction::kAllocate, block, 200'000, heap});
  CHECK(destroy_heap(heap) == nullptr);
}

TEST_CASE("a reallocation that fails puts the block back, and one in place keeps the pointer") {
  const Entries entries;
  const HANDLE heap = new_heap();
  void* const old = allocate(heap, 0, 100);
  Sink::forget();
  CHECK(reallocate(heap, 0, old, kTooMuch) == nullptr);
  REQUIRE(Sink::told().size() == 2);
  CHECK(Sink::told()[1] == Told{SinkFunction::kCancelReallocate, old});
  CHECK(::HeapSize(heap, 0, old) == 100);
  Sink::forget();
  CHECK(reallocate(heap, HEAP_REALLOC_IN_PLACE_ONLY, old, 50) == old);
  REQUIRE(Sink::told().size() == 3);
  CHECK(Sink::told()[2] == Told{SinkFunction::kAllocate, old, 50, heap});
  CHECK(destroy_heap(heap) == nullptr);
}

TEST_CASE("a heap that is destroyed frees each of its blocks, and none of another heap") {
  const Entries entries;
  const HANDLE heap = new_heap();
  const HANDLE other = new_heap();
  CHECK(Sink::told().empty());
  std::vector<void*> blocks;
  // Small ones, of which heaps keep many of one size together, and ones of their own pages.
  for (SIZE_T i = 0; i < 300; ++i) blocks.push_back(allocate(heap, 0, i % 5 == 0 ? 24 : i * 300));
  for (int i = 0; i < 100; ++i) blocks.push_back(allocate(heap, 0, 24));
  blocks.push_back(allocate(heap, 0, 4'000'000));
  release(heap, 0, blocks[7]);
  blocks.erase(blocks.begin() + 7);
  static_cast<void>(allocate(other, 0, 100));
  Sink::forget();
  ::SetLastError(ERROR_DISK_FULL);
  CHECK(destroy_heap(heap) == nullptr);
  CHECK(::GetLastError() == ERROR_DISK_FULL);
  std::vector<void*> freed;
  for (const Told& told : Sink::told()) {
    CHECK(told.function == SinkFunction::kDeallocate);
    CHECK(told.heap == heap);
    freed.push_back(told.pointer);
  }
  std::sort(blocks.begin(), blocks.end());
  std::sort(freed.begin(), freed.end());
  CHECK(freed == blocks);
  CHECK(destroy_heap(other) == nullptr);
}

TEST_CASE("the process's own heap is not destroyed, and its blocks stay") {
  const Entries entries;
  void* const block = allocate(::GetProcessHeap(), 0, 100);
  Sink::forget();
  CHECK(destroy_heap(::GetProcessHeap()) == ::GetProcessHeap());
  CHECK(Sink::told().empty());
  release(::GetProcessHeap(), 0, block);
}

TEST_CASE("calls of heaps leave the last error to the system") {
  const Entries entries;
  ::SetLastError(ERROR_DISK_FULL);
  void* block = allocate(::GetProcessHeap(), 0, 100);
  CHECK(::GetLastError() == ERROR_DISK_FULL);
  block = reallocate(::GetProcessHeap(), 0, block, 1000);
  CHECK(::GetLastError() == ERROR_DISK_FULL);
  release(::GetProcessHeap(), 0, block);
  CHECK(::GetLastError() == ERROR_DISK_FULL);
}

TEST_CASE("entries that are reached while nothing is recorded hand calls on") {
  const Entries entries;
  Entries::stop();
  const HANDLE heap = new_heap();
  void* const block = reallocate(heap, 0, allocate(heap, 0, 100), 200);
  CHECK(block != nullptr);
  CHECK(release(heap, 0, block) != 0);
  CHECK(destroy_heap(heap) == nullptr);
  CHECK(Sink::told().empty());
}

namespace {

std::jmp_buf caught;

LONG CALLBACK leave_by_jump(EXCEPTION_POINTERS* raised) {
  if (raised->ExceptionRecord->ExceptionCode != STATUS_NO_MEMORY) return EXCEPTION_CONTINUE_SEARCH;
  std::longjmp(caught, 1);
}

/// Whether `call` was left by an exception for want of memory.
bool raises(void (*call)()) {
  void* const handler = ::AddVectoredExceptionHandler(1, &leave_by_jump);
  volatile bool left = true;
  if (setjmp(caught) == 0) {
    call();
    left = false;
  }
  ::RemoveVectoredExceptionHandler(handler);
  return left;
}

HANDLE raising_heap;
void* block_to_keep;

}  // namespace

TEST_CASE("a heap call that is left by an exception leaves no trace") {
  const Entries entries;
  raising_heap = new_heap();
  block_to_keep = allocate(raising_heap, 0, 100);
  Sink::forget();
  REQUIRE(raises([] { allocate(raising_heap, HEAP_GENERATE_EXCEPTIONS, kTooMuch); }));
  CHECK(Sink::told().empty());
  REQUIRE(
      raises([] { reallocate(raising_heap, HEAP_GENERATE_EXCEPTIONS, block_to_keep, kTooMuch); }));
  REQUIRE(Sink::told().size() == 2);
  CHECK(Sink::told()[1] == Told{SinkFunction::kCancelReallocate, block_to_keep});
  // And this thread's calls are seen as before.
  CHECK(release(raising_heap, 0, block_to_keep) != 0);
  CHECK(Sink::told().size() == 3);
  CHECK(destroy_heap(raising_heap) == nullptr);
}

namespace {

/// Notes the order of what happens: a begin with its bytes, the end of what is timed.
struct TimingSink : ToldSink<struct TimingTest> {
  static inline std::string order;

  static const alloctap::TimedCall* begin_timing(alloctap::AllocatorCall call,
                                                 std::size_t bytes) noexcept {
    order += "begin " + std::to_string(bytes) + ", ";
    static alloctap::TimedCall timed;
    timed.call = call;
    return &timed;
  }
  static void end_timing(const alloctap::TimedCall& timed) noexcept {
    order += "end " + std::string(name_of(timed.call)) + ", ";
  }
  static void on_allocate(const alloctap::AllocationEvent&) noexcept { order += "come, "; }
  static void on_deallocate(const alloctap::DeallocationEvent&) noexcept { order += "go, "; }
  static void on_heap_call() { order += "call, "; }
};

void* NTAPI timed_allocate(HANDLE heap, ULONG flags, SIZE_T bytes) {
  TimingSink::on_heap_call();
  return ::HeapAlloc(heap, flags, bytes);
}
void* NTAPI timed_reallocate(HANDLE heap, ULONG flags, void* old, SIZE_T bytes) {
  TimingSink::on_heap_call();
  return ::HeapReAlloc(heap, flags, old, bytes);
}
ULONG_PTR NTAPI timed_release(HANDLE heap, ULONG flags, void* block) {
  TimingSink::on_heap_call();
  return static_cast<ULONG_PTR>(::HeapFree(heap, flags, block));
}

struct TimedEntries : WindowsEntries<TimingTest, TimingSink> {
  TimedEntries() {
    replace<alloctap::ntdll::RtlAllocateHeap>(&timed_allocate);
    replace<alloctap::ntdll::RtlReAllocateHeap>(&timed_reallocate);
    replace<alloctap::ntdll::RtlFreeHeap>(&timed_release);
  }
  template <class Function>
  static void replace(typename Function::Signature* by) {
    Originals::set<Function>(reinterpret_cast<std::uintptr_t>(by));
  }
};

template <class Function, class... Arguments>
auto timed_call(Arguments... arguments) {
  TimingSink::order.clear();
  return TimedEntries::call<Function>(::GetProcessHeap(), 0, arguments...);
}

}  // namespace

TEST_CASE("the time of a heap's call is taken from before it to behind it, and of no other work") {
  namespace ntdll = alloctap::ntdll;
  const TimedEntries entries;
  void* block = timed_call<ntdll::RtlAllocateHeap>(SIZE_T{100});
  CHECK(TimingSink::order == "begin 100, call, end allocate, come, ");
  block = timed_call<ntdll::RtlReAllocateHeap>(block, SIZE_T{200});
  CHECK(TimingSink::order == "begin 200, call, end reallocate, come, ");
  timed_call<ntdll::RtlFreeHeap>(block);
  CHECK(TimingSink::order == "go, begin 0, call, end free, ");
  timed_call<ntdll::RtlFreeHeap>(static_cast<void*>(nullptr));
  CHECK(TimingSink::order == "call, ");
  {
    const alloctap::ReentrancyGuard inside;
    timed_call<ntdll::RtlFreeHeap>(timed_call<ntdll::RtlAllocateHeap>(SIZE_T{100}));
    CHECK(TimingSink::order == "call, ");
  }
  TimedEntries::stop();
  timed_call<ntdll::RtlFreeHeap>(timed_call<ntdll::RtlAllocateHeap>(SIZE_T{100}));
  CHECK(TimingSink::order == "call, ");
}

TEST_CASE("the time of destroying a heap is nobody's, and its last block's size is forgotten") {
  const TimedEntries entries;
  const HANDLE heap = ::HeapCreate(0, 0, 0);
  REQUIRE(::HeapAlloc(heap, 0, 100) != nullptr);
  TimingSink::order.clear();
  TimedEntries::call<alloctap::ntdll::RtlDestroyHeap>(heap);
  CHECK(TimingSink::order == "go, begin 0, ");
}
