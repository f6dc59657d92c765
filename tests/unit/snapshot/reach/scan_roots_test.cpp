#include "alloctap/snapshot/reach/scan_roots.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "alloctap/os/frozen_process.hpp"

namespace {

using alloctap::AddressRange;
using alloctap::ScanLayout;
using alloctap::ScannedBlock;
using alloctap::ScanRegion;
using alloctap::ScanRoots;
using alloctap::os::ThreadRegisters;

constexpr ScanRegion kModuleData{.range = {}, .readable = true, .writable = true};
constexpr ScanRegion kAnonymous{.range = {}, .readable = true, .writable = true, .anonymous = true};
constexpr ScanRegion kGuard{.range = {}, .anonymous = true};
constexpr ScanRegion kConstant{.range = {}, .readable = true};

/// An address space, in hexadecimal thousands.
struct MadeUpSpace {
  void add(ScanRegion kind, std::uintptr_t start, std::uintptr_t end) {
    kind.range = {start, end};
    REQUIRE(layout.regions.push_back(kind));
  }

  void add_thread(std::uintptr_t stack_pointer, std::uintptr_t thread_pointer, bool seen = true) {
    ThreadRegisters& thread = threads.emplace_back();
    thread.seen = seen;
    thread.stack_pointer = stack_pointer;
    thread.thread_pointer = thread_pointer;
  }

  std::string roots() {
    layout.modules.settle();
    layout.programs.settle();
    layout.left_out.settle();
    layout.threads = threads;
    layout.blocks = blocks;
    ScanRoots chosen(layout);
    REQUIRE(chosen.find());
    std::string text;
    char part[64];
    chosen.for_each([&](AddressRange range) {
      std::snprintf(part, sizeof part, "%zx-%zx ", range.start, range.end);
      text += part;
    });
    return text;
  }

  ScanLayout layout;
  std::vector<ThreadRegisters> threads;
  std::vector<ScannedBlock> blocks;
};

}  // namespace

TEST_CASE("what a program can write to is a root, unless blocks are cut from it") {
  MadeUpSpace space;
  space.add(kConstant, 0x1000, 0x2000);
  space.add(kModuleData, 0x2000, 0x3000);
  space.add(kAnonymous, 0x4000, 0x6000);
  space.add(kAnonymous, 0x8000, 0x9000);
  space.blocks = {{0x4100, 16, 1}};
  CHECK(space.roots() == "2000-3000 8000-9000 ");
}

TEST_CASE("where not all blocks are known memory between them is a root") {
  MadeUpSpace space;
  space.add(kAnonymous, 0x4000, 0x6000);
  space.blocks = {{0x4000, 0x10, 1}, {0x4100, 0, 1}, {0x5ff0, 0x10, 1}};
  space.layout.all_blocks_known = false;
  CHECK(space.roots() == "4010-4100 4101-5ff0 ");
}

TEST_CASE("the data of modules is a root though blocks are in it") {
  MadeUpSpace space;
  space.add(kModuleData, 0x2000, 0x3000);
  // Where a heap follows at once.
  space.add(kAnonymous, 0x3000, 0x6000);
  REQUIRE(space.layout.modules.add({0x2000, 0x4000}));
  space.blocks = {{0x3100, 0x10, 1}, {0x5000, 0x10, 1}};
  CHECK(space.roots() == "2000-3000 3000-3100 3110-4000 ");
}

TEST_CASE("what was protected once it was filled in is a root") {
  MadeUpSpace space;
  space.add(kConstant, 0x1000, 0x2000);
  space.add(kConstant, 0x2000, 0x3000);
  space.add(kModuleData, 0x3000, 0x4000);
  REQUIRE(space.layout.modules.add({0x1000, 0x4000}));
  CHECK(space.roots() == "2000-3000 3000-4000 ");
}

TEST_CASE("where a module's file says what is for writing, it is right") {
  MadeUpSpace space;
  ScanRegion constant = kConstant;
  constant.for_writing = false;
  ScanRegion filled_in = kConstant;
  filled_in.for_writing = true;
  ScanRegion code = filled_in;
  code.executable = true;
  space.add(filled_in, 0x1000, 0x2000);
  space.add(constant, 0x2000, 0x3000);
  space.add(kModuleData, 0x3000, 0x4000);
  space.add(code, 0x4000, 0x5000);
  REQUIRE(space.layout.modules.add({0x1000, 0x5000}));
  CHECK(space.roots() == "1000-2000 3000-4000 ");
}

