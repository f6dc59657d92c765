// The fuzz target without a fuzzer: the same inputs in every run, under whatever sanitizer the
// build has.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "alloctap/dump/json_dump.hpp"
#include "tests/support/sample_report.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using namespace alloctap::testing;

using Input = std::vector<std::uint8_t>;
using Random = std::mt19937_64;

constexpr int kInputs = 20'000;

void run(const Input& input) { LLVMFuzzerTestOneInput(input.data(), input.size()); }

/// A whole report.
Input real_report() {
  SampleReport sample;
  REQUIRE(sample.modules.add_unloaded({.start = SampleReport::kMain,
                                       .end = SampleReport::kMain + 0x1000,
                                       .path = "/opt/game",
                                       .unloaded_before = ~alloctap::StackId{0}}));
  sample.names = {{SampleReport::kParse, SampleReport::kMain, "engine::next", "next.cpp", 3},
                  {SampleReport::kParse, SampleReport::kMain, "engine::parse", "parse.cpp", 4}};
  const std::string text = render(alloctap::JsonDump{}, sample.report());
  return {text.begin(), text.end()};
}

void change_bytes(Input& input, Random& random) {
  constexpr std::string_view kTelling = "{}[]\",:\\-0123456789eE.unrtfals";
  for (std::size_t i = random() % 4; i > 0 && !input.empty(); --i) {
    const std::size_t at = random() % input.size();
    const auto other =
        random() % 2 == 0 ? kTelling[random() % kTelling.size()] : static_cast<char>(random());
    input[at] = static_cast<std::uint8_t>(other);
  }
}

/// Puts a piece of `source` in the place of a piece of `input`.
void splice(Input& input, const Input& source, Random& random) {
  const std::size_t from = random() % source.size();
  const std::size_t length = random() % std::min<std::size_t>(200, source.size() - from);
  const std::size_t at = random() % (input.size() + 1);
  const std::size_t gone = random() % (std::min<std::size_t>(200, input.size() - at) + 1);
  const auto place = input.begin() + static_cast<std::ptrdiff_t>(at);
  input.erase(place, place + static_cast<std::ptrdiff_t>(gone));
  input.insert(input.begin() + static_cast<std::ptrdiff_t>(at),
               source.begin() + static_cast<std::ptrdiff_t>(from),
               source.begin() + static_cast<std::ptrdiff_t>(from + length));
}

}  // namespace

TEST_CASE("random bytes are read or refused") {
  Random random(1);
  for (int i = 0; i < kInputs; ++i) {
    Input input(random() % 200);
    for (auto& byte : input) byte = static_cast<std::uint8_t>(random());
    run(input);
  }
}

TEST_CASE("reports with changed, missing and repeated parts are read or refused") {
  const Input report = real_report();
  Random random(2);
  for (int i = 0; i < kInputs; ++i) {
    Input input = report;
    change_bytes(input, random);
    for (std::size_t n = random() % 3; n > 0; --n) splice(input, report, random);
    if (random() % 4 == 0) input.resize(random() % (input.size() + 1));
    if (random() % 4 == 0) {
      input.push_back(0);
      input.insert(input.end(), report.begin(), report.end());
    }
    run(input);
  }
}
