// What WindowsImportHook does to slots.
#include <algorithm>
#include <cctype>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "alloctap/hook/windows_import_hook.hpp"
#include "alloctap/os/windows/module_symbols.hpp"
#include "alloctap/pe/import_table.hpp"
#include "tests/contract/hooks/hooked_program.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;

struct Slot {
  std::uintptr_t* place;
  std::uintptr_t value;
  DWORD protection;
  std::string name;
  bool operator==(const Slot&) const = default;
};

/// All slots of a module, as they are.
std::vector<Slot> slots_of(const wchar_t* name) {
  const auto start = reinterpret_cast<std::uintptr_t>(::GetModuleHandleW(name));
  const auto* const image = reinterpret_cast<const std::byte*>(start);
  const std::size_t bytes = os::image_headers(start).OptionalHeader.SizeOfImage;
  std::vector<Slot> slots;
  pe::ImportTable(std::span(image, bytes)).for_each_slot([&](const pe::ImportSlot& slot) {
    auto* const place = reinterpret_cast<std::uintptr_t*>(start + slot.offset);
    MEMORY_BASIC_INFORMATION region;
    ::VirtualQuery(place, &region, sizeof region);
    slots.push_back({place, *place, region.Protect, slot.name == nullptr ? "" : slot.name});
  });
  return slots;
}

std::uintptr_t address_of(const char* name) {
  const HMODULE system = ::GetModuleHandleW(L"ntdll.dll");
  return reinterpret_cast<std::uintptr_t>(reinterpret_cast<void*>(::GetProcAddress(system, name)));
}

const ImportModuleReport* find(const ImportReport& report, std::string_view file) {
  const auto lower = [](std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
  };
  const auto found = std::find_if(
      report.modules.begin(), report.modules.end(),
      [&](const ImportModuleReport& module) { return lower(module.path).ends_with(file); });
  return found == report.modules.end() ? nullptr : &*found;
}

}  // namespace

TEST_CASE("slots and the protection of their pages are afterwards as they were before") {
  for (const wchar_t* module : {L"kernelbase.dll", L"kernel32.dll", L"msvcrt.dll", L"ole32.dll"}) {
    const std::vector<Slot> before = slots_of(module);
    REQUIRE(!before.empty());
    {
      const Recording recording;
      const std::vector<Slot> meanwhile = slots_of(module);
      CHECK(meanwhile != before);
      for (std::size_t i = 0; i < before.size(); ++i) {
        CHECK(meanwhile[i].protection == before[i].protection);
      }
    }
    CHECK(slots_of(module) == before);
  }
}

TEST_CASE("no slot that held one of the functions is left out") {
  const std::uintptr_t allocate = address_of("RtlAllocateHeap");
  const std::uintptr_t map = address_of("NtAllocateVirtualMemory");
  const std::vector<Slot> before = slots_of(L"kernelbase.dll");
  const Recording recording;
  const std::vector<Slot> meanwhile = slots_of(L"kernelbase.dll");
  int changed = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const bool is_one = before[i].value == allocate || before[i].value == map;
    if (is_one) CHECK(meanwhile[i].value != before[i].value);
    changed += is_one ? 1 : 0;
  }
  CHECK(changed >= 2);
}

TEST_CASE("a slot that another tool takes meanwhile stays that tool's") {
  std::vector<Slot> slots = slots_of(L"kernelbase.dll");
  const std::uintptr_t original = address_of("RtlAllocateHeap");
  const auto slot = std::find_if(slots.begin(), slots.end(),
                                 [&](const Slot& each) { return each.value == original; });
  REQUIRE(slot != slots.end());
  std::uintptr_t ours = 0;
  // Stands for another tool's handler.
  static const auto others =
      +[](HANDLE heap, ULONG flags, SIZE_T bytes) { return ::HeapAlloc(heap, flags, bytes); };
  const auto theirs = reinterpret_cast<std::uintptr_t>(others);
  {
    const Recording recording;
    ours = *slot->place;
    CHECK(os::exchange_slot(slot->place, ours, theirs) == os::SlotExchange::kDone);
    const ImportReport report = WindowsImportHook::report();
    const ImportModuleReport* const module = find(report, "/kernelbase.dll");
    REQUIRE(module != nullptr);
    CHECK(module->skipped == 1);
    CHECK(module->why == "1 lead to another tool's hook");
  }
  CHECK(*slot->place == theirs);
  CHECK(os::exchange_slot(slot->place, theirs, original) == os::SlotExchange::kDone);
}

TEST_CASE("the report tells of each module how much is hooked, and why not more") {
  const Recording recording;
  const ImportReport report = WindowsImportHook::report();
  const ImportModuleReport* const base = find(report, "/kernelbase.dll");
  const ImportModuleReport* const system = find(report, "/ntdll.dll");
  REQUIRE(base != nullptr);
  REQUIRE(system != nullptr);
  CHECK(base->hooked >= 8);
  CHECK(base->skipped == 0);
  CHECK(base->why.empty());
  CHECK(system->hooked == 0);
  CHECK(system->why == "it imports none of the functions");
  CHECK(report.hooked_slots >= base->hooked);
  CHECK(report.warnings.empty());
}

TEST_CASE("what is bound behind the hook's back is hooked by refresh") {
  const Recording recording;
  std::vector<Slot> slots = slots_of(L"kernelbase.dll");
  const std::uint32_t hooked = WindowsImportHook::report().hooked_slots;
  const auto slot = std::find_if(slots.begin(), slots.end(),
                                 [](const Slot& each) { return each.name == "RtlAllocateHeap"; });
  REQUIRE(slot != slots.end());
  const std::uintptr_t handler = *slot->place;
  const std::vector<Slot> again = slots_of(L"kernelbase.dll");
  hooked_program.end();
  const std::uintptr_t original = *slot->place;
  REQUIRE(hooked_program.start().empty());
  CHECK(os::exchange_slot(slot->place, handler, original) == os::SlotExchange::kDone);
  CHECK(WindowsImportHook::report().hooked_slots == hooked - 1);
  WindowsImportHook::refresh();
  CHECK(*slot->place == handler);
  CHECK(WindowsImportHook::report().hooked_slots == hooked);
}
