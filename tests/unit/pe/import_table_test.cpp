#include "alloctap/pe/import_table.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace {

using namespace alloctap::pe;

constexpr std::size_t kHeaders = 0x80;
constexpr std::uint64_t kByNumber = std::uint64_t{1} << 63;

/// A module in memory, of which only what imports need is filled in.
struct Module {
  Module() : bytes(0x1000) {
    put<std::uint16_t>(0, 0x5A4D);
    put<std::uint32_t>(0x3C, kHeaders);
    put<std::uint32_t>(kHeaders, 0x4550);
    put<std::uint16_t>(kHeaders + 24, 0x20B);
    put<std::uint32_t>(kHeaders + 24 + 108, 16);
  }

  template <class Number>
  void put(std::size_t place, Number number) {
    std::memcpy(bytes.data() + place, &number, sizeof number);
  }
  void put_name(std::size_t place, const char* name) {
    std::memcpy(bytes.data() + place + 2, name, std::strlen(name) + 1);
  }
  void set_directory(std::uint32_t number, std::uint32_t place) {
    put<std::uint32_t>(kHeaders + 24 + 112 + number * 8, place);
  }
  /// An entry of the table of libraries.
  void put_library(std::size_t place, std::uint32_t names, std::uint32_t slots) {
    put<std::uint32_t>(place, names);
    put<std::uint32_t>(place + 16, slots);
  }

  std::vector<std::byte> bytes;
};

std::vector<std::string> slots_of(const std::vector<std::byte>& bytes) {
  std::vector<std::string> slots;
  ImportTable(bytes).for_each_slot([&](const ImportSlot& slot) {
    slots.push_back(std::to_string(slot.offset) + " " + (slot.name == nullptr ? "-" : slot.name) +
                    (slot.is_delayed ? " delayed" : ""));
  });
  return slots;
}

/// Two libraries: two names and a number, and one whose names are not kept.
Module two_libraries() {
  Module module;
  module.set_directory(1, 0x300);
  module.put_library(0x300, 0x400, 0x500);
  module.put_library(0x314, 0, 0x580);
  module.put<std::uint64_t>(0x400, 0x600);
  module.put<std::uint64_t>(0x408, kByNumber | 7);
  module.put<std::uint64_t>(0x410, 0x640);
  module.put_name(0x600, "RtlAllocateHeap");
  module.put_name(0x640, "RtlFreeHeap");
  // Bound: addresses, whatever they are.
  for (std::size_t slot = 0x500; slot < 0x518; slot += 8) {
    module.put<std::uint64_t>(slot, 0x7FFE12345678);
  }
  module.put<std::uint64_t>(0x580, 0x7FFE12345678);
  return module;
}

}  // namespace

TEST_CASE("slots are told with their names, whatever they hold") {
  CHECK(slots_of(two_libraries().bytes) ==
        std::vector<std::string>{"1280 RtlAllocateHeap", "1288 -", "1296 RtlFreeHeap", "1408 -"});
}

TEST_CASE("slots that are bound late are told as such, unless their table holds addresses") {
  Module module;
  module.set_directory(13, 0x700);
  module.put<std::uint32_t>(0x700, 1);
  module.put<std::uint32_t>(0x70C, 0x800);
  module.put<std::uint32_t>(0x710, 0x880);
  module.put<std::uint64_t>(0x880, 0x900);
  module.put_name(0x900, "HeapAlloc");
  CHECK(slots_of(module.bytes) == std::vector<std::string>{"2048 HeapAlloc delayed"});
  module.put<std::uint32_t>(0x700, 0);
  CHECK(slots_of(module.bytes).empty());
}

TEST_CASE("a module without imports, or with fewer tables, has no slots") {
  CHECK(slots_of(Module().bytes).empty());
  Module module = two_libraries();
  module.put<std::uint32_t>(kHeaders + 24 + 108, 1);
  CHECK(slots_of(module.bytes).empty());
  CHECK(slots_of({}).empty());
}

TEST_CASE("tables that lead out of the module end at its end") {
  Module module = two_libraries();
  // No name ends there.
  module.put<std::uint64_t>(0x400, 0xFFD);
  module.put<std::uint16_t>(0xFFE, 0x4141);
  CHECK(slots_of(module.bytes)[0] == "1280 -");
  module.put<std::uint64_t>(0x400, 0xFFFFFFFF);
  CHECK(slots_of(module.bytes)[0] == "1280 -");
  module.put_library(0x300, 0x400, 0xFF0);
  CHECK(slots_of(module.bytes) == std::vector<std::string>{"4080 -", "4088 -", "1408 -"});
  module.set_directory(1, 0xFFF);
  CHECK(slots_of(module.bytes).empty());
  module.set_directory(1, 0xFFFFFFFF);
  CHECK(slots_of(module.bytes).empty());
}

TEST_CASE("every cut of a module is read without harm") {
  const Module module = two_libraries();
  for (std::size_t bytes = 0; bytes <= module.bytes.size(); ++bytes) {
    const std::vector<std::byte> cut(module.bytes.begin(),
                                     module.bytes.begin() + static_cast<std::ptrdiff_t>(bytes));
    CHECK(slots_of(cut).size() <= 4);
  }
}
