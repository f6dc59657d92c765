// Every output passes on exactly what was written, in order.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>

#include "alloctap/dump/dump_writer.hpp"
#include "alloctap/dump/impl/outputs.hpp"
#include "alloctap/status.hpp"
#include "tests/support/temporary_directory.hpp"

namespace {

using alloctap::testing::TemporaryDirectory;

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Writes `pieces` to `output` through a writer, as a dump does.
template <class Output>
alloctap::Status write_all(Output& output, const std::vector<std::string>& pieces) {
  if (alloctap::Status status = output.open(); !status.ok()) return status;
  alloctap::DumpWriter writer(output);
  for (const std::string& piece : pieces) writer << std::string_view(piece);
  if (alloctap::Status status = writer.finish(); !status.ok()) return status;
  return output.commit();
}

/// An output of each kind, and what arrived there.
struct ToFile {
  TemporaryDirectory directory;
  std::string path = directory.file("dump");
  alloctap::Status write(const std::vector<std::string>& pieces) {
    alloctap::FileOutput output(path);
    return write_all(output, pieces);
  }
  std::string arrived() { return read(path); }
};

struct ToDescriptor {
  TemporaryDirectory directory;
  std::string path = directory.file("dump");
  alloctap::Status write(const std::vector<std::string>& pieces) {
    const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    alloctap::DescriptorOutput output(descriptor);
    const alloctap::Status status = write_all(output, pieces);
    CHECK(close(descriptor) == 0);
    return status;
  }
  std::string arrived() { return read(path); }
};

struct ToMemory {
  alloctap::MemoryOutput output;
  alloctap::Status write(const std::vector<std::string>& pieces) {
    return write_all(output, pieces);
  }
  std::string arrived() { return std::string(output.text()); }
};

struct ToCallback {
  std::string text;
  alloctap::Status write(const std::vector<std::string>& pieces) {
    text.clear();
    alloctap::CallbackOutput output([this](std::string_view piece) {
      text += piece;
      return alloctap::Status();
    });
    return write_all(output, pieces);
  }
  std::string arrived() { return text; }
};

std::vector<std::string> many_pieces() {
  std::vector<std::string> pieces{"", "a", std::string(1, '\0'), std::string(200'000, 'x'), "\n"};
  for (int i = 0; i < 10'000; ++i) pieces.push_back(std::to_string(i));
  return pieces;
}

std::string joined(const std::vector<std::string>& pieces) {
  std::string all;
  for (const std::string& piece : pieces) all += piece;
  return all;
}

}  // namespace

TEST_CASE_TEMPLATE("what is written arrives whole and in order", Target, ToFile, ToDescriptor,
                   ToMemory, ToCallback) {
  Target target;
  const std::vector<std::string> pieces = many_pieces();
  CHECK(target.write(pieces).ok());
  CHECK(target.arrived() == joined(pieces));
}

TEST_CASE_TEMPLATE("a second dump replaces the first", Target, ToFile, ToDescriptor, ToMemory,
                   ToCallback) {
  Target target;
  CHECK(target.write({"first and longer"}).ok());
  CHECK(target.write({"second"}).ok());
  CHECK(target.arrived() == "second");
}

TEST_CASE_TEMPLATE("an empty dump is one too", Target, ToFile, ToDescriptor, ToMemory, ToCallback) {
  Target target;
  CHECK(target.write({}).ok());
  CHECK(target.arrived().empty());
}
