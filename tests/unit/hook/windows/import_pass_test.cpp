#include "alloctap/hook/windows/import_pass.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>

#include "alloctap/hook/windows/import_engine.hpp"

namespace {

using namespace alloctap;

constexpr std::uintptr_t kOriginal = 0x7FFE0000'1000;
constexpr std::uintptr_t kHandler = 0x7FFE0000'2000;
constexpr std::uintptr_t kOther = 0x7FFE0000'3000;
constexpr std::size_t kBytes = 0x2000;
constexpr std::size_t kHeaders = 0x80;
/// The first page has what is read, the second the slots.
constexpr std::size_t kSlots = 0x1000;
constexpr std::size_t kLateSlots = 0x1100;

const std::array<PltTarget, 2> kTargets{
    PltTarget{.name = "RtlAllocateHeap", .handler = kHandler, .original = kOriginal},
    // Not on this system.
    PltTarget{.name = "RtlNowhere", .handler = kOther + 16, .original = 0}};

template <class Number>
void put(std::byte* module, std::size_t place, Number number) {
  std::memcpy(module + place, &number, sizeof number);
}

/// A module that imports RtlAllocateHeap twice, and late once more, and something else.
void make_module(std::byte* module) {
  put<std::uint16_t>(module, 0, 0x5A4D);
  put<std::uint32_t>(module, 0x3C, kHeaders);
  put<std::uint32_t>(module, kHeaders, 0x4550);
  put<std::uint16_t>(module, kHeaders + 24, 0x20B);
  put<std::uint32_t>(module, kHeaders + 24 + 56, kBytes);
  put<std::uint32_t>(module, kHeaders + 24 + 108, 16);
  put<std::uint32_t>(module, kHeaders + 24 + 112 + 8, 0x300);
  put<std::uint32_t>(module, 0x300, 0x400);
  put<std::uint32_t>(module, 0x310, kSlots);
  put<std::uint64_t>(module, 0x400, 0x600);
  put<std::uint64_t>(module, 0x408, 0x600);
  put<std::uint64_t>(module, 0x410, 0x640);
  std::memcpy(module + 0x602, "RtlAllocateHeap", 16);
  std::memcpy(module + 0x642, "RtlNowhere", 11);
  put<std::uint32_t>(module, kHeaders + 24 + 112 + 13 * 8, 0x700);
  put<std::uint32_t>(module, 0x700, 1);
  put<std::uint32_t>(module, 0x70C, kLateSlots);
  put<std::uint32_t>(module, 0x710, 0x780);
  put<std::uint64_t>(module, 0x780, 0x600);
  put<std::uint64_t>(module, kSlots, kOriginal);
  put<std::uint64_t>(module, kSlots + 8, kOther);
  put<std::uint64_t>(module, kSlots + 16, kOther);
}

/// In memory of its own.
struct Module {
  Module()
      : memory(static_cast<std::byte*>(
            ::VirtualAlloc(nullptr, kBytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE))) {
    make_module(memory);
    // To code of the module's own, till it is bound.
    put<std::uint64_t>(memory, kLateSlots, start() + 0x1234);
    DWORD before = 0;
    ::VirtualProtect(memory + kSlots, 0x1000, PAGE_READONLY, &before);
  }
  ~Module() { ::VirtualFree(memory, 0, MEM_RELEASE); }
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  [[nodiscard]] std::uintptr_t start() const { return reinterpret_cast<std::uintptr_t>(memory); }
  [[nodiscard]] std::uintptr_t slot(std::size_t place) const {
    return *reinterpret_cast<const std::uintptr_t*>(memory + place);
  }
  void set_slot(std::size_t place, std::uintptr_t value) const {
    const auto* const word = reinterpret_cast<const std::uintptr_t*>(memory + place);
    CHECK(os::exchange_slot(const_cast<std::uintptr_t*>(word), *word, value) ==
          os::SlotExchange::kDone);
  }
  [[nodiscard]] ImportCounts run(ImportAction action, bool wanted = true) const {
    const std::atomic<bool> on{wanted};
    return ImportPass(kTargets, action).run(start(), on);
  }

