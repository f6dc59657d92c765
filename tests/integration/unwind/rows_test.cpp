#include <dlfcn.h>
#include <doctest/doctest.h>
#include <link.h>
#include <sys/auxv.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "alloctap/arch/signal_return.hpp"
#include "alloctap/elf/call_frame_interpreter.hpp"
#include "alloctap/elf/find_row.hpp"
#include "tests/integration/unwind/mapped_module.hpp"
#include "tests/integration/unwind/readelf_frames.hpp"
#include "tests/support/temporary_directory.hpp"

namespace {

using namespace alloctap::elf;
using namespace alloctap::testing;

/// As readelf tells a row: with addresses of the file, without what expressions say, and with no
/// difference between registers that are undefined and that nothing is said of.
CallFrameRow as_readelf(CallFrameRow row, std::uintptr_t bias) {
  row.begin -= bias;
  row.end = 0;
  row.return_address_register = 0;
  row.signal_frame = false;
  if (row.cfa.kind == CfaRule::Kind::kExpression) row.cfa = {row.cfa.kind, 0, 0, 0};
  for (RegisterRule& rule : row.registers) {
    const bool is_expression = rule.kind == RegisterRule::Kind::kAtExpression ||
                               rule.kind == RegisterRule::Kind::kExpressionValue;
    if (is_expression) rule = {rule.kind, 0, 0};
    if (rule.kind == RegisterRule::Kind::kUnspecified) rule.kind = RegisterRule::Kind::kUndefined;
  }
  return row;
}

bool is_same(const CallFrameRow& left, const CallFrameRow& right) {
  return left.begin == right.begin && left.cfa == right.cfa && left.registers == right.registers;
}

std::string text_of(const CallFrameRow& row) {
  std::ostringstream text;
  text << std::hex << row.begin << std::dec << " cfa " << static_cast<int>(row.cfa.kind) << ' '
       << static_cast<int>(row.cfa.register_number) << '+' << row.cfa.value;
  for (std::size_t number = 0; number < row.registers.size(); ++number) {
    const RegisterRule& rule = row.registers[number];
    if (rule.kind == RegisterRule::Kind::kUndefined) continue;
    text << " r" << number << ':' << static_cast<int>(rule.kind) << ' ' << rule.value;
  }
  return text.str();
}

/// Compares one module with readelf, and counts.
class Comparison {
 public:
  explicit Comparison(const std::string& path) : module_(path), readelf_(path) {}

  void run() {
    const auto tables = module_.tables();
    REQUIRE(tables.has_value());
    tables_ = *tables;
    const auto header = read_eh_frame_header(tables_);
    REQUIRE(header.has_value());
    eh_frame_ = header->eh_frame;
    const auto status = visit_frame_entries(
        tables_, SIZE_MAX, [this](std::uintptr_t address, const FrameEntry& entry) {
          compare(address, decode_frame_description(tables_, entry));
          return differences_ < kMaxDifferences;
        });
    CHECK(status == UnwindStatus::kNoDescription);
    CHECK_FALSE(next_description().has_value());
    CHECK(differences_ == 0);
    MESSAGE(functions_, " functions, ", rows_, " rows");
  }

  [[nodiscard]] std::size_t functions() const { return functions_; }
  [[nodiscard]] std::size_t rows() const { return rows_; }

 private:
  static constexpr std::size_t kMaxDifferences = 5;

  void differ(const std::string& what) {
    ++differences_;
    FAIL_CHECK(what);
  }

  void compare(std::uintptr_t address, const std::optional<FrameDescription>& description) {
    ++functions_;
    const auto expected = next_description();
    if (!expected || !description) return differ("no description");
    const bool same_place = expected->offset == address - eh_frame_ &&
                            expected->begin == description->begin - module_.bias() &&
                            expected->end == description->end - module_.bias();
    if (!same_place) return differ("another description");
    const auto ours = rows_of(*description);
    const auto theirs = expected_rows(*expected);
    for (std::size_t i = 0; i < std::max(ours.size(), theirs.size()); ++i) {
      ++rows_;
      const std::string mine = i < ours.size() ? text_of(ours[i]) : "nothing";
      const std::string other = i < theirs.size() ? text_of(theirs[i]) : "nothing";
      const bool same = i < ours.size() && i < theirs.size() && is_same(ours[i], theirs[i]);
      if (!same) return differ("read " + mine + ", readelf says " + other);
    }
  }

