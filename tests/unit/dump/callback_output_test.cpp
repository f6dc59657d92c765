#include <doctest/doctest.h>

#include <string>

#include "alloctap/dump/dump_writer.hpp"
#include "alloctap/dump/impl/outputs.hpp"
#include "alloctap/status.hpp"

using alloctap::CallbackOutput;
using alloctap::DumpWriter;

TEST_CASE("every piece of text is handed to the function, in order") {
  std::string received;
  CallbackOutput output([&](std::string_view text) {
    received += text;
    return alloctap::Status();
  });
  REQUIRE(output.open().ok());
  DumpWriter writer(output);
  const std::string large(200'000, 'x');
  writer << "one, " << large << "two";
  CHECK(writer.finish().ok());
  CHECK(output.commit().ok());
  CHECK(received == "one, " + large + "two");
}

TEST_CASE("an error of the function ends the report") {
  int calls = 0;
  CallbackOutput output([&](std::string_view) {
    ++calls;
    return alloctap::Status::aborted("enough");
  });
  DumpWriter writer(output);
  for (int i = 0; i < 4; ++i) writer << std::string(100'000, 'x');
  CHECK(writer.finish() == alloctap::Status::aborted("enough"));
  CHECK(calls == 1);
}

TEST_CASE("a function that keeps something is an output too") {
  struct Counter {
    std::size_t bytes = 0;
    alloctap::Status operator()(std::string_view text) {
      bytes += text.size();
      return alloctap::Status();
    }
  };
  CallbackOutput output{Counter{}};
  CHECK(output.write("text").ok());
  CHECK(alloctap::DumpOutput<CallbackOutput<Counter>>);
}
