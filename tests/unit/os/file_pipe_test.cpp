#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>

#include "alloctap/os/file.hpp"
#include "tests/support/temporary_directory.hpp"

namespace {

namespace os = alloctap::os;

struct Pipe {
  os::File out;
  os::File in;
};

Pipe make_pipe(int flags) {
  std::array<int, 2> ends{-1, -1};
  CHECK(pipe2(ends.data(), O_CLOEXEC) == 0);
  CHECK(fcntl(ends[1], F_SETFL, flags) == 0);
  return {os::File(ends[0]), os::File(ends[1])};
}

}  // namespace

TEST_CASE("a pipe that does not block gets all of a long text") {
  const Pipe pipe = make_pipe(O_NONBLOCK);
  const std::string text(1 << 20, 'x');
  std::string received;
  std::thread reader([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    while (received.size() < text.size()) {
      std::array<char, 4096> buffer{};
      const auto count = os::read_some(pipe.out.descriptor(), buffer);
      if (count <= 0) return;
      received.append(buffer.data(), static_cast<std::size_t>(count));
    }
  });
  CHECK(os::write_all(pipe.in.descriptor(), text) == 0);
  reader.join();
  CHECK(received == text);
}

TEST_CASE("a pipe that nobody reads is refused at once") {
  const alloctap::testing::TemporaryDirectory directory;
  const std::string path = directory.file("pipe");
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  int error = 0;
  CHECK_FALSE(os::open_for_appending(path.c_str(), error).is_open());
  CHECK(error == -ENXIO);
}
