#include "alloctap/elf/symbol_slots.hpp"

#include <doctest/doctest.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace alloctap::elf;
using alloctap::arch::RelocationKinds;

/// A module of two pages, the second writable, between two that nobody may read. Its tables are
/// where `DynamicEntries` of a little module say, and tests change what they want.
class SlotModule {
 public:
  static constexpr std::size_t kPage = 4096;
  static constexpr std::uintptr_t kDynamicAt = 0;
  static constexpr std::uintptr_t kSymbolsAt = 512;
  static constexpr std::uintptr_t kNamesAt = 1024;
  static constexpr std::uintptr_t kJumpSlotsAt = 1536;
  static constexpr std::uintptr_t kRelaAt = 2048;
  static constexpr std::uintptr_t kRelAt = 2560;
  static constexpr std::uintptr_t kSlotsAt = kPage;
  static constexpr char kNames[] = "\0malloc\0free";
  static constexpr ElfW(Word) kMalloc = 1;
  static constexpr ElfW(Word) kFree = 8;

  SlotModule() {
    pages_ = static_cast<std::byte*>(
        mmap(nullptr, 4 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (pages_ == MAP_FAILED || mprotect(data(), 2 * kPage, PROT_READ | PROT_WRITE) != 0) {
      std::abort();
    }
    segments_ = {load(0, PF_R),
                 load(kPage, PF_R | PF_W),
                 {.p_type = PT_DYNAMIC,
                  .p_flags = PF_R,
                  .p_offset = 0,
                  .p_vaddr = kDynamicAt,
                  .p_paddr = 0,
                  .p_filesz = 0,
                  .p_memsz = 32 * sizeof(ElfW(Dyn)),
                  .p_align = 8}};
    std::memcpy(data() + kNamesAt, kNames, sizeof kNames);
    symbol(1).st_name = kMalloc;
    symbol(2).st_name = kFree;
  }
  ~SlotModule() { munmap(pages_, 4 * kPage); }
  SlotModule(const SlotModule&) = delete;
  SlotModule& operator=(const SlotModule&) = delete;

  std::byte* data() { return pages_ + kPage; }
  std::uintptr_t address() { return reinterpret_cast<std::uintptr_t>(data()); }
  ElfW(Phdr) & segment(std::size_t i) { return segments_[i]; }
  ElfW(Sym) & symbol(std::size_t i) { return at<ElfW(Sym)>(kSymbolsAt)[i]; }

  template <class T>
  T* at(std::uintptr_t offset) {
    return reinterpret_cast<T*>(data() + offset);
  }

  void add(ElfW(Sxword) tag, ElfW(Xword) value) {
    at<ElfW(Dyn)>(kDynamicAt)[entries_++] = {.d_tag = tag, .d_un = {.d_val = value}};
  }

  /// The entries of a module with `jump_slots` and `rela` relocations; `bias` is added to addresses
  /// as glibc does.
  void describe(std::size_t jump_slots, std::size_t rela, std::uintptr_t bias) {
    add(DT_SYMTAB, bias + kSymbolsAt);
    add(DT_STRTAB, bias + kNamesAt);
    add(DT_STRSZ, sizeof kNames);
    add(DT_PLTREL, DT_RELA);
    add(DT_JMPREL, bias + kJumpSlotsAt);
    add(DT_PLTRELSZ, jump_slots * sizeof(ElfW(Rela)));
    add(DT_RELA, bias + kRelaAt);
    add(DT_RELASZ, rela * sizeof(ElfW(Rela)));
  }

  void relocate(std::uintptr_t table, std::size_t number, std::uintptr_t slot, std::uint32_t kind,
                std::uint32_t symbol, std::int64_t addend = 0) {
    at<ElfW(Rela)>(table)[number] = {
        .r_offset = slot, .r_info = ELF64_R_INFO(symbol, kind), .r_addend = addend};
  }

  LoadedMemory memory() { return {address(), segments_}; }

  /// "name@offset", in the order of the walk.
  std::vector<std::string> slots() {
    std::vector<std::string> found;
    const LoadedMemory memory = this->memory();
    const auto section = read_dynamic_section(memory);
    if (!section) return found;
    for_each_symbol_slot(memory, *section, [&](const SymbolSlot& slot) {
      if (!is_writable_slot(memory, slot)) return;
      found.push_back(std::string(slot.name) + "@" +
                      std::to_string(slot.address - address() - kSlotsAt));
    });
    return found;
  }

 private:
  static ElfW(Phdr) load(std::uintptr_t address, ElfW(Word) flags) {
    return {.p_type = PT_LOAD,
            .p_flags = flags,
            .p_offset = address,
            .p_vaddr = address,
            .p_paddr = 0,
            .p_filesz = kPage,
            .p_memsz = kPage,
            .p_align = kPage};
  }

  std::byte* pages_;
  std::size_t entries_ = 0;
  std::vector<ElfW(Phdr)> segments_;
};

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("jump slots, global data and absolute words name their symbols") {
  SlotModule module;
  module.describe(1, 2, module.address());
  const std::uintptr_t slots = SlotModule::kSlotsAt;
  module.relocate(SlotModule::kJumpSlotsAt, 0, slots, RelocationKinds::kJumpSlot, 1);
  module.relocate(SlotModule::kRelaAt, 0, slots + 8, RelocationKinds::kGlobalData, 1);
  module.relocate(SlotModule::kRelaAt, 1, slots + 16, RelocationKinds::kAbsolute, 2);
  CHECK(module.slots() == Names{"malloc@0", "malloc@8", "free@16"});
}

TEST_CASE("tables lie where the file says, or where the loader says they are in memory") {
  for (const bool relocated : {false, true}) {
    SlotModule module;
    module.describe(1, 0, relocated ? module.address() : 0);
    module.relocate(SlotModule::kJumpSlotsAt, 0, SlotModule::kSlotsAt, RelocationKinds::kJumpSlot,
                    2);
    CHECK(module.slots() == Names{"free@0"});
  }
  CHECK(dynamic_address(0x1000, 0) == 0x1000);
  CHECK(dynamic_address(0x1000, 0x400000) == 0x401000);
  CHECK(dynamic_address(0x401000, 0x400000) == 0x401000);
}

TEST_CASE("a word that holds a symbol and something added is not the symbol's") {
  SlotModule module;
  module.describe(0, 1, 0);
  module.relocate(SlotModule::kRelaAt, 0, SlotModule::kSlotsAt, RelocationKinds::kAbsolute, 1, 8);
  CHECK(module.slots().empty());
}

TEST_CASE("relocations with the addend in the word count where it cannot matter") {
  SlotModule module;
  module.add(DT_SYMTAB, SlotModule::kSymbolsAt);
  module.add(DT_STRTAB, SlotModule::kNamesAt);
  module.add(DT_STRSZ, sizeof SlotModule::kNames);
  module.add(DT_PLTREL, DT_REL);
  module.add(DT_JMPREL, SlotModule::kJumpSlotsAt);
  module.add(DT_PLTRELSZ, sizeof(ElfW(Rel)));
  module.add(DT_REL, SlotModule::kRelAt);
  module.add(DT_RELSZ, 2 * sizeof(ElfW(Rel)));
  const std::uintptr_t slot = SlotModule::kSlotsAt;
  module.at<ElfW(Rel)>(SlotModule::kJumpSlotsAt)[0] = {
      .r_offset = slot, .r_info = ELF64_R_INFO(1, RelocationKinds::kJumpSlot)};
  module.at<ElfW(Rel)>(SlotModule::kRelAt)[0] = {
      .r_offset = slot + 8, .r_info = ELF64_R_INFO(2, RelocationKinds::kGlobalData)};
  module.at<ElfW(Rel)>(SlotModule::kRelAt)[1] = {
      .r_offset = slot + 16, .r_info = ELF64_R_INFO(2, RelocationKinds::kAbsolute)};
  CHECK(module.slots() == Names{"malloc@0", "free@8"});
}

TEST_CASE("Android's packed relocations name symbols too, with addends and without") {
  static constexpr std::size_t kAt = 3072;
  // Each has its own information: kind and symbol of one word are not the next one's.
  const auto packed = [](SlotModule& module, std::initializer_list<std::uint64_t> numbers) {
    auto* to = module.at<std::uint8_t>(kAt);
    for (const char letter : {'A', 'P', 'S', '2'}) *to++ = static_cast<std::uint8_t>(letter);
    for (std::uint64_t number : numbers) {
      for (; number >= 64; number >>= 7) *to++ = static_cast<std::uint8_t>(number | 0x80U);
      *to++ = static_cast<std::uint8_t>(number);
    }
    return static_cast<std::uint64_t>(to - module.at<std::uint8_t>(kAt));
  };
  const std::uint64_t global = ELF64_R_INFO(1, RelocationKinds::kGlobalData);
  const std::uint64_t word = ELF64_R_INFO(2, RelocationKinds::kAbsolute);
  SlotModule rela;
  rela.describe(0, 0, 0);
  rela.add(AndroidTags::kRela, kAt);
  rela.add(AndroidTags::kRelaBytes,
           packed(rela, {3, SlotModule::kSlotsAt, 3, 8, 0, global, 0, 8, word, 0, 8, word, 8}));
  CHECK(rela.slots() == Names{"malloc@0", "free@8"});
  SlotModule rel;
  rel.describe(0, 0, 0);
  rel.add(AndroidTags::kRel, kAt);
  rel.add(AndroidTags::kRelBytes, packed(rel, {2, SlotModule::kSlotsAt, 2, 0, 0, global, 8, word}));
  CHECK(rel.slots() == Names{"malloc@0"});
  // More relocations than the module has words.
  SlotModule liar;
  liar.describe(0, 0, 0);
  liar.add(AndroidTags::kRela, kAt);
  liar.add(AndroidTags::kRelaBytes,
           packed(liar, {1'000'000, SlotModule::kSlotsAt, 1'000'000, 3, 0, global}));
  CHECK(liar.slots().empty());
}

TEST_CASE("relative relocations in front are passed over, as many as there are") {
  SlotModule module;
  module.describe(0, 2, 0);
  module.add(DT_RELACOUNT, 1);
  module.relocate(SlotModule::kRelaAt, 0, SlotModule::kSlotsAt, RelocationKinds::kGlobalData, 1);
  module.relocate(SlotModule::kRelaAt, 1, SlotModule::kSlotsAt + 8, RelocationKinds::kGlobalData,
                  2);
  CHECK(module.slots() == Names{"free@8"});
  SlotModule liar;
  liar.describe(0, 1, 0);
  liar.add(DT_RELACOUNT, 1000);
  CHECK(liar.slots().empty());
}

TEST_CASE("slots outside of writable memory, across words and without a name are none") {
  SlotModule module;
  module.describe(0, 5, 0);
  module.relocate(SlotModule::kRelaAt, 0, 64, RelocationKinds::kGlobalData, 1);
  module.relocate(SlotModule::kRelaAt, 1, SlotModule::kSlotsAt + 4, RelocationKinds::kGlobalData,
                  1);
  module.relocate(SlotModule::kRelaAt, 2, SlotModule::kSlotsAt + SlotModule::kPage,
                  RelocationKinds::kGlobalData, 1);
  module.relocate(SlotModule::kRelaAt, 3, SlotModule::kSlotsAt, RelocationKinds::kGlobalData, 0);
  module.relocate(SlotModule::kRelaAt, 4, SlotModule::kSlotsAt, RelocationKinds::kGlobalData,
                  0xFFFFFF);
  CHECK(module.slots().empty());
  module.symbol(1).st_name = sizeof SlotModule::kNames;
  module.relocate(SlotModule::kRelaAt, 0, SlotModule::kSlotsAt, RelocationKinds::kGlobalData, 1);
  CHECK(module.slots().empty());
}

TEST_CASE("names that do not end are cut at the last end") {
  SlotModule module;
  module.describe(0, 2, 0);
  module.at<ElfW(Dyn)>(SlotModule::kDynamicAt)[2].d_un.d_val = 10;
  module.relocate(SlotModule::kRelaAt, 0, SlotModule::kSlotsAt, RelocationKinds::kGlobalData, 1);
  module.relocate(SlotModule::kRelaAt, 1, SlotModule::kSlotsAt + 8, RelocationKinds::kGlobalData,
                  2);
  CHECK(module.slots() == Names{"malloc@0"});
}

TEST_CASE("a module without a dynamic section, or with tables elsewhere, has no slots") {
  SlotModule none;
  none.segment(2).p_type = PT_NULL;
  CHECK_FALSE(read_dynamic_section(none.memory()).has_value());
  SlotModule outside;
  outside.segment(2).p_vaddr = 2 * SlotModule::kPage - 8;
  CHECK_FALSE(read_dynamic_section(outside.memory()).has_value());
  for (const std::uintptr_t segment : {std::uintptr_t{0}, std::uintptr_t{1}}) {
    SlotModule around;
    around.describe(1, 1, 0);
    around.segment(segment).p_memsz = UINT64_MAX;
    CHECK_NOTHROW(static_cast<void>(around.slots()));
  }
}

TEST_CASE("random tables never make the walk read outside of the module") {
  std::mt19937_64 random(20);
  for (int round = 0; round < 20'000; ++round) {
    SlotModule module;
    module.describe(random() % 200, random() % 200, random() % 2 == 0 ? 0 : module.address());
    for (int change = 0; change < 8; ++change) {
      const auto offset = random() % (4 * SlotModule::kPage / 8) % (SlotModule::kPage / 8) * 8;
      *module.at<std::uint64_t>(offset) = random() >> (random() % 64);
    }
    module.segment(2).p_memsz = random() >> (random() % 64);
    static_cast<void>(module.slots());
  }
}

TEST_CASE("a stub that binds on the first call is known by its slot's number") {
#if defined(__x86_64__)
  const unsigned char plain[] = {0x68, 7, 0, 0, 0, 0xE9, 0, 0, 0, 0};
  const unsigned char marked[] = {0xF3, 0x0F, 0x1E, 0xFA, 0x68, 7, 0, 0, 0, 0xF2};
  const unsigned char shared[] = {0xF3, 0x0F, 0x1E, 0xFA, 0x41, 0x53, 0xFF, 0x35, 0, 0, 0, 0};
  const auto is_stub = [](const auto& code, std::uint32_t number) {
    return RelocationKinds::is_lazy_stub(std::as_bytes(std::span(code)), number);
  };
  CHECK(is_stub(plain, 7));
  CHECK_FALSE(is_stub(plain, 8));
  CHECK(is_stub(marked, 7));
  CHECK_FALSE(is_stub(marked, 6));
  CHECK(is_stub(shared, 7));
  CHECK_FALSE(RelocationKinds::is_lazy_stub(std::as_bytes(std::span(shared)).first(7), 7));
  CHECK_FALSE(RelocationKinds::is_lazy_stub({}, 0));
  CHECK_FALSE(RelocationKinds::is_lazy_stub(std::as_bytes(std::span(plain)).first(4), 7));
#endif
}
