#include "alloctap/snapshot/by_module.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string_view>

#include "alloctap/status.hpp"
#include "tests/support/exhausted_arena.hpp"
#include "tests/support/sample_report.hpp"

namespace {

using namespace alloctap;
using alloctap::testing::SampleReport;
using alloctap::testing::StarvedArena;

constexpr StackId kEver = ~StackId{0};

Module module_at(std::uintptr_t start, std::string_view path) {
  return {.start = start, .end = start + 0x1000, .path = path, .unloaded_before = kEver};
}

/// The functions of the sample, each in a module of its own but for the last.
struct ModuleSample : SampleReport {
  ModuleSample() {
    REQUIRE(modules.add_unloaded(module_at(kLoad, "/lib/x86_64-linux-gnu/libc.so.6")));
    REQUIRE(modules.add_unloaded(module_at(kParse, "/usr/lib/libstdc++.so.6.0.30")));
    REQUIRE(modules.add_unloaded(module_at(kMain, "/opt/game/bin/game")));
  }
};

}  // namespace

TEST_CASE("memory is put down to the module that called the runtime") {
  const ModuleSample sample;
  const auto sums = by_module(sample.snapshot, sample.modules);
  REQUIRE(sums.ok());
  REQUIRE(sums->size() == 2);
  CHECK((*sums)[0].module == &sample.modules.modules()[2]);
  CHECK((*sums)[0].live_bytes == 40960 + (1 << 20) - 1);
  CHECK((*sums)[0].live_allocations == 11);
  CHECK((*sums)[0].total.allocations == 1005);
  CHECK((*sums)[0].total.allocated_bytes == 65536 + (5 << 20));
  CHECK((*sums)[0].total.temporary_allocations == 251);
  // Code in no module, and what has no stack.
  CHECK((*sums)[1].module == nullptr);
  CHECK((*sums)[1].live_bytes == 3);
  CHECK((*sums)[1].total.allocations == 1234567 + 7);
}

TEST_CASE("the caller says which modules allocate for others") {
  const ModuleSample sample;
  const auto sums = by_module(sample.snapshot, sample.modules, [](const Module& module) {
    return module.path.ends_with("libc.so.6");
  });
  REQUIRE(sums.ok());
  CHECK((*sums)[0].module == &sample.modules.modules()[1]);
  CHECK((*sums)[0].live_bytes == 40960 + (1 << 20) - 1);
}

TEST_CASE("a stack of nothing but the runtime is its innermost module's") {
  const ModuleSample sample;
  const auto sums = by_module(sample.snapshot, sample.modules, [](const Module&) { return true; });
  REQUIRE(sums.ok());
  REQUIRE(sums->size() == 3);
  CHECK((*sums)[0].module == &sample.modules.modules()[1]);
  CHECK((*sums)[0].live_bytes == (1 << 20) - 1);
  CHECK((*sums)[1].module == &sample.modules.modules()[0]);
  CHECK((*sums)[1].live_bytes == 40960);
}

TEST_CASE("allocators and the C and C++ runtimes are known by their files") {
  const auto is_runtime = [](std::string_view path) { return is_runtime_module({.path = path}); };
  for (const char* path :
       {"/lib/libc.so.6", "/lib/libc-2.31.so", "/usr/lib/libstdc++.so.6", "/usr/lib/libc++.so.1",
        "/usr/lib/libc++abi.so.1", "/lib64/ld-linux-x86-64.so.2", "/lib/ld-musl-x86_64.so.1",
        "/opt/liballoctap-run.so", "/usr/lib/libjemalloc.so.2", "/usr/lib/libtcmalloc.so.4"}) {
    CAPTURE(path);
    CHECK(is_runtime(path));
  }
  for (const char* path : {"/usr/lib/libcrypto.so.3", "/opt/game", "/libc.so.6/libgame.so", ""}) {
    CAPTURE(path);
    CHECK_FALSE(is_runtime(path));
  }
}

TEST_CASE("without memory for it there is an error") {
  ModuleSample sample;
  for (std::uintptr_t i = 16; i < 10'000; ++i) {
    REQUIRE(sample.modules.add_unloaded(module_at(i << 12, "/opt/plug-in.so")));
  }
  const StarvedArena starved;
  CHECK(by_module(sample.snapshot, sample.modules).status().code() ==
        alloctap::StatusCode::kResourceExhausted);
}
