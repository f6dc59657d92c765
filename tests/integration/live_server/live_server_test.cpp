// The example live_server, over HTTP.
#include <doctest/doctest.h>
#include <httplib.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/integration/support/dump.hpp"
#include "tests/integration/support/process.hpp"
#include "tests/support/temporary_directory.hpp"

namespace {

using namespace alloctap::testing;

constexpr std::size_t kNotes = 100;
constexpr std::size_t kNoteBytes = 100'000;

/// One that runs until the end of the test, on a port of its own.
class LiveServer {
 public:
  LiveServer() {
    REQUIRE(process_.wait_for("/heap.html"));
    const std::string& told = process_.output();
    address_ = told.substr(0, told.find("/heap.html"));
    client_ = make_client();
  }

  /// Waits for answers as long as for programs: on a busy machine a report takes its time.
  [[nodiscard]] std::unique_ptr<httplib::Client> make_client() const {
    auto client = std::make_unique<httplib::Client>(address_);
    client->set_read_timeout(std::chrono::seconds(60));
    return client;
  }

  [[nodiscard]] const std::string& address() const { return address_; }
  httplib::Client& client() { return *client_; }

  /// The answer to GET, which must be 200.
  std::string get(const std::string& path) {
    const auto answer = client_->Get(path);
    REQUIRE(answer);
    CHECK(answer->status == 200);
    return answer->body;
  }

  void keep_notes() {
    for (std::size_t i = 0; i < kNotes; ++i) {
      const auto answer =
          client_->Put("/notes/n" + std::to_string(i), std::string(kNoteBytes, 'x'), "text/plain");
      REQUIRE(answer);
      CHECK(answer->status == 204);
    }
  }

  Outcome end() {
    process_.send(SIGTERM);
    return process_.finish();
  }

 private:
  Process process_{{.arguments = {ALLOCTAP_LIVE_SERVER, "0"}}};
  std::string address_;
  std::unique_ptr<httplib::Client> client_;
};

/// The report at /heap.json.
Dump dump_of(LiveServer& server) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("heap.json");
  std::ofstream(path) << server.get("/heap.json");
  return Dump(path);
}

}  // namespace

TEST_CASE("a server shows what it holds, and what it holds no more") {
  LiveServer server;
  const std::uint64_t before = dump_of(server).total("live_bytes");
  server.keep_notes();
  CHECK(server.get("/notes/n7") == std::string(kNoteBytes, 'x'));
  const std::uint64_t full = dump_of(server).total("live_bytes");
  CHECK(full - before >= kNotes * kNoteBytes);
  CHECK(full - before < kNotes * kNoteBytes * 5 / 4);
  for (std::size_t i = 0; i < kNotes; ++i) {
    CHECK(server.client().Delete("/notes/n" + std::to_string(i))->status == 204);
  }
  CHECK(dump_of(server).total("live_bytes") < before + kNotes * kNoteBytes / 10);
  const Outcome outcome = server.end();
  CHECK(outcome.exit_code() == 0);
  CHECK(outcome.err.empty());
}

TEST_CASE("the profile is what go tool pprof expects at that address") {
  LiveServer server;
  server.keep_notes();
  const TemporaryDirectory home;
  const Outcome pprof = run(
      {.arguments = {"/usr/bin/go", "tool", "pprof", "-top", "-unit=B", "-sample_index=inuse_space",
                     "-nodecount=-1", server.address() + "/debug/pprof/heap"},
       .environment = {"PATH=/usr/bin:/bin", "HOME=" + home.file(""), "GOCACHE=" + home.file(""),
                       "PPROF_TMPDIR=" + home.file("")},
       .directory = home.file("")});
  CAPTURE(pprof.err);
  CHECK(pprof.exit_code() == 0);
  CHECK(pprof.out.find("Type: inuse_space") != pprof.out.npos);
  CHECK(pprof.out.find("add_notes") != pprof.out.npos);
}

TEST_CASE("the page is whole, while others allocate and ask for other pages") {
  LiveServer server;
  std::vector<std::thread> others;
  for (const char* path : {"/heap.json", "/debug/pprof/heap", "/heap.html"}) {
    others.emplace_back([&server, path] {
      const auto client = server.make_client();
      for (int i = 0; i < 5; ++i) {
        const auto answer = client->Get(path);
        CHECK((answer && answer->status == 200 && answer->body.size() > 1'000));
      }
    });
  }
  server.keep_notes();
  const std::string page = server.get("/heap.html");
  for (std::thread& other : others) other.join();
  CHECK(page.starts_with("<!"));
  CHECK(page.find("alloctap.heap/1") != page.npos);
  CHECK(page.find("</html>") != page.npos);
}

TEST_CASE("a wrong command line and a port that is taken are told") {
  for (const char* port : {"no", "-1", "65536", "80x", ""}) {
    const Outcome outcome = run({.arguments = {ALLOCTAP_LIVE_SERVER, port}});
    CHECK(outcome.exit_code() == 2);
    CHECK(outcome.err == "usage: live_server [PORT]\n");
  }
  LiveServer server;
  const std::string port = server.address().substr(server.address().rfind(':') + 1);
  const Outcome outcome = run({.arguments = {ALLOCTAP_LIVE_SERVER, port}});
  CHECK(outcome.exit_code() == 1);
  CHECK(outcome.err == "live_server: cannot listen on port " + port + "; try another one\n");
}