  std::byte* memory;
};

/// The same in a file that is mapped, and may only be read.
struct ReadOnlyModule {
  ReadOnlyModule() {
    wchar_t path[MAX_PATH];
    wchar_t folder[MAX_PATH];
    ::GetTempPathW(MAX_PATH, folder);
    ::GetTempFileNameW(folder, L"tap", 0, path);
    file = ::CreateFileW(path, GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ, nullptr,
                         CREATE_ALWAYS, FILE_FLAG_DELETE_ON_CLOSE, nullptr);
    std::byte module[kBytes]{};
    make_module(module);
    DWORD written = 0;
    ::WriteFile(file, module, kBytes, &written, nullptr);
    section = ::CreateFileMappingW(file, nullptr, PAGE_READONLY, 0, 0, nullptr);
    memory = ::MapViewOfFile(section, FILE_MAP_READ, 0, 0, 0);
  }
  ~ReadOnlyModule() {
    ::UnmapViewOfFile(memory);
    ::CloseHandle(section);
    ::CloseHandle(file);
  }
  ReadOnlyModule(const ReadOnlyModule&) = delete;
  ReadOnlyModule& operator=(const ReadOnlyModule&) = delete;

  HANDLE file;
  HANDLE section;
  void* memory;
};

}  // namespace

TEST_CASE("a slot with a function's address gets its handler, and the address back") {
  const Module module;
  const ImportCounts hooked = module.run(ImportAction::kHook);
  CHECK(module.slot(kSlots) == kHandler);
  CHECK(module.slot(kSlots + 8) == kOther);
  CHECK(hooked.hooked == 1);
  // That has one of the names and leads elsewhere. What is nowhere cannot be another's.
  CHECK(hooked.foreign == 1);
  CHECK(hooked.unbound == 1);
  CHECK(hooked.refused == 0);
  CHECK(module.run(ImportAction::kHook).hooked == 1);
  CHECK(module.run(ImportAction::kLook).hooked == 1);
  CHECK(module.run(ImportAction::kUnhook).hooked == 0);
  CHECK(module.slot(kSlots) == kOriginal);
}

TEST_CASE("to look changes nothing, and nothing is hooked that is not wanted any more") {
  const Module module;
  CHECK(module.run(ImportAction::kLook).hooked == 0);
  CHECK(module.run(ImportAction::kHook, false).hooked == 0);
  CHECK(module.slot(kSlots) == kOriginal);
}

TEST_CASE("a slot that is bound late is hooked by the next walk") {
  const Module module;
  module.set_slot(kLateSlots, kOriginal);
  const ImportCounts counts = module.run(ImportAction::kHook);
  CHECK(counts.hooked == 2);
  CHECK(counts.unbound == 0);
  CHECK(module.slot(kLateSlots) == kHandler);
}

TEST_CASE("a slot that the system does not let be written is counted") {
  const ReadOnlyModule module;
  REQUIRE(module.memory != nullptr);
  const std::atomic<bool> wanted{true};
  const ImportCounts counts = ImportPass(kTargets, ImportAction::kHook)
                                  .run(reinterpret_cast<std::uintptr_t>(module.memory), wanted);
  CHECK(counts.hooked == 0);
  CHECK(counts.refused == 1);
}

TEST_CASE("why slots are skipped is told with their numbers, and why nothing is hooked") {
  CHECK(why_skipped({.hooked = 3}).empty());
  CHECK(why_skipped({}) == "it imports none of the functions");
  CHECK(
      why_skipped({.hooked = 1, .foreign = 2, .unbound = 3, .refused = 4}) ==
      "2 lead to another tool's hook; 3 are bound when they are first called; 4 could not be made "
      "writable");
}

TEST_CASE("a report adds up the modules of a walk") {
  ArenaArray<ImportModule> modules;
  REQUIRE(modules.push_back({.path = "C:/a.dll", .counts = {.hooked = 3, .refused = 1}}));
  REQUIRE(modules.push_back({.path = "C:/b.dll", .counts = {.hooked = 2}}));
  const ImportReport report = make_import_report(modules);
  CHECK(report.hooked_slots == 5);
  REQUIRE(report.modules.size() == 2);
  CHECK(report.modules[0].path == "C:/a.dll");
  CHECK(report.modules[0].skipped == 1);
  CHECK(report.modules[1].why.empty());
}
