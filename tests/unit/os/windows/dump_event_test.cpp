#include <doctest/doctest.h>

#include <atomic>
#include <cerrno>
#include <string>

#include "alloctap/implement.hpp"
#include "alloctap/os/windows/dump_key.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/windows/becomes.hpp"

namespace {

using alloctap::os::DumpEvent;
using alloctap::os::DumpEventName;
using alloctap::os::Handle;
using alloctap::testing::becomes;
using alloctap::testing::holds_in_child;

struct Config : alloctap::DefaultConfig {
  using Hook = alloctap::ManualHook<struct DumpEventDomain>;
  using Symbolizer = alloctap::NoSymbolizer;
};
using Tracker = alloctap::Tracker<Config>;

constinit DumpEvent event;
constinit std::atomic<int> dumps{0};

void note_dump() noexcept { ++dumps; }

/// As another program of the user's does: by the process's id alone.
bool ask_for_dump(DWORD process = ::GetCurrentProcessId()) {
  const Handle asked(::OpenEventW(EVENT_MODIFY_STATE, FALSE, DumpEventName(process).c_str()));
  return asked && ::SetEvent(asked.get()) != 0;
}

}  // namespace

TEST_CASE("the event of a process is called after it") {
  CHECK(std::wstring(DumpEventName(4711).c_str()) == L"Local\\alloctap.dump.4711");
  CHECK(std::wstring(DumpEventName(0xFFFFFFFF).c_str()) == L"Local\\alloctap.dump.4294967295");
}

TEST_CASE("each time that the event is set there is a dump, and none after the end") {
  dumps = 0;
  CHECK_FALSE(ask_for_dump());
  REQUIRE(event.start(&note_dump) == 0);
  for (int i = 1; i <= 5; ++i) {
    CHECK(ask_for_dump());
    CHECK(becomes(dumps, i));
  }
  event.stop();
  CHECK_FALSE(ask_for_dump());
  CHECK(dumps == 5);
  event.stop();
  REQUIRE(event.start(&note_dump) == 0);
  CHECK(ask_for_dump());
  CHECK(becomes(dumps, 6));
  event.stop();
}

TEST_CASE("another process sets the event") {
  constexpr const char* kParent = "ALLOCTAP_TEST_PARENT";
  char parent[16] = {};
  if (::GetEnvironmentVariableA(kParent, parent, sizeof parent) == 0) {
    ::SetEnvironmentVariableA(kParent, std::to_string(::GetCurrentProcessId()).c_str());
  }
  dumps = 0;
  REQUIRE(event.start(&note_dump) == 0);
  CHECK(holds_in_child([&] { return ask_for_dump(static_cast<DWORD>(std::stoul(parent))); }));
  CHECK(becomes(dumps, 1));
  event.stop();
  ::SetEnvironmentVariableA(kParent, nullptr);
}

TEST_CASE("a process has one such event, and says who has it") {
  REQUIRE(event.start(&note_dump) == 0);
  CHECK(event.start(&note_dump) == -EBUSY);
  static constinit DumpEvent second;
  CHECK(second.start(&note_dump) == -EEXIST);
  second.stop();
  event.stop();
  CHECK(second.start(&note_dump) == 0);
  second.stop();
}

TEST_CASE("a tracker is dumped whenever the event is set, while it goes on") {
  static std::string report;
  static constinit std::atomic<int> written{0};
  const auto session = Tracker::start();
  REQUIRE(session.ok());
  REQUIRE(event.start([]() noexcept {
    alloctap::MemoryOutput output;
    if (!Tracker::dump(alloctap::TextDump{}, output).ok()) return;
    report = output.text();
    ++written;
  }) == 0);
  for (std::uintptr_t i = 1; i <= 2; ++i) {
    Config::Hook::on_allocate(reinterpret_cast<void*>(i * 0x1000), 100 * i);
    REQUIRE(ask_for_dump());
    REQUIRE(becomes(written, static_cast<int>(i)));
    CHECK(report.find(i == 1 ? "(100 bytes)" : "(300 bytes)") != std::string::npos);
  }
  event.stop();
}
