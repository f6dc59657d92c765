#include <doctest/doctest.h>

#include <array>
#include <protozero/basic_pbf_writer.hpp>
#include <protozero/pbf_writer.hpp>
#include <string>

#include "alloctap/dump/export/pprof_profile.hpp"
#include "tests/support/exhausted_arena.hpp"

namespace {

using alloctap::ProtobufBuffer;
using Writer = protozero::basic_pbf_writer<ProtobufBuffer>;

/// Messages inside each other, one of them empty, and more than the buffer has at first.
template <class SomeWriter>
void fill(SomeWriter& writer) {
  constexpr std::array<std::uint64_t, 4> kNumbers{1, 300, 1 << 20, UINT64_MAX};
  writer.add_uint64(1, 150);
  for (int i = 0; i < 1000; ++i) {
    SomeWriter outer(writer, 2);
    outer.add_packed_uint64(1, kNumbers.begin(), kNumbers.end());
    SomeWriter(outer, 2).add_string(1, std::string(static_cast<std::size_t>(i), 'x'));
    SomeWriter(outer, 3);
    outer.add_bool(4, true);
  }
}

}  // namespace

TEST_CASE("protozero writes the same as into a string of its own") {
  ProtobufBuffer buffer;
  Writer writer(buffer);
  fill(writer);
  std::string expected;
  protozero::pbf_writer string_writer(expected);
  fill(string_writer);
  CHECK(buffer.complete());
  CHECK((buffer.bytes() == expected));
}

TEST_CASE("a buffer that was cleared is used again") {
  ProtobufBuffer buffer;
  Writer writer(buffer);
  fill(writer);
  buffer.clear();
  writer.add_bool(1, true);
  CHECK((buffer.bytes() == "\x08\x01"));
}

TEST_CASE("where memory ends, a buffer says so and has nothing") {
  ProtobufBuffer buffer;
  Writer writer(buffer);
  writer.add_bool(1, true);
  {
    const alloctap::testing::StarvedArena starved;
    fill(writer);
  }
  writer.add_bool(1, true);
  CHECK_FALSE(buffer.complete());
  CHECK(buffer.bytes().empty());
}
