#include <doctest/doctest.h>

#include <cstring>
#include <string>

#include "alloctap/dump/text/text_findings.hpp"
#include "alloctap/dump/text_dump.hpp"
#include "tests/support/tagged_report.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;

void add_offence(TaggedReport& sample, const char* scope, std::uint64_t runs,
                 const AllocationSums& sums) {
  OffenceSum offence{.stack = sample.intern({SampleReport::kMain + 1}, {.tag = sample.physics}),
                     .scopes = runs,
                     .sums = sums};
  std::strcpy(offence.name_text, scope);
  REQUIRE(sample.snapshot.scope_offences.push_back(offence));
}

}  // namespace

TEST_CASE("the text tells what was allocated in scopes that must not, by which stacks") {
  TaggedReport sample;
  CHECK(render(TextDump{}, sample.report()).find("must not allocate") == std::string::npos);
  add_offence(sample, "draw", 1, {.allocations = 1, .bytes = 48});
  add_offence(sample, "mix", 1000, {.allocations = 3000, .bytes = 1 << 20, .frees = 1});
  const std::string text = render(TextDump{}, sample.report());
  const std::size_t begin = text.find("\nScopes that must not");
  const std::size_t end = text.find("\nStacks that hold");
  REQUIRE(end > begin);
  CHECK(text.substr(begin, end - begin) == R"(
Scopes that must not allocate, and did
  draw: 1 allocation of 48 B, 0 frees, in 1 run
    of tag Game/Physics
    main   0x3000
  mix: 3,000 allocations of 1.0 MiB, 1 free, in 1,000 runs
    of tag Game/Physics
    main   0x3000
)");
}

TEST_CASE("of many the first are shown, and how many more there are") {
  TaggedReport sample;
  for (int i = 0; i < 25; ++i) add_offence(sample, "draw", 1, {.allocations = 1});
  sample.snapshot.left_out_scope_offences = 3;
  const std::string text = render(TextDump{}, sample.report());
  CHECK(text.find("  and 8 more\n") != std::string::npos);
}
