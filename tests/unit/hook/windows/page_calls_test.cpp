#include <doctest/doctest.h>

#include <cstddef>
#include <span>

#include "alloctap/hook/windows/entry_points.hpp"
#include "tests/unit/hook/windows/windows_entries.hpp"

namespace {

using namespace alloctap::testing;

struct PageCallsTest;
using Entries = WindowsEntries<PageCallsTest>;
using Sink = Entries::Sink;

const HANDLE kThisProcess = ::GetCurrentProcess();
constexpr SIZE_T kPage = 4096;

void* allocate_pages(void* address, SIZE_T bytes, ULONG type, HANDLE process = kThisProcess) {
  const NTSTATUS status = Entries::call<alloctap::ntdll::NtAllocateVirtualMemory>(
      process, &address, 0, &bytes, type, PAGE_READWRITE);
  return status >= 0 ? address : nullptr;
}

NTSTATUS free_pages(void* address, SIZE_T bytes, ULONG type, HANDLE process = kThisProcess) {
  return Entries::call<alloctap::ntdll::NtFreeVirtualMemory>(process, &address, &bytes, type);
}

void* at(void* address, SIZE_T bytes) { return static_cast<char*>(address) + bytes; }

/// A section of the paging file.
HANDLE new_section(DWORD bytes) {
  return ::CreateFileMappingW(INVALID_HANDLE_VALUE, nullptr, PAGE_READWRITE, 0, bytes, nullptr);
}

NTSTATUS map_view(HANDLE section, void*& address, SIZE_T bytes, HANDLE process = kThisProcess) {
  constexpr ULONG kViewUnmap = 2;
  return Entries::call<alloctap::ntdll::NtMapViewOfSection>(
      section, process, &address, 0, 0, nullptr, &bytes, kViewUnmap, 0, PAGE_READWRITE);
}

/// A handle of this process that is not the constant that stands for it.
HANDLE real_handle() { return ::OpenProcess(PROCESS_ALL_ACCESS, FALSE, ::GetCurrentProcessId()); }

/// What goes away is told in two steps.
void check_gone(std::span<const Told> told, void* address, SIZE_T bytes) {
  REQUIRE(told.size() == 2);
  CHECK(told[0] == Told{SinkFunction::kBeginUnmap, address, bytes});
  CHECK(told[1] == Told{SinkFunction::kFinishUnmap, address});
}

struct OtherProcess {
  OtherProcess() {
    STARTUPINFOW start{};
    start.cb = sizeof start;
    wchar_t command[] = L"cmd.exe";
    REQUIRE(::CreateProcessW(nullptr, command, nullptr, nullptr, FALSE, CREATE_SUSPENDED, nullptr,
                             nullptr, &start, &information));
  }
  ~OtherProcess() {
    ::TerminateProcess(information.hProcess, 0);
    ::CloseHandle(information.hThread);
    ::CloseHandle(information.hProcess);
  }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;

  PROCESS_INFORMATION information{};
};

}  // namespace

TEST_CASE("pages that are reserved and committed are one mapping, in whole pages") {
  const Entries entries;
  void* const pages = allocate_pages(nullptr, 3 * kPage - 5, MEM_RESERVE | MEM_COMMIT);
  REQUIRE(pages != nullptr);
  REQUIRE(Sink::told().size() == 1);
  CHECK(Sink::told()[0] == Told{SinkFunction::kMap, pages, 3 * kPage});
  Sink::forget();
  CHECK(free_pages(pages, 0, MEM_RELEASE) >= 0);
  // The system hands out addresses in steps of 64 KiB; what is left of a step is nobody's.
  check_gone(Sink::told(), pages, 3 * kPage);
}

TEST_CASE("a reservation is no memory; parts of it that are committed are, until they go") {
  const Entries entries;
  void* const reserved = allocate_pages(nullptr, 100 * kPage, MEM_RESERVE);
  REQUIRE(reserved != nullptr);
  CHECK(Sink::told().empty());
  // The bytes named touch two pages.
  CHECK(allocate_pages(at(reserved, 5 * kPage + 100), kPage, MEM_COMMIT) ==
        at(reserved, 5 * kPage));
  REQUIRE(Sink::told().size() == 1);
  CHECK(Sink::told()[0] == Told{SinkFunction::kMap, at(reserved, 5 * kPage), 2 * kPage});
  Sink::forget();
  CHECK(free_pages(at(reserved, 6 * kPage + 4000), 200, MEM_DECOMMIT) >= 0);
  check_gone(Sink::told(), at(reserved, 6 * kPage), 2 * kPage);
  Sink::forget();
  CHECK(free_pages(reserved, 0, MEM_RELEASE) >= 0);
  check_gone(Sink::told(), reserved, 100 * kPage);
}

