// What WindowsHeapHook does to ntdll.dll.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>

#include "alloctap/hook/windows_heap_hook.hpp"
#include "alloctap/status.hpp"
#include "tests/contract/hooks/hooked_program.hpp"
#include "tests/support/code_in_file.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;

using Allocate = void* NTAPI(HANDLE, ULONG, SIZE_T);

template <class Function>
Function* system_function(const char* name) {
  return reinterpret_cast<Function*>(os::find_system_function(name));
}

bool code_is_as_before() {
  return code_is_as_in_file(
      reinterpret_cast<const void*>(system_function<Allocate>("RtlAllocateHeap")));
}

/// A thread that has the loader's lock until this is destroyed.
class LoaderLocked {
 public:
  LoaderLocked() {
    while (!locked_) ::Sleep(1);
  }
  ~LoaderLocked() {
    done_ = true;
    thread_.join();
  }
  LoaderLocked(const LoaderLocked&) = delete;
  LoaderLocked& operator=(const LoaderLocked&) = delete;

 private:
  void hold() {
    using Lock = NTSTATUS NTAPI(ULONG flags, ULONG * state, ULONG_PTR * cookie);
    using Unlock = NTSTATUS NTAPI(ULONG flags, ULONG_PTR cookie);
    ULONG_PTR cookie = 0;
    system_function<Lock>("LdrLockLoaderLock")(0, nullptr, &cookie);
    locked_ = true;
    while (!done_) ::Sleep(1);
    system_function<Unlock>("LdrUnlockLoaderLock")(0, cookie);
  }

  std::atomic<bool> locked_{false};
  std::atomic<bool> done_{false};
  std::thread thread_{[this] { hold(); }};
};

}  // namespace

TEST_CASE("the code of ntdll.dll is afterwards as it was before") {
  CHECK(code_is_as_before());
  {
    const Recording recording;
    CHECK_FALSE(code_is_as_before());
  }
  CHECK(code_is_as_before());
}

TEST_CASE("a call through an address that was told before the start is seen") {
  Allocate* const volatile allocate = system_function<Allocate>("RtlAllocateHeap");
  const Recording recording;
  const EventCount count;
  void* const block = allocate(::GetProcessHeap(), 0, 100);
  const EventTotals made = count.so_far();
  ::HeapFree(::GetProcessHeap(), 0, block);
  CHECK(made.allocations == 1);
  CHECK(made.live_bytes == 100);
}

TEST_CASE("functions are patched and restored while another thread has the loader's lock") {
  // To ask for a file's name would take the lock.
  const auto first_byte = [] {
    return *reinterpret_cast<const volatile std::byte*>(
        os::find_system_function("RtlAllocateHeap"));
  };
  const std::byte before = first_byte();
  const LoaderLocked locked;
  REQUIRE(WindowsHeapHook::install<EventSinkArchetype>().ok());
  const std::byte patched = first_byte();
  WindowsHeapHook::uninstall();
  CHECK(patched != before);
  CHECK(first_byte() == before);
}

TEST_CASE("if one function cannot be patched none is, and the error names it") {
  const auto* const function =
      reinterpret_cast<const void*>(os::find_system_function("NtUnmapViewOfSection"));
  constexpr std::size_t kStubBytes = 21;
  const auto other = FunctionPatch::prepare({.address = function, .bytes = kStubBytes}, function);
  REQUIRE(other.ok());
  const alloctap::Status status = WindowsHeapHook::install<EventSinkArchetype>();
  CHECK(status.code() == alloctap::StatusCode::kAlreadyExists);
  CHECK(status.message().find("FunctionPatch: NtUnmapViewOfSection at 0x") != std::string::npos);
  CHECK(code_is_as_before());
}
