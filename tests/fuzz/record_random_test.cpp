// The fuzz target without a fuzzer: the same inputs in every run, under whatever sanitizer the
// build has.

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/record_seeds.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using alloctap::testing::seed_records;
using Input = std::vector<std::uint8_t>;
using Random = std::mt19937_64;

void run(const Input& input) { LLVMFuzzerTestOneInput(input.data(), input.size()); }

/// Each test takes them in turn.
std::vector<Input> real_records() {
  std::vector<Input> inputs;
  for (const std::string& record : seed_records())
    inputs.emplace_back(record.begin(), record.end());
  return inputs;
}

}  // namespace

TEST_CASE("records with changed bytes are read or refused, and dumped") {
  const std::vector<Input> records = real_records();
  Random random(1);
  for (int i = 0; i < 3'000; ++i) {
    Input input = records[static_cast<std::size_t>(i) % records.size()];
    for (std::size_t changes = random() % 4 + 1; changes > 0; --changes) {
      input[random() % input.size()] = static_cast<std::uint8_t>(random());
    }
    run(input);
  }
}

TEST_CASE("records without some bytes, or with some twice, are read or refused, and dumped") {
  const std::vector<Input> records = real_records();
  Random random(2);
  for (int i = 0; i < 3'000; ++i) {
    Input input = records[static_cast<std::size_t>(i) % records.size()];
    const auto at = input.begin() + static_cast<std::ptrdiff_t>(random() % input.size());
    const auto length = static_cast<std::ptrdiff_t>(
        random() % static_cast<std::size_t>(std::min<std::ptrdiff_t>(50, input.end() - at)));
    if (random() % 2 == 0) {
      input.erase(at, at + length);
    } else {
      const Input piece(at, at + length);
      input.insert(at, piece.begin(), piece.end());
    }
    run(input);
  }
}

TEST_CASE("records that were cut short are read, and dumped") {
  const Input record = real_records().back();
  for (std::size_t size = 0; size < record.size(); ++size) {
    run(Input(record.begin(), record.begin() + static_cast<std::ptrdiff_t>(size)));
  }
}
