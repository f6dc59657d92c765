// usage: record_seeds FILE...: writes a small record to each FILE.
#include "tests/fuzz/record_seeds.hpp"

#include <cstdio>
#include <fstream>

int main(int argc, char** argv) {
  const auto records = alloctap::testing::seed_records();
  for (std::size_t i = 1; i < static_cast<std::size_t>(argc); ++i) {
    std::ofstream file(argv[i], std::ios::binary);
    file << records[(i - 1) % records.size()];
    if (file.flush()) continue;
    std::fprintf(stderr, "record_seeds: cannot write %s\n", argv[i]);
    return 1;
  }
  return 0;
}
