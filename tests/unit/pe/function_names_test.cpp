#include "alloctap/pe/function_names.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace {

using alloctap::pe::FunctionNames;

/// Offsets in the module are those in the file and 0x1000.
constexpr std::uint32_t kShift = 0x1000;
constexpr std::size_t kHeaders = 0x80;
constexpr std::size_t kEntries = 0x600;
constexpr std::size_t kExports = 0x700;
constexpr std::size_t kSymbols = 0x900;

class File {
 public:
  File() : bytes(0xA00) {
    write<std::uint16_t>(0, 0x5A4D);
    write<std::uint32_t>(0x3C, kHeaders);
    write<std::uint32_t>(kHeaders, 0x4550);
    write<std::uint16_t>(kHeaders + 6, 1);
    write<std::uint16_t>(kHeaders + 20, 240);
    write<std::uint16_t>(kHeaders + 24, 0x20B);
    const std::size_t section = kHeaders + 24 + 240;
    write<std::uint32_t>(section + 12, 0x400 + kShift);
    write<std::uint32_t>(section + 16, 0x500);
    write<std::uint32_t>(section + 20, 0x400);
    entry(0, 0x1400, 0x1420);
    entry(1, 0x1420, 0x1450);
    entry(2, 0x1480, 0x1490);
    directory(3, kEntries, 36);
  }

  template <class Number>
  void write(std::size_t place, Number number) {
    std::memcpy(bytes.data() + place, &number, sizeof number);
  }
  void write_text(std::size_t place, std::string_view text) {
    std::memcpy(bytes.data() + place, text.data(), text.size());
  }
  void directory(std::size_t index, std::size_t place, std::uint32_t size) {
    write(kHeaders + 24 + 112 + index * 8, static_cast<std::uint32_t>(place + kShift));
    write(kHeaders + 24 + 112 + index * 8 + 4, size);
  }
  void entry(std::size_t index, std::uint32_t begin, std::uint32_t end) {
    write(kEntries + index * 12, begin);
    write(kEntries + index * 12 + 4, end);
  }

  /// Three functions' symbols, the first with an auxiliary record, and one that is no function's.
  void add_symbols() {
    write(kHeaders + 12, static_cast<std::uint32_t>(kSymbols));
    write<std::uint32_t>(kHeaders + 16, 4);
    symbol(0, 0x00, 0x20, 1);
    write_text(kSymbols, "first");
    std::memset(bytes.data() + kSymbols + 18, 0xFF, 18);
    symbol(2, 0x20, 0x00, 0);
    write_text(kSymbols + 36, "no_funct");
    symbol(3, 0x20, 0x20, 0);
    write<std::uint32_t>(kSymbols + 54 + 4, 4);
    write_text(kSymbols + 72 + 4, "a_name_of_more_than_eight");
  }
  void symbol(std::size_t index, std::uint32_t value, std::uint16_t type, std::uint8_t extra) {
    const std::size_t place = kSymbols + index * 18;
    write(place + 8, value);
    write<std::uint16_t>(place + 12, 1);
    write(place + 14, type);
    write(place + 17, extra);
  }

  /// The second and the third function, in the order of their names.
  void add_exports() {
    directory(0, kExports, 0x100);
    write<std::uint32_t>(kExports + 24, 2);
    write<std::uint32_t>(kExports + 28, kExports + 0x40 + kShift);
    write<std::uint32_t>(kExports + 32, kExports + 0x50 + kShift);
    write<std::uint32_t>(kExports + 36, kExports + 0x60 + kShift);
    write<std::uint32_t>(kExports + 0x40, 0x1480);
    write<std::uint32_t>(kExports + 0x44, 0x1420);
    write<std::uint32_t>(kExports + 0x50, kExports + 0x70 + kShift);
    write<std::uint32_t>(kExports + 0x54, kExports + 0x80 + kShift);
    write<std::uint16_t>(kExports + 0x60, 1);
    write<std::uint16_t>(kExports + 0x62, 0);
    write_text(kExports + 0x70, "exported_a");
    write_text(kExports + 0x80, "exported_b");
  }

  std::vector<std::byte> bytes;
};

std::string find(const File& file, std::uint32_t pc) {
  return std::string(FunctionNames(file.bytes).find(pc));
}

}  // namespace

TEST_CASE("a function in a PE file has the name of the symbol at its first byte") {
  File file;
  file.add_symbols();
  CHECK(find(file, 0x1400) == "first");
  CHECK(find(file, 0x141F) == "first");
  CHECK(find(file, 0x1420) == "a_name_of_more_than_eight");
  CHECK(find(file, 0x144F) == "a_name_of_more_than_eight");
}

TEST_CASE("a function without a symbol has no name, and not its neighbour's") {
  File file;
  file.add_symbols();
  CHECK(find(file, 0x1485).empty());
  CHECK(find(file, 0x1460).empty());
  CHECK(find(file, 0x13FF).empty());
  CHECK(find(file, 0x1490).empty());
  CHECK(find(file, 0).empty());
  CHECK(find(file, 0xFFFFFFFF).empty());
}

TEST_CASE("what a library exports has that name where there is no symbol") {
  File file;
  file.add_exports();
  CHECK(find(file, 0x1421) == "exported_a");
  CHECK(find(file, 0x1481) == "exported_b");
  CHECK(find(file, 0x1401).empty());
  file.add_symbols();
  CHECK(find(file, 0x1421) == "a_name_of_more_than_eight");
  CHECK(find(file, 0x1481) == "exported_b");
}

TEST_CASE("an exported name that lies outside of the file is none, and not the header") {
  File file;
  file.add_exports();
  file.write<std::uint32_t>(kExports + 0x50, 0xFFFFFF);
  CHECK(find(file, 0x1421).empty());
}

TEST_CASE("a PE file that ends anywhere, or lies, gives names or none") {
  File whole;
  whole.add_symbols();
  whole.add_exports();
  for (std::size_t size = 0; size <= whole.bytes.size(); ++size) {
    File cut = whole;
    cut.bytes.resize(size);
    for (const std::uint32_t pc : {0x1400U, 0x1421U, 0x1485U}) {
      CHECK(find(cut, pc).size() <= cut.bytes.size());
    }
  }
  for (std::size_t place = 0; place < whole.bytes.size(); ++place) {
    File lying = whole;
    lying.bytes[place] ^= std::byte{0xFF};
    for (const std::uint32_t pc : {0x1400U, 0x1421U, 0x1485U}) {
      CHECK(find(lying, pc).size() <= lying.bytes.size());
    }
  }
}
