#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

#include "alloctap/elf/symbol_slots.hpp"

namespace {

using namespace alloctap::elf;

using Bytes = std::vector<std::byte>;

Bytes bytes_of(const std::vector<int>& values) {
  Bytes bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

/// A table of numbers that need one byte each.
Bytes table(const std::vector<int>& numbers) {
  Bytes bytes = bytes_of({'A', 'P', 'S', '2'});
  for (const int number : numbers) bytes.push_back(static_cast<std::byte>(number & 0x7F));
  return bytes;
}

/// "offset symbol.kind+addend" of each.
std::vector<std::string> read(const Bytes& table, std::uint64_t most = 100) {
  std::vector<std::string> found;
  for_each_android_relocation(table, most, [&](const ElfW(Rela) & relocation) {
    found.push_back(std::to_string(relocation.r_offset) + " " +
                    std::to_string(ELF64_R_SYM(relocation.r_info)) + "." +
                    std::to_string(ELF64_R_TYPE(relocation.r_info)) + "+" +
                    std::to_string(relocation.r_addend));
  });
  return found;
}

using Found = std::vector<std::string>;

/// .rela.dyn of a library that LLD 19.1.7 linked for x86-64 with --pack-dyn-relocs=android. Its
/// source has six pointers to its own data, and calls malloc, free and calloc through its global
/// offset table; words of data hold malloc, free and malloc + 8.
const Bytes kLinked = bytes_of({
    0x41, 0x50, 0x53, 0x32, 0x0c, 0x00, 0x06, 0x09, 0x08, 0xc0, 0xeb, 0x00, 0xa0, 0xec, 0x00,
    0x08, 0x04, 0x08, 0x04, 0x08, 0x04, 0x08, 0x04, 0x08, 0x04, 0x06, 0x08, 0x90, 0x5f, 0x86,
    0x80, 0x80, 0x80, 0x10, 0xcc, 0x93, 0x7f, 0x08, 0x86, 0x80, 0x80, 0x80, 0x20, 0x00, 0x08,
    0x86, 0x80, 0x80, 0x80, 0x30, 0x00, 0x98, 0x20, 0x81, 0x80, 0x80, 0x80, 0x10, 0x08, 0x08,
    0x81, 0x80, 0x80, 0x80, 0x20, 0x78, 0x08, 0x81, 0x80, 0x80, 0x80, 0x10, 0x00,
});

}  // namespace

TEST_CASE("what LLD packed is read as llvm-readelf reads it") {
  CHECK(read(kLinked) == Found{"13760 0.8+13856", "13768 0.8+13860", "13776 0.8+13864",
                               "13784 0.8+13868", "13792 0.8+13872", "13800 0.8+13876",
                               "9592 1.6+0", "9600 2.6+0", "9608 3.6+0", "13728 1.1+8",
                               "13736 2.1+0", "13744 1.1+0"});
}

TEST_CASE("what relocations of a group have in common stands in front of them") {
  // Offset and information: nothing is left for each.
  CHECK(read(table({3, 10, 3, 3, 4, 9})) == Found{"14 0.9+0", "18 0.9+0", "22 0.9+0"});
  // The same addend, which is a difference to the one before the group.
  CHECK(read(table({3, 0, 1, 8, 5, 7, 6, 2, 13, 7, -2, 1, 1})) ==
        Found{"5 0.7+6", "6 0.7+4", "7 0.7+4"});
  // A group without addends begins again.
  CHECK(read(table({3, 0, 1, 8, 5, 7, 6, 1, 0, 5, 7, 1, 8, 5, 7, 1})) ==
        Found{"5 0.7+6", "10 0.7+0", "15 0.7+1"});
}

TEST_CASE("a table that is cut is read as far as it goes, and never beyond") {
  for (std::size_t length = 0; length < kLinked.size(); ++length) {
    // Where reading too far is noticed.
    const Bytes cut(kLinked.begin(), kLinked.begin() + static_cast<std::ptrdiff_t>(length));
    const Found found = read(cut);
    CAPTURE(length);
    REQUIRE(found.size() < 12);
    const Found whole = read(kLinked);
    CHECK(std::equal(found.begin(), found.end(), whole.begin()));
  }
}

TEST_CASE("a table in another format, too large, or at odds with itself has nothing") {
  CHECK(read({}).empty());
  CHECK(read(bytes_of({'A', 'P', 'S', '1', 1, 0, 1, 3, 4, 9})).empty());
  CHECK(read(table({0, 10})).empty());
  // More than there can be, which no byte stands for.
  CHECK(read(table({3, 10, 3, 3, 4, 9}), 2).empty());
  CHECK(read(table({-1, 10, 3, 3, 4, 9})).empty());
  // Groups of more than are left, and of none.
  CHECK(read(table({3, 10, 4, 3, 4, 9})).empty());
  CHECK(read(table({3, 10, 0, 3, 4, 9})).empty());
  CHECK(read(table({3, 10, -3, 3, 4, 9})).empty());
}