TEST_CASE("private memory that was protected against reading is a root, code is not") {
  MadeUpSpace space;
  ScanRegion protected_pages = kGuard;
  protected_pages.is_protected = true;
  ScanRegion code = protected_pages;
  code.executable = true;
  space.add(protected_pages, 0x1000, 0x2000);
  space.add(code, 0x3000, 0x4000);
  space.add(kGuard, 0x5000, 0x6000);
  CHECK(space.roots() == "1000-2000 ");
}

TEST_CASE("the tracker's memory is no root") {
  MadeUpSpace space;
  space.add(kModuleData, 0x2000, 0x3000);
  space.add(kAnonymous, 0x4000, 0x6000);
  REQUIRE(space.layout.left_out.add({0x2800, 0x2900}));
  REQUIRE(space.layout.left_out.add({0x4000, 0x5000}));
  CHECK(space.roots() == "2000-2800 2900-3000 5000-6000 ");
}

TEST_CASE("what the program mapped is a root beside blocks too") {
  MadeUpSpace space;
  space.add(kAnonymous, 0x4000, 0x9000);
  REQUIRE(space.layout.programs.add({0x5000, 0x6000}));
  space.blocks = {{0x4100, 0x10, 1}, {0x5100, 0x10, 1}};
  CHECK(space.roots() == "5000-5100 5110-6000 ");
}

TEST_CASE("of a stack behind a guard page only what is in use is a root") {
  MadeUpSpace space;
  space.add(kGuard, 0x3000, 0x4000);
  space.add(kAnonymous, 0x4000, 0x9000);
  space.add_thread(0x7000, 0x8800);
  CHECK(space.roots() == "6f80-9000 ");
  // Perhaps one of several that were cut from one mapping.
  REQUIRE(space.layout.programs.add({0x4000, 0x9000}));
  CHECK(space.roots() == "4000-9000 ");
}

TEST_CASE("of a stack without a guard page all is a root") {
  MadeUpSpace space;
  space.add(kAnonymous, 0x4000, 0x9000);
  space.add_thread(0x7000, 0x8800);
  CHECK(space.roots() == "4000-9000 ");
}

TEST_CASE("a stack that another thread's lies in is a root as a whole") {
  MadeUpSpace space;
  space.add(kGuard, 0x3000, 0x4000);
  space.add(kAnonymous, 0x4000, 0x9000);
  space.add_thread(0x7000, 0x8800);
  space.add_thread(0x5000, 0x5800);
  CHECK(space.roots() == "4000-9000 ");
}

TEST_CASE("a thread that was not seen leaves its stack a root as a whole") {
  MadeUpSpace space;
  space.add(kGuard, 0x3000, 0x4000);
  space.add(kAnonymous, 0x4000, 0x9000);
  space.add_thread(0x7000, 0x8800, false);
  CHECK(space.roots() == "4000-9000 ");
}

TEST_CASE("the main stack is a root from the stack pointer on") {
  MadeUpSpace space;
  ScanRegion stack = kAnonymous;
  stack.main_stack = true;
  space.add(stack, 0x4000, 0x9000);
  space.add_thread(0x7000, 0x1000);
  CHECK(space.roots() == "6f80-9000 ");
}

TEST_CASE("stacks and storage in one region with blocks are roots up to the next block") {
  MadeUpSpace space;
  space.add(kAnonymous, 0x4000, 0x9000);
  space.add(kAnonymous, 0xa000, 0xc000);
  space.blocks = {{0x4000, 0x100, 1}, {0x8000, 0x100, 1}, {0xa000, 0x80, 1}, {0xb000, 0x80, 1}};
  space.add_thread(0x6000, 0x7000);
  // A fiber runs on a stack of its own; the storage is where it was.
  space.add_thread(0xb020, 0xa800);
  CHECK(space.roots() == "5f80-8000 a080-b000 ");
}

TEST_CASE("shared memory is a root if it can be written to, whatever blocks are in it") {
  MadeUpSpace space;
  ScanRegion shared = kModuleData;
  shared.shared = true;
  space.add(shared, 0x2000, 0x3000);
  shared.writable = false;
  space.add(shared, 0x3000, 0x4000);
  CHECK(space.roots() == "2000-3000 ");
}
