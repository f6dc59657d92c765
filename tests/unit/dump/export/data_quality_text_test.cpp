#include "alloctap/dump/export/data_quality_text.hpp"

#include <doctest/doctest.h>

#include <string>

#include "alloctap/dump/impl/outputs.hpp"
#include "tests/support/sample_report.hpp"

namespace {

using namespace alloctap::testing;

std::string account_of(const SampleReport& sample) {
  alloctap::MemoryOutput output;
  alloctap::DumpWriter writer(output);
  write_account(sample.report(), "; ", writer);
  REQUIRE(writer.finish().ok());
  return std::string(output.text());
}

}  // namespace

TEST_CASE("an account is whom it is about, how it was made, and how far it can be trusted") {
  SampleReport sample;
  CHECK(account_of(sample) == "alloctap " + std::string(alloctap::kVersionString) +
                                  ", pid 4711 /opt/game/bin/game"
                                  "; hook interpose, stacks by backtrace, at most 256 frames, "
                                  "symbols by fake"
                                  "; unseen: what nobody sees"
                                  "; 2471158 events, 1 dropped, 2 frees of unknown blocks, "
                                  "3 frees not seen, 4 stacks cut short, 5 deeper than the limit, "
                                  "0 pauses; 6 stacks through code without unwind tables, by "
                                  "its frame pointers");
}

TEST_CASE("an account says one of anything in the singular") {
  SampleReport sample;
  sample.snapshot.account = {.events = 1,
                             .dropped = 0,
                             .unmatched_frees = 1,
                             .unseen_frees = 1,
                             .failed_unwinds = 1,
                             .frame_pointer_unwinds = 1,
                             .truncated_stacks = 1,
                             .pauses = 1,
                             .unlogged_events = 1};
  CHECK(account_of(sample).ends_with(
      "; 1 event, 0 dropped, 1 free of unknown blocks, 1 free not seen, 1 stack cut short, 1 "
      "deeper than the limit, 1 pause; 1 stack through code without unwind tables, by its frame "
      "pointers; 1 event is in every number, but not in the event log"));
}

TEST_CASE("an account says what is wrong with the names, and is silent where nothing is") {
  SampleReport sample;
  CHECK(account_of(sample).find("names: ") == std::string::npos);
  sample.backend.find_symbolizer_note = []() noexcept -> std::string_view {
    return "from symbol tables alone";
  };
  CHECK(account_of(sample).find(
            "symbols by fake; names: from symbol tables alone; unseen: what nobody sees; ") !=
        std::string::npos);
}

TEST_CASE("an account keeps its separators, whatever a recording has for names") {
  SampleReport sample;
  sample.backend.hook = "a\nhook";
  sample.backend.stack = "a\nstack";
  sample.backend.symbolizer = "a\nsymbolizer";
  sample.backend.blind_spots = "blind\nspots";
  sample.backend.find_symbolizer_note = []() noexcept -> std::string_view { return "a\nnote"; };
  sample.snapshot.sampling = {.policy = {.name = "a\npolicy"}, .exact = false};
  const std::string account = account_of(sample);
  CHECK(account.find('\n') == std::string::npos);
  CHECK(account.find("hook a hook, stacks by a stack,") != std::string::npos);
  CHECK(account.find("; names: a note; unseen: blind spots; ") != std::string::npos);
  CHECK(account.find("; sampled by a policy: numbers of stacks") != std::string::npos);
}
