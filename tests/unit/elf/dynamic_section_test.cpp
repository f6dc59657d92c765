#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <vector>

#include "alloctap/elf/symbol_slots.hpp"

namespace {

using namespace alloctap::elf;

/// A module of one segment: its dynamic section, names, symbols and relocations, one behind the
/// other.
class Module {
 public:
  static constexpr std::uintptr_t kNames = 0x200;
  static constexpr std::uintptr_t kSymbols = 0x280;
  static constexpr std::uintptr_t kRelocations = 0x300;
  static constexpr std::uintptr_t kBytes = 0x400;

  Module() {
    segments_[0] = {.p_type = PT_LOAD,
                    .p_flags = PF_R,
                    .p_offset = 0,
                    .p_vaddr = 0,
                    .p_paddr = 0,
                    .p_filesz = kBytes,
                    .p_memsz = kBytes,
                    .p_align = 8};
    segments_[1] = segments_[0];
    segments_[1].p_type = PT_DYNAMIC;
    segments_[1].p_memsz = kNames;
    std::memcpy(bytes_.data() + kNames, "\0malloc\0cut", 11);
    add(DT_STRTAB, kNames);
    add(DT_STRSZ, 11);
    add(DT_SYMTAB, kSymbols);
  }

  void add(ElfW(Sxword) tag, std::uintptr_t value) {
    const ElfW(Dyn) entry{.d_tag = tag, .d_un = {.d_val = value}};
    std::memcpy(bytes_.data() + count_++ * sizeof entry, &entry, sizeof entry);
  }
  ElfW(Phdr) & segment(std::size_t i) { return segments_[i]; }
  std::uintptr_t bias() const { return reinterpret_cast<std::uintptr_t>(bytes_.data()); }
  std::optional<DynamicSection> read() const {
    return read_dynamic_section(LoadedMemory(bias(), segments_));
  }

 private:
  alignas(8) std::array<char, kBytes> bytes_{};
  std::array<ElfW(Phdr), 2> segments_{};
  std::size_t count_ = 0;
};

}  // namespace

TEST_CASE("a pointer is an address in the process, or in the file where the loader left it") {
  CHECK(dynamic_address(0x1234, 0x10000) == 0x11234);
  CHECK(dynamic_address(0x11234, 0x10000) == 0x11234);
  CHECK(dynamic_address(0x1234, 0) == 0x1234);
  Module absolute;
  absolute.add(DT_STRTAB, absolute.bias() + Module::kNames + 1);
  REQUIRE(absolute.read().has_value());
  CHECK(absolute.read()->names.starts_with("malloc"));
}

TEST_CASE("names end with the last of them that ends, and symbols where their segment does") {
  const Module module;
  const auto section = module.read();
  REQUIRE(section.has_value());
  CHECK(section->names == std::string_view("\0malloc\0", 8));
  CHECK(section->symbols.size() == (Module::kBytes - Module::kSymbols) / sizeof(ElfW(Sym)));
  CHECK(section->rela.empty());
  CHECK(section->jump_slots_rel.empty());
}

TEST_CASE("jump slots have the format that is stated") {
  Module module;
  module.add(DT_JMPREL, Module::kRelocations);
  module.add(DT_PLTRELSZ, 2 * sizeof(ElfW(Rela)));
  module.add(DT_PLTREL, DT_RELA);
  REQUIRE(module.read().has_value());
  CHECK(module.read()->jump_slots_rela.size() == 2);
  CHECK(module.read()->jump_slots_rel.empty());
  module.add(DT_PLTREL, DT_REL);
  CHECK(module.read()->jump_slots_rela.empty());
  CHECK(module.read()->jump_slots_rel.size() == 3);
}

TEST_CASE("relocations that name no symbol are left out, and no more than there are") {
  Module module;
  module.add(DT_RELA, Module::kRelocations);
  module.add(DT_RELASZ, 5 * sizeof(ElfW(Rela)));
  module.add(DT_RELACOUNT, 3);
  module.add(DT_REL, Module::kRelocations);
  module.add(DT_RELSZ, 4 * sizeof(ElfW(Rel)));
  REQUIRE(module.read().has_value());
  CHECK(module.read()->rela.size() == 2);
  CHECK(module.read()->rel.size() == 4);
  module.add(DT_RELACOUNT, 6);
  CHECK(module.read()->rela.empty());
}

TEST_CASE("tables outside of the segments are empty") {
  Module module;
  module.add(DT_RELA, Module::kBytes - sizeof(ElfW(Rela)));
  module.add(DT_RELASZ, 2 * sizeof(ElfW(Rela)));
  REQUIRE(module.read().has_value());
  CHECK(module.read()->rela.empty());
  module.add(DT_SYMTAB, Module::kBytes);
  CHECK(module.read()->symbols.empty());
}

TEST_CASE("what stands behind the end is not read") {
  Module module;
  module.add(DT_NULL, 0);
  module.add(DT_STRSZ, 0);
  CHECK(module.read().has_value());
}

TEST_CASE(
    "without a dynamic section, without names, or with symbols of another size there is none") {
  Module static_program;
  static_program.segment(1).p_type = PT_NOTE;
  CHECK_FALSE(static_program.read().has_value());
  Module nameless;
  nameless.add(DT_STRSZ, 0);
  CHECK_FALSE(nameless.read().has_value());
  Module foreign;
  foreign.add(DT_SYMENT, sizeof(ElfW(Sym)) + 8);
  CHECK_FALSE(foreign.read().has_value());
  Module outside;
  outside.segment(1).p_vaddr = Module::kBytes;
  CHECK_FALSE(outside.read().has_value());
}
