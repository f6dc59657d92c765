// Memory of LocalAlloc and GlobalAlloc where blocks are checked: it is what it would be without,
// and bad frees of it are told.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "alloctap/os/windows/api.hpp"
#include "tests/contract/hooks/hooked_program.hpp"
#include "tests/contract/windows/checked_tracker.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;

/// Each family is a type, so that the calls of each stand at places of their own: a fault is told
/// once for each. Both have the same flags.
struct Local {
  static constexpr const char* name = "Local";
  static constexpr auto allocate = &::LocalAlloc;
  static constexpr auto reallocate = &::LocalReAlloc;
  static constexpr auto release = &::LocalFree;
  static constexpr auto measure = &::LocalSize;
  static constexpr auto flags_of = &::LocalFlags;
  static constexpr auto handle_of = &::LocalHandle;
  static constexpr auto lock = &::LocalLock;
  static constexpr SIZE_T least = 0;
};

struct Global {
  static constexpr const char* name = "Global";
  static constexpr auto allocate = &::GlobalAlloc;
  static constexpr auto reallocate = &::GlobalReAlloc;
  static constexpr auto release = &::GlobalFree;
  static constexpr auto measure = &::GlobalSize;
  static constexpr auto flags_of = &::GlobalFlags;
  static constexpr auto handle_of = &::GlobalHandle;
  static constexpr auto lock = &::GlobalLock;
  static constexpr SIZE_T least = 1;
};

template <class Body>
void with_both(Body&& body) {
  body(Local{});
  body(Global{});
}

/// Whether all bytes of `[from, to)` are `value`.
bool all_are(const void* block, std::size_t from, std::size_t to, int value) {
  const auto* const bytes = static_cast<const unsigned char*>(block);
  while (from < to && bytes[from] == value) ++from;
  return from == to;
}

/// Whether `call` gives `result` and leaves `error` as the last one.
template <class Call>
bool says(HLOCAL result, DWORD error, Call&& call) {
  ::SetLastError(ERROR_DISK_FULL);
  const HLOCAL said = call();
  return ::GetLastError() == error && said == result;
}

/// From before any session of this program.
HLOCAL const kOld[] = {::LocalAlloc(LMEM_FIXED, 100), ::GlobalAlloc(GMEM_FIXED, 100),
                       ::LocalAlloc(LMEM_FIXED, 100), ::GlobalAlloc(GMEM_MOVEABLE, 100)};

constexpr std::size_t kNoSize = std::size_t{1} << 60;

}  // namespace

