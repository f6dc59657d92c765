#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "alloctap/dump/export/stack_weights.hpp"
#include "tests/support/exhausted_arena.hpp"
#include "tests/support/sample_report.hpp"

namespace {

using alloctap::HoldingModule;
using alloctap::HoldingStack;
using alloctap::ModuleStacks;
using alloctap::testing::SampleReport;

/// "name count bytes: bytes of its stacks"
std::vector<std::string> texts_of(const ModuleStacks& memory) {
  std::vector<std::string> texts;
  for (const HoldingModule& module : memory.modules()) {
    std::string text = std::string(module.name()) + " " + std::to_string(module.count) + " " +
                       std::to_string(module.bytes) + ":";
    for (const HoldingStack& stack : memory.stacks_of(module)) {
      text += " " + std::to_string(stack.bytes);
    }
    texts.push_back(text);
  }
  return texts;
}

void add_module(SampleReport& sample, std::uintptr_t start, const char* path) {
  alloctap::Module module;
  module.start = module.bias = start;
  module.end = start + 0x1000;
  module.path = path;
  module.unloaded_before = 1000;
  CHECK(sample.modules.add_unloaded(module));
}

}  // namespace

TEST_CASE("blocks and mappings are summed up by the module that asked for them") {
  SampleReport sample;
  add_module(sample, SampleReport::kLoad, "/lib/libc.so.6");
  add_module(sample, SampleReport::kParse, "/lib/parser.so");
  const auto report = sample.report();
  CHECK(texts_of(ModuleStacks(report, sample.snapshot.stacks)) ==
        std::vector<std::string>{"/lib/parser.so 11 1089535: 1048575 40960", "[unknown] 2 3: 3"});
  CHECK(texts_of(ModuleStacks(report, sample.snapshot.mappings)) ==
        std::vector<std::string>{"/lib/parser.so 2 8192: 8192"});
}

TEST_CASE("where memory ends, modules say that they are not whole") {
  const SampleReport sample;
  const auto report = sample.report();
  bool complete = true;
  {
    const alloctap::testing::StarvedArena starved;
    complete = ModuleStacks(report, sample.snapshot.stacks).complete();
  }
  CHECK_FALSE(complete);
}
