#include <doctest/doctest.h>

#include "alloctap/event/address_range.hpp"

using alloctap::InternalCode;

TEST_CASE("what was added is internal, to the last byte") {
  InternalCode code;
  CHECK_FALSE(code.contains(0x1000));
  code.add({0x1000, 0x1010});
  code.add({0x5000, 0x5001});
  CHECK_FALSE(code.contains(0xFFF));
  CHECK(code.contains(0x1000));
  CHECK(code.contains(0x100F));
  CHECK_FALSE(code.contains(0x1010));
  CHECK(code.contains(0x5000));
  CHECK_FALSE(code.contains(0));
  CHECK_FALSE(code.contains(1));
}

TEST_CASE("an empty range and one that is known take no room; when all is full the others stay") {
  InternalCode code;
  for (int i = 0; i < 100; ++i) code.add({0x1000, 0x1010}), code.add({});
  for (std::size_t i = 1; i < InternalCode::kMaxRanges; ++i)
    code.add({i * 0x10000, i * 0x10000 + 1});
  CHECK(code.contains((InternalCode::kMaxRanges - 1) * 0x10000));
  code.add({0x9990000, 0x9990001});
  CHECK_FALSE(code.contains(0x9990000));
  CHECK(code.contains(0x1000));
}