TEST_CASE("to decommit from the start without a length takes the whole allocation") {
  const Entries entries;
  void* const pages = allocate_pages(nullptr, 10 * kPage, MEM_RESERVE | MEM_COMMIT);
  Sink::forget();
  CHECK(free_pages(pages, 0, MEM_DECOMMIT) >= 0);
  check_gone(Sink::told(), pages, 10 * kPage);
  CHECK(free_pages(pages, 0, MEM_RELEASE) >= 0);
}

TEST_CASE("page calls that fail, or ask for no memory, change nothing") {
  const Entries entries;
  CHECK(allocate_pages(nullptr, SIZE_T{1} << 60, MEM_RESERVE | MEM_COMMIT) == nullptr);
  CHECK(Sink::told().empty());
  void* const pages = allocate_pages(nullptr, 2 * kPage, MEM_RESERVE | MEM_COMMIT);
  Sink::forget();
  CHECK(allocate_pages(pages, kPage, MEM_RESET) == pages);
  CHECK(Sink::told().empty());
  // A part cannot be released.
  CHECK(free_pages(at(pages, kPage), 0, MEM_RELEASE) < 0);
  REQUIRE(Sink::told().size() == 2);
  CHECK(Sink::told()[1].function == SinkFunction::kCancelUnmap);
  CHECK(free_pages(pages, 0, MEM_RELEASE) >= 0);
}

TEST_CASE("a view is told in the length that the system gave it, and gone by any address in it") {
  const Entries entries;
  const HANDLE section = new_section(5 * kPage);
  void* view = nullptr;
  // The whole section.
  REQUIRE(map_view(section, view, 0) >= 0);
  REQUIRE(Sink::told().size() == 1);
  CHECK(Sink::told()[0] == Told{SinkFunction::kMap, view, 5 * kPage});
  Sink::forget();
  const auto unmap = Entries::call<alloctap::ntdll::NtUnmapViewOfSection>;
  CHECK(unmap(kThisProcess, at(view, 2 * kPage + 7)) >= 0);
  check_gone(Sink::told(), view, 5 * kPage);
  Sink::forget();
  CHECK(unmap(kThisProcess, view) < 0);
  REQUIRE(Sink::told().size() == 2);
  CHECK(Sink::told()[1].function == SinkFunction::kCancelUnmap);
  ::CloseHandle(section);
}

TEST_CASE("a handle of the own process is as good as the constant") {
  const Entries entries;
  const HANDLE self = real_handle();
  void* const pages = allocate_pages(nullptr, kPage, MEM_RESERVE | MEM_COMMIT, self);
  REQUIRE(Sink::told().size() == 1);
  CHECK(Sink::told()[0] == Told{SinkFunction::kMap, pages, kPage});
  CHECK(free_pages(pages, 0, MEM_RELEASE, self) >= 0);
  CHECK(Sink::told().size() == 3);
  ::CloseHandle(self);
}

TEST_CASE("calls for other processes are handed on and not told") {
  const Entries entries;
  const OtherProcess other;
  const HANDLE process = other.information.hProcess;
  void* const pages = allocate_pages(nullptr, kPage, MEM_RESERVE | MEM_COMMIT, process);
  CHECK(pages != nullptr);
  CHECK(free_pages(pages, 0, MEM_RELEASE, process) >= 0);
  const HANDLE section = new_section(kPage);
  void* view = nullptr;
  CHECK(map_view(section, view, 0, process) >= 0);
  CHECK(Entries::call<alloctap::ntdll::NtUnmapViewOfSection>(process, view) >= 0);
  ::CloseHandle(section);
  CHECK(Sink::told().empty());
}

TEST_CASE("page calls leave the last error alone") {
  const Entries entries;
  ::SetLastError(ERROR_DISK_FULL);
  void* const pages = allocate_pages(nullptr, kPage, MEM_RESERVE | MEM_COMMIT);
  CHECK(::GetLastError() == ERROR_DISK_FULL);
  free_pages(pages, 0, MEM_RELEASE);
  CHECK(::GetLastError() == ERROR_DISK_FULL);
  // No process's handle: the test of it fails in the system.
  CHECK(allocate_pages(nullptr, kPage, MEM_RESERVE, reinterpret_cast<HANDLE>(0x12344)) == nullptr);
  CHECK(::GetLastError() == ERROR_DISK_FULL);
}
