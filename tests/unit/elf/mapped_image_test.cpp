#include "alloctap/elf/mapped_image.hpp"

#include <doctest/doctest.h>

#include <random>
#include <string>

#include "tests/unit/elf/elf_image.hpp"

namespace {

using namespace alloctap::testing;
using alloctap::elf::find_build_id;
using alloctap::elf::MappedImage;

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// What the first `bytes` of `file` say, where it lies.
std::optional<MappedImage> read(ElfImage& file, std::size_t bytes = ElfImage::kBytes) {
  return alloctap::elf::read_mapped_image(file.bytes(bytes), file.address());
}

Bytes operator+(Bytes left, const Bytes& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

std::string build_id_in(const Bytes& notes) { return text_of(find_build_id(notes)); }

}  // namespace

TEST_CASE("an image says where it lies, how far it reaches and what it was built from") {
  ElfImage file;
  const auto image = read(file);
  REQUIRE(image.has_value());
  CHECK(image->bias == file.address() - ElfImage::kFirstAddress);
  CHECK(image->end == file.address() + ElfImage::kReach);
  CHECK(text_of(image->build_id) == "0123456789abcdefghij");
  CHECK(image->build_id.data() == file.data() + ElfImage::kNotesAt + 16);
}

TEST_CASE("an image may lie at the addresses that it names, or begin behind its first segment") {
  ElfImage file;
  file.segment(1).p_vaddr = file.address();
  file.segment(2).p_vaddr = file.address() + 0x5000;
  CHECK(read(file)->bias == 0);
  file.segment(1).p_offset = 0x800;
  file.segment(1).p_vaddr = 0x10800;
  CHECK(read(file)->bias == file.address() - 0x10000);
}

TEST_CASE("what is no ELF file of this class is no image") {
  ElfImage file;
  file.header().e_ident[0] = 'E';
  CHECK_FALSE(read(file).has_value());
  ElfImage other_class;
  other_class.header().e_ident[EI_CLASS] ^= ELFCLASS32 ^ ELFCLASS64;
  CHECK_FALSE(read(other_class).has_value());
  ElfImage other_table;
  other_table.header().e_phentsize = 32;
  CHECK_FALSE(read(other_table).has_value());
  CHECK_FALSE(alloctap::elf::read_mapped_image({}, 0).has_value());
}

TEST_CASE("a file of which too little is mapped is no image") {
  ElfImage file;
  const std::size_t table_end = sizeof(ElfW(Ehdr)) + 3 * sizeof(ElfW(Phdr));
  for (std::size_t bytes = 0; bytes < table_end; ++bytes) {
    CHECK_FALSE(read(file, bytes).has_value());
  }
  CHECK(read(file, table_end).has_value());
}

TEST_CASE("a table of segments that lies outside, or nowhere, is none") {
  for (const std::uint64_t offset :
       {std::uint64_t{ElfImage::kBytes}, std::uint64_t{ElfImage::kBytes - 8}, UINT64_MAX - 63,
        UINT64_MAX - 167, UINT64_MAX - 7, UINT64_MAX, std::uint64_t{65}}) {
    CAPTURE(offset);
    ElfImage file;
    file.header().e_phoff = offset;
    CHECK_FALSE(read(file).has_value());
  }
  ElfImage many;
  many.header().e_phnum = 0xFFFF;
  CHECK_FALSE(read(many).has_value());
}

TEST_CASE("a file that loads nothing is no image") {
  ElfImage none;
  none.header().e_phnum = 0;
  CHECK_FALSE(read(none).has_value());
  ElfImage only_notes;
  only_notes.header().e_phnum = 1;
  CHECK_FALSE(read(only_notes).has_value());
}

TEST_CASE("notes that are not mapped are not read") {
  ElfImage file;
  CHECK(read(file, ElfImage::kNotesAt)->build_id.empty());
  for (const std::uint64_t offset :
       {std::uint64_t{ElfImage::kBytes}, UINT64_MAX, UINT64_MAX - 3, UINT64_MAX - 35}) {
    CAPTURE(offset);
    file.segment(0).p_offset = offset;
    CHECK(read(file)->build_id.empty());
  }
  file.segment(0).p_offset = ElfImage::kNotesAt;
  file.segment(0).p_filesz = UINT64_MAX - 8;
  CHECK(read(file)->build_id.empty());
}

TEST_CASE("the build-id may be any note of any segment of notes") {
  ElfImage file(note(kGnu, NT_GNU_PROPERTY_TYPE_0, std::string(16, 'p')));
  CHECK(read(file)->build_id.empty());
  const Bytes more = note(kGnu, NT_GNU_BUILD_ID, "id");
  std::memcpy(file.data() + 2048, more.data(), more.size());
  file.segment(2).p_type = PT_NOTE;
  file.segment(2).p_offset = 2048;
  file.segment(2).p_filesz = more.size();
  CHECK(text_of(read(file)->build_id) == "id");
}

TEST_CASE("a build-id is found behind other notes, whatever their padding") {
  const Bytes id = note(kGnu, NT_GNU_BUILD_ID, "0123");
  CHECK(build_id_in(id) == "0123");
  CHECK(build_id_in(note(kGnu, NT_GNU_ABI_TAG, "x") + id) == "0123");
  CHECK(build_id_in(note("", 9, "") + id) == "0123");
  CHECK(build_id_in(note({"FreeBSD", 8}, NT_GNU_BUILD_ID, "other") + id) == "0123");
  CHECK(build_id_in(note({"gnu", 4}, NT_GNU_BUILD_ID, "other") + id) == "0123");
  CHECK(build_id_in(note("GNU", NT_GNU_BUILD_ID, "other") + id) == "0123");
  CHECK(build_id_in(note(kGnu, NT_GNU_BUILD_ID, "odd") + id) == "odd");
}

TEST_CASE("notes that break off hold no build-id") {
  const Bytes whole = note(kGnu, NT_GNU_BUILD_ID, "0123456789abcdef");
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    CHECK(find_build_id({whole.data(), bytes}).empty());
  }
  for (const std::uint32_t size : {21U, 0x7FFFFFFFU, 0xFFFFFFFFU}) {
    Bytes wrong = whole;
    std::memcpy(wrong.data() + offsetof(ElfW(Nhdr), n_descsz), &size, sizeof size);
    CHECK(build_id_in(wrong).empty());
    wrong = whole;
    std::memcpy(wrong.data() + offsetof(ElfW(Nhdr), n_namesz), &size, sizeof size);
    CHECK(build_id_in(wrong).empty());
  }
}

TEST_CASE("no file, however broken, makes the reader look outside of it") {
  std::mt19937_64 random(20240607);
  constexpr std::size_t kInteresting = sizeof(ElfW(Ehdr)) + 3 * sizeof(ElfW(Phdr));
  std::size_t images = 0;
  for (int round = 0; round < 3000; ++round) {
    ElfImage file;
    for (int change = 0; change < 3; ++change) {
      const std::uint64_t place = random() % (kInteresting + 40);
      const std::uint64_t at = place < kInteresting ? place : place - kInteresting + 1024;
      const auto values = {random(), std::uint64_t{0}, std::uint64_t{0xFF}, std::uint64_t{8}};
      file.data()[at] = static_cast<std::byte>(values.begin()[random() % 4]);
    }
    const auto image = read(file);
    if (!image) continue;
    ++images;
    const std::uintptr_t id = reinterpret_cast<std::uintptr_t>(image->build_id.data());
    if (image->build_id.empty()) continue;
    CHECK(id >= file.address());
    CHECK(id + image->build_id.size() <= file.address() + ElfImage::kBytes);
  }
  CHECK(images > 1000);
}
