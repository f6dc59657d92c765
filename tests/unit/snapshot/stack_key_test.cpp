#include "alloctap/snapshot/stack_key.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string_view>
#include <vector>

namespace {

using namespace alloctap;

constexpr StackId kNeverUnloaded = ~StackId{0};

/// Where a process has its modules.
struct Process {
  ModuleTable modules;
  std::unique_ptr<StackTable> table = std::make_unique<StackTable>();

  void load(std::uintptr_t start, std::string_view path, std::uint8_t build_id = 0) {
    Module module{.start = start, .end = start + 0x10000, .bias = start, .path = path};
    module.unloaded_before = kNeverUnloaded;
    if (build_id != 0) {
      module.build_id_bytes = 20;
      module.build_id[19] = std::byte{build_id};
    }
    REQUIRE(modules.add_unloaded(module));
  }

  StackKey key(const std::vector<std::uintptr_t>& frames) {
    const StackKeys keys(modules);
    REQUIRE(keys.complete());
    return keys.of(*table, table->intern(frames));
  }
};

/// The program at 0x10000 and a library at `library`.
Process process_at(std::uintptr_t program, std::uintptr_t library) {
  Process process;
  process.load(program, "/opt/game", 7);
  process.load(library, "/lib/libz.so", 0);
  return process;
}

}  // namespace

TEST_CASE("a stack has the same key wherever its modules are") {
  Process one = process_at(0x100000, 0x700000);
  Process other = process_at(0x500000, 0x200000);
  CHECK(one.key({0x700123, 0x100456}) == other.key({0x200123, 0x500456}));
}

TEST_CASE("a stack has another key where a place, a file or the order is another") {
  Process process = process_at(0x100000, 0x700000);
  process.load(0x900000, "/lib/libx.so");
  process.load(0xA00000, "/opt/game", 8);
  const std::vector<std::vector<std::uintptr_t>> stacks{{0x700123, 0x100456},
                                                        {0x700124, 0x100456},
                                                        {0x700123, 0x100457},
                                                        {0x700123},
                                                        {0x100456, 0x700123},
                                                        {0x900123, 0x100456},
                                                        {0x700123, 0xA00456},
                                                        {0x100456},
                                                        {0x700123, 0x100456, 0x100456},
                                                        {0x123},
                                                        {0x456}};
  std::set<StackKey> keys;
  for (const auto& stack : stacks) keys.insert(process.key(stack));
  CHECK(keys.size() == stacks.size());
}

TEST_CASE("with a build-id the path does not matter, without one it does") {
  Process one = process_at(0x100000, 0x700000);
  Process other;
  other.load(0x100000, "/home/you/game", 7);
  other.load(0x700000, "/usr/lib/libz.so");
  CHECK(one.key({0x100456}) == other.key({0x100456}));
  CHECK(one.key({0x700456}) != other.key({0x700456}));
}

TEST_CASE("a path is told from a build-id of the same bytes") {
  const std::byte id[2] = {std::byte{'a'}, std::byte{'b'}};
  CHECK_FALSE(hash_file(id, "") == hash_file({}, "ab"));
  CHECK_FALSE(hash_file({}, "ab") == hash_file({}, std::string_view("ab\0", 3)));
}

TEST_CASE("code in no module is known by its address") {
  Process one = process_at(0x100000, 0x700000);
  Process other = process_at(0x500000, 0x200000);
  CHECK(one.key({0xF00000, 0x100456}) == other.key({0xF00000, 0x500456}));
  CHECK(one.key({0xF00000, 0x100456}) != other.key({0xF00001, 0x500456}));
}

TEST_CASE("stacks without frames have keys of their own") {
  const Process process;
  const StackKeys keys(process.modules);
  const StackKey unknown = keys.of(*process.table, kUnknownStack);
  const StackKey not_taken = keys.of(*process.table, kStackNotTaken);
  CHECK(unknown == key_without_frames(false));
  CHECK(not_taken == key_without_frames(true));
  CHECK(unknown != not_taken);
}
