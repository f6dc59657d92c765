// No dump calls the host's allocator, however large it is. This program's malloc counts its calls.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>

#include "tests/support/all_dumps.hpp"
#include "tests/support/sample_report.hpp"

extern "C" {

// The C library's own (glibc).
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* block, std::size_t bytes);
}

namespace {

std::uint64_t calls = 0;

}  // namespace

extern "C" {

void* malloc(std::size_t bytes) {
  ++calls;
  return __libc_malloc(bytes);
}

void* calloc(std::size_t count, std::size_t bytes) {
  ++calls;
  return __libc_calloc(count, bytes);
}

void* realloc(void* block, std::size_t bytes) {
  ++calls;
  return __libc_realloc(block, bytes);
}
}

namespace {

using namespace alloctap::testing;
using alloctap::DumpWriter;
using alloctap::MemoryOutput;
using alloctap::ModuleTable;
using alloctap::Report;

/// With modules, and with more stacks than any first table has room for.
void enlarge(SampleReport& sample) {
  sample.modules = ModuleTable::read();
  for (std::uintptr_t i = 0; i < 10'000; ++i) {
    sample.add(
        {sample.intern({0x5000 + i, SampleReport::kParse + 0x21, SampleReport::kMain + 0x31}),
         {2, 200, 0},
         1,
         100});
  }
}

TEST_CASE("malloc is counted") {
  const std::uint64_t before = calls;
  int* const block = new int(7);
  asm volatile("" : : "r"(block) : "memory");
  delete block;
  CHECK(calls == before + 1);
}

TEST_CASE_TEMPLATE_DEFINE("a dump does not call the host's allocator", Dump, without_malloc) {
  SampleReport sample;
  enlarge(sample);
  const Report report = sample.report();
  MemoryOutput output;
  const std::uint64_t before = calls;
  DumpWriter writer(output);
  Dump{}.write(report, writer);
  const bool written = writer.finish().ok();
  const std::uint64_t after = calls;
  CHECK(written);
  CHECK(!output.text().empty());
  CHECK(after - before == 0);
}
TEST_CASE_TEMPLATE_APPLY(without_malloc, AllDumps);

}  // namespace