TEST_CASE("memory of LocalAlloc from before the start is no fault, and stays the system's") {
  const Recording recording;
  const auto faults = faults_of([] {
    std::memset(kOld[0], 7, 100);
    const HLOCAL moved = ::LocalReAlloc(kOld[0], 100'000, LMEM_MOVEABLE);
    REQUIRE(moved != nullptr);
    CHECK(all_are(moved, 0, 100, 7));
    CHECK(::LocalFree(moved) == nullptr);
    CHECK(::GlobalSize(kOld[1]) == 100);
    CHECK(::GlobalFree(kOld[1]) == nullptr);
    CHECK(::HeapFree(::GetProcessHeap(), 0, kOld[2]) != 0);
    CHECK(::GlobalFree(kOld[3]) == nullptr);
  });
  CHECK(faults.empty());
}

TEST_CASE("fixed memory is its own handle, of the size that was asked for") {
  const Recording recording;
  with_both([](auto functions) {
    CAPTURE(functions.name);
    const auto faults = faults_of([&] {
      for (const SIZE_T size : {SIZE_T{100}, SIZE_T{0}}) {
        CAPTURE(size);
        const HLOCAL block = functions.allocate(LMEM_FIXED | LMEM_ZEROINIT, size);
        REQUIRE(block != nullptr);
        CHECK(functions.measure(block) == (size == 0 ? functions.least : size));
        CHECK(all_are(block, 0, size, 0));
        CHECK(functions.lock(block) == block);
        CHECK(functions.handle_of(block) == block);
        CHECK(functions.flags_of(block) == 0);
        CHECK(says(nullptr, ERROR_DISK_FULL, [&] { return functions.release(block); }));
      }
      CHECK(functions.release(nullptr) == nullptr);
    });
    CHECK(faults.empty());
  });
}

TEST_CASE("fixed memory keeps its content when it is reallocated, and moves only where it may") {
  const Recording recording;
  with_both([](auto functions) {
    CAPTURE(functions.name);
    const auto faults = faults_of([&] {
      HLOCAL block = functions.allocate(LMEM_FIXED, 100);
      std::memset(block, 7, 100);
      block = functions.reallocate(block, 5'000, LMEM_MOVEABLE | LMEM_ZEROINIT);
      REQUIRE(block != nullptr);
      CHECK(functions.measure(block) == 5'000);
      CHECK(all_are(block, 0, 100, 7));
      CHECK(all_are(block, 100, 5'000, 0));
      CHECK(says(block, ERROR_DISK_FULL, [&] { return functions.reallocate(block, 60, 0); }));
      CHECK(functions.measure(block) == 60);
      CHECK(all_are(block, 0, 60, 7));
      CHECK(says(nullptr, ERROR_NOT_ENOUGH_MEMORY,
                 [&] { return functions.reallocate(block, 100'000, 0); }));
      CHECK(says(nullptr, ERROR_NOT_ENOUGH_MEMORY,
                 [&] { return functions.reallocate(block, kNoSize, LMEM_MOVEABLE); }));
      CHECK(functions.reallocate(block, 0, LMEM_MODIFY) == block);
      CHECK(says(nullptr, ERROR_INVALID_PARAMETER,
                 [&] { return functions.reallocate(block, 60, GMEM_DISCARDABLE); }));
      CHECK(functions.measure(block) == 60);
      CHECK(functions.release(block) == nullptr);
    });
    CHECK(faults.empty());
  });
}

TEST_CASE("fixed memory that there is none of is null, with the system's error") {
  const Recording recording;
  with_both([](auto functions) {
    CAPTURE(functions.name);
    CHECK(says(nullptr, ERROR_NOT_ENOUGH_MEMORY,
               [&] { return functions.allocate(LMEM_FIXED, kNoSize); }));
  });
}

TEST_CASE("a bad free of fixed memory is told, and gives the handle back") {
  const Recording recording;
  with_both([](auto functions) {
    CAPTURE(functions.name);
    alignas(16) static char global[64];
    const auto refuses = [&](void* block) {
      return says(block, ERROR_INVALID_HANDLE, [&] { return functions.release(escape(block)); });
    };
    const auto faults = faults_of([&] {
      // Where no smaller block has been.
      auto* const block =
          static_cast<char*>(escape(functions.allocate(LMEM_FIXED, std::size_t{3} << 20)));
      CHECK(refuses(global));
      CHECK(refuses(global + 8));
      CHECK(refuses(block + 16));
      CHECK(refuses(block + 8));
      CHECK(functions.release(escape(block)) == nullptr);
      CHECK(refuses(block));
      CHECK(says(nullptr, ERROR_INVALID_HANDLE,
                 [&] { return functions.reallocate(escape(block), 10, LMEM_MOVEABLE); }));
    });
    REQUIRE(faults.size() == 6);
    CHECK(faults[0].kind == MisuseKind::kUnknownPointer);
    CHECK(faults[1].kind == MisuseKind::kUnknownPointer);
    CHECK(faults[2].kind == MisuseKind::kInteriorPointer);
    CHECK(faults[3].kind == MisuseKind::kInteriorPointer);
    CHECK(faults[4].kind == MisuseKind::kDoubleFree);
    CHECK(faults[5].kind == MisuseKind::kDoubleFree);
    CHECK(::HeapValidate(::GetProcessHeap(), 0, nullptr) != 0);
  });
}

TEST_CASE("a handle of memory that may move is the system's; one that is none is told") {
  const Recording recording;
  with_both([](auto functions) {
    CAPTURE(functions.name);
    HLOCAL handle = nullptr;
    const auto none = faults_of([&] {
      handle = functions.allocate(LMEM_MOVEABLE | LMEM_ZEROINIT, 100);
      REQUIRE(handle != nullptr);
      void* const block = functions.lock(handle);
      CHECK(block != handle);
      CHECK(functions.handle_of(block) == handle);
      ::GlobalUnlock(handle);
      handle = functions.reallocate(handle, 5'000, LMEM_MOVEABLE);
      REQUIRE(handle != nullptr);
      CHECK(functions.measure(handle) == 5'000);
      CHECK(functions.release(handle) == nullptr);
    });
    CHECK(none.empty());
    const auto faults = faults_of([&] {
      CHECK(says(handle, ERROR_INVALID_HANDLE, [&] { return functions.release(escape(handle)); }));
      CHECK(says(nullptr, ERROR_INVALID_HANDLE,
                 [&] { return functions.reallocate(escape(handle), 10, LMEM_MOVEABLE); }));
    });
    REQUIRE(faults.size() == 2);
    CHECK(faults[0].kind == MisuseKind::kUnknownPointer);
    CHECK(faults[1].kind == MisuseKind::kUnknownPointer);
  });
}

TEST_CASE(
    "fixed memory and blocks of the process's heap are one, and those of other heaps are not") {
  const Recording recording;
  const HANDLE process = ::GetProcessHeap();
  const HANDLE heap = ::HeapCreate(0, 0, 0);
  const auto faults = faults_of([&] {
    CHECK(::LocalFree(escape(::HeapAlloc(process, 0, 10))) == nullptr);
    CHECK(::HeapFree(process, 0, escape(::LocalAlloc(LMEM_FIXED, 10))) != 0);
    CHECK(::GlobalFree(escape(::LocalAlloc(LMEM_FIXED, 10))) == nullptr);
    CHECK(::LocalFree(escape(::HeapAlloc(heap, 0, 10))) == nullptr);
  });
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].kind == MisuseKind::kWrongHeap);
  CHECK(faults[0].block.heap.value == heap);
  CHECK(::HeapDestroy(heap) != 0);
}

TEST_CASE("what the system allocates for the program goes by LocalFree") {
  const Recording recording;
  const auto faults = faults_of([] {
    wchar_t* text = nullptr;
    const DWORD flags = FORMAT_MESSAGE_ALLOCATE_BUFFER | FORMAT_MESSAGE_FROM_STRING;
    const DWORD length =
        ::FormatMessageW(flags, L"text", 0, 0, reinterpret_cast<wchar_t*>(&text), 0, nullptr);
    REQUIRE(length == 4);
    CHECK(text[3] == L't');
    CHECK(::LocalFree(text) == nullptr);
  });
  CHECK(faults.empty());
}

TEST_CASE("fixed memory that outlives the session goes as it should after it") {
  HLOCAL block = nullptr;
  {
    const Recording recording;
    block = ::LocalAlloc(LMEM_FIXED, 100);
  }
  const int before = told_misuse().times;
  block = ::LocalReAlloc(block, 200, LMEM_MOVEABLE);
  CHECK(::LocalFree(block) == nullptr);
  CHECK(told_misuse().times == before);
  CHECK(::LocalFree(escape(block)) == block);
  CHECK(told_misuse().times == before + 1);
}
