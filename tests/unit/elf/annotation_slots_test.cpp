#include "alloctap/elf/annotation_slots.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "alloctap/annotate.h"

namespace {

using alloctap::elf::find_annotation_slots;

void add_note(std::vector<std::byte>& notes, std::string_view owner, std::uint32_t type,
              std::vector<std::uint32_t> description) {
  const std::vector<std::uint32_t> header{static_cast<std::uint32_t>(owner.size()),
                                          static_cast<std::uint32_t>(description.size() * 4), type};
  const auto add = [&](const void* bytes, std::size_t size) {
    const auto* first = static_cast<const std::byte*>(bytes);
    notes.insert(notes.end(), first, first + size);
    notes.resize((notes.size() + 3) / 4 * 4);
  };
  add(header.data(), 12);
  add(owner.data(), owner.size());
  add(description.data(), description.size() * 4);
}

constexpr std::string_view kOwner{"alloctap", 9};

}  // namespace

TEST_CASE("the slots of a module are found by its note, among others") {
  std::vector<std::byte> notes;
  add_note(notes, {"GNU", 4}, 3, {1, 2, 3, 4, 5});
  add_note(notes, kOwner, 2, {77});
  add_note(notes, kOwner, 1, {100});
  add_note(notes, {"GNU", 4}, 1, {});
  const std::size_t description = 36 + 28 + 24;
  CHECK(find_annotation_slots(notes) ==
        reinterpret_cast<alloctap_slots*>(notes.data() + description + 100));
}

TEST_CASE("notes of others, and cut or wrong ones, tell of no slots") {
  std::vector<std::byte> notes;
  CHECK(find_annotation_slots(notes) == nullptr);
  add_note(notes, {"alloctaq", 9}, 1, {100});
  add_note(notes, {"alloctap", 8}, 1, {100});
  add_note(notes, kOwner, 1, {100, 200});
  CHECK(find_annotation_slots(notes) == nullptr);
  notes.clear();
  add_note(notes, kOwner, 1, {100});
  for (std::size_t bytes = 0; bytes < notes.size(); ++bytes) {
    CHECK(find_annotation_slots(std::span(notes).first(bytes)) == nullptr);
  }
  const std::uint32_t endless = 0xFFFFFFFF;
  std::memcpy(notes.data(), &endless, sizeof endless);
  CHECK(find_annotation_slots(notes) == nullptr);
}

TEST_CASE("of the modules of this process, this one has slots") {
  int found = 0;
  alloctap::elf::visit_annotation_slots(
      [&](alloctap_slots& slots) { found += &slots == &alloctap_slots_of_module ? 1 : 0; });
  CHECK(found == 1);
}