  /// All rows, each of which must be what is found at its first and at its last address.
  std::vector<CallFrameRow> rows_of(const FrameDescription& description) {
    std::vector<CallFrameRow> rows;
    CallFrameInterpreter interpreter(description);
    while (interpreter.next()) {
      const CallFrameRow& row = interpreter.row();
      for (const std::uintptr_t pc : {row.begin, row.end - 1}) {
        CallFrameRow found;
        RowSearch search;
        const bool is_found = find_row(tables_, pc, found, search) == UnwindStatus::kFound;
        if (!is_found || !is_same(found, row)) differ("found no or another row at " + text_of(row));
      }
      rows.push_back(as_readelf(row, module_.bias()));
    }
    if (interpreter.status() != UnwindStatus::kFound) differ("the rows end early");
    return rows;
  }

  /// Readelf prints a row for each advance, also by nothing, and none for a function that only
  /// has what its CIE says.
  std::vector<CallFrameRow> expected_rows(const ReadelfEntry& entry) {
    std::vector<CallFrameRow> rows;
    for (const CallFrameRow& row : entry.rows) {
      if (!rows.empty() && rows.back().begin == row.begin) rows.pop_back();
      if (row.begin < entry.end) rows.push_back(as_readelf(row, 0));
    }
    if (entry.rows.empty() && entry.begin < entry.end) {
      rows.push_back(common_rows_.at(entry.common_information));
      rows.back().begin = entry.begin;
    }
    return rows;
  }

  std::optional<ReadelfEntry> next_description() {
    while (auto entry = readelf_.next()) {
      if (entry->is_description) return entry;
      if (!entry->rows.empty()) common_rows_[entry->offset] = as_readelf(entry->rows.back(), 0);
    }
    return std::nullopt;
  }

  MappedModule module_;
  ReadelfFrames readelf_;
  UnwindTables tables_;
  std::uintptr_t eh_frame_ = 0;
  std::map<std::uintptr_t, CallFrameRow> common_rows_;
  std::size_t functions_ = 0;
  std::size_t rows_ = 0;
  std::size_t differences_ = 0;
};

void compare_file(const std::string& path, std::size_t at_least_functions) {
  CAPTURE(path);
  Comparison comparison(path);
  comparison.run();
  CHECK(comparison.functions() >= at_least_functions);
  CHECK(comparison.rows() >= comparison.functions());
}

/// The file of the module that the loader found under `name`.
std::string path_of(const char* name) {
  void* handle = dlopen(name, RTLD_NOW | RTLD_NOLOAD);
  link_map* map = nullptr;
  REQUIRE(handle != nullptr);
  REQUIRE(dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0);
  return map->l_name;
}

std::string path_of_loader() {
  Dl_info loader{};
  REQUIRE(dladdr(reinterpret_cast<const void*>(getauxval(AT_BASE)), &loader) != 0);
  return loader.dli_fname;
}

}  // namespace

TEST_CASE("the rows of the C library and of the loader") {
  compare_file(path_of("libc.so.6"), 1000);
  compare_file(path_of_loader(), 100);
}

TEST_CASE("the rows of the C++ library") { compare_file(path_of("libstdc++.so.6"), 2000); }

TEST_CASE("the rows of Python, which is no position-independent program") {
  compare_file("/usr/bin/python3", 5000);
}

TEST_CASE("the rows of the compiler") { compare_file(ALLOCTAP_CC1PLUS, 20000); }

TEST_CASE("the rows of the kernel's library") {
  const std::uintptr_t vdso = getauxval(AT_SYSINFO_EHDR);
  // Linux leaves that library's tables out where code tells of signals.
  if (vdso == 0 || !alloctap::arch::SignalReturn::kCode.empty()) return;
  const auto& header = *reinterpret_cast<const ElfW(Ehdr)*>(vdso);
  const std::size_t bytes = header.e_shoff + std::size_t{header.e_shnum} * header.e_shentsize;
  const TemporaryDirectory directory;
  std::ofstream(directory.file("vdso"), std::ios::binary)
      .write(reinterpret_cast<const char*>(vdso), static_cast<std::streamsize>(bytes));
  compare_file(directory.file("vdso"), 1);
}

#if defined(ALLOCTAP_PRELOAD_OBJECT)
TEST_CASE("the rows of the preloaded object") { compare_file(ALLOCTAP_PRELOAD_OBJECT, 500); }
#endif
