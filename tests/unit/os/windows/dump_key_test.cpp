#include "alloctap/os/windows/dump_key.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cerrno>
#include <string>
#include <thread>

#include "alloctap/implement.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/windows/becomes.hpp"

namespace {

using alloctap::os::DumpKey;
using alloctap::os::DumpKeyProblem;
using alloctap::os::HotKey;
using alloctap::os::HotKeyName;
using alloctap::testing::becomes;
using alloctap::testing::holds_in_child;

struct KeyConfig : alloctap::DefaultConfig {
  using Hook = alloctap::ManualHook<struct DumpKeyDomain>;
  using Symbolizer = alloctap::NoSymbolizer;
};
using KeyTracker = alloctap::Tracker<KeyConfig>;

constinit DumpKey dump_key;
constinit std::atomic<int> key_dumps{0};

void note_key_dump() noexcept { ++key_dumps; }

/// One that no keyboard has, and that another process with these tests seldom takes: with Control,
/// and by the process's id with any of Alt, Shift and Windows.
HotKey free_key() {
  constexpr UINT kKeys = VK_F24 - VK_F13 + 1;
  const UINT number = ::GetCurrentProcessId() / 4;
  const UINT modifiers = number / kKeys;
  return {.modifiers = MOD_CONTROL | (modifiers & 1) | ((modifiers & 6) << 1),
          .key = VK_F13 + number % kKeys};
}

/// As Windows does when the key is pressed.
bool press() { return ::PostThreadMessageW(dump_key.thread_id(), WM_HOTKEY, 1, 0) != 0; }

/// Whether a thread of nobody's can have the key.
bool is_free(HotKey key) {
  bool registered = false;
  std::thread([&] {
    registered = ::RegisterHotKey(nullptr, 7, key.modifiers, key.key) != 0;
    if (registered) ::UnregisterHotKey(nullptr, 7);
  }).join();
  return registered;
}

std::string name_of(UINT modifiers, UINT key) { return HotKeyName({modifiers, key}).c_str(); }

}  // namespace

TEST_CASE("a key is called what is written on it") {
  CHECK(name_of(MOD_CONTROL | MOD_ALT, 'D') == "Ctrl+Alt+D");
  CHECK(name_of(MOD_WIN | MOD_SHIFT, '0') == "Shift+Win+0");
  CHECK(name_of(MOD_ALT, VK_F1) == "Alt+F1");
  CHECK(name_of(MOD_CONTROL, VK_F24) == "Ctrl+F24");
  CHECK(name_of(MOD_CONTROL, VK_INSERT) == "Ctrl+key 0x2D");
  CHECK(name_of(MOD_CONTROL | MOD_ALT | MOD_SHIFT | MOD_WIN, 0xFFFFFFFF) ==
        "Ctrl+Alt+Shift+Win+key 0xFFFFFFFF");
}

TEST_CASE("each time that the key is pressed there is a dump, and none after the end") {
  key_dumps = 0;
  CHECK(dump_key.thread_id() == 0);
  REQUIRE(dump_key.start(free_key(), &note_key_dump) == 0);
  CHECK_FALSE(is_free(free_key()));
  for (int i = 1; i <= 5; ++i) {
    CHECK(press());
    CHECK(becomes(key_dumps, i));
  }
  const DWORD thread = dump_key.thread_id();
  CHECK(thread != ::GetCurrentThreadId());
  dump_key.stop();
  CHECK(dump_key.thread_id() == 0);
  CHECK(is_free(free_key()));
  CHECK(::PostThreadMessageW(thread, WM_HOTKEY, 1, 0) == 0);
  CHECK(key_dumps == 5);
  dump_key.stop();
  REQUIRE(dump_key.start(free_key(), &note_key_dump) == 0);
  CHECK(press());
  CHECK(becomes(key_dumps, 6));
  dump_key.stop();
}

TEST_CASE("only the key asks for a dump, and what was asked for is written before the end") {
  key_dumps = 0;
  REQUIRE(dump_key.start(free_key(), []() noexcept {
    ::Sleep(50);
    ++key_dumps;
  }) == 0);
  CHECK(::PostThreadMessageW(dump_key.thread_id(), WM_APP, 0, 0) != 0);
  CHECK(::PostThreadMessageW(dump_key.thread_id(), WM_USER, 0, 0) != 0);
  for (int i = 0; i < 3; ++i) CHECK(press());
  dump_key.stop();
  CHECK(key_dumps == 3);
}

TEST_CASE("a key that is somebody else's is refused, with a line that says so") {
  REQUIRE(dump_key.start(free_key(), &note_key_dump) == 0);
  CHECK(dump_key.start(free_key(), &note_key_dump) == -EBUSY);
  static constinit DumpKey second;
  const int error = second.start(free_key(), &note_key_dump);
  CHECK(error == -EEXIST);
  CHECK(second.thread_id() == 0);
  CHECK(std::string(DumpKeyProblem({MOD_CONTROL | MOD_ALT, 'D'}, error).c_str()) ==
        "no dump on Ctrl+Alt+D: another program, or another part of this one, has that key; choose "
        "another");
  second.stop();
  dump_key.stop();
  CHECK(second.start(free_key(), &note_key_dump) == 0);
  second.stop();
}

TEST_CASE("a key that another process has is refused as well") {
  constexpr const char* kKey = "ALLOCTAP_TEST_KEY";
  HotKey key = free_key();
  char number[16] = {};
  if (::GetEnvironmentVariableA(kKey, number, sizeof number) == 0) {
    ::SetEnvironmentVariableA(kKey, std::to_string(key.modifiers << 8 | key.key).c_str());
    REQUIRE(dump_key.start(key, &note_key_dump) == 0);
  } else {
    key = {.modifiers = static_cast<UINT>(std::stoul(number)) >> 8,
           .key = static_cast<UINT>(std::stoul(number)) & 0xFF};
  }
  CHECK(holds_in_child([&] { return dump_key.start(key, &note_key_dump) == -EEXIST; }));
  dump_key.stop();
  ::SetEnvironmentVariableA(kKey, nullptr);
}

TEST_CASE("what is no key, and what text is written with, is refused") {
  for (const HotKey key : {HotKey{MOD_CONTROL, 0}, HotKey{MOD_CONTROL, 0xFF}, HotKey{0, VK_F13},
                           HotKey{MOD_SHIFT, 'D'}, HotKey{MOD_CONTROL | MOD_NOREPEAT, 'D'}}) {
    CAPTURE(HotKeyName(key).c_str());
    CHECK(dump_key.start(key, &note_key_dump) == -EINVAL);
    CHECK(dump_key.thread_id() == 0);
  }
  CHECK(std::string(DumpKeyProblem({MOD_SHIFT, 'D'}, -EINVAL).c_str()) ==
        "no dump on Shift+D: it has to be a key from 1 to 0xFE together with Ctrl, Alt or Win");
  CHECK(std::string(DumpKeyProblem({MOD_ALT, 'D'}, -ENOMEM).c_str()) ==
        "no dump on Alt+D: Cannot allocate memory");
}

TEST_CASE("a tracker is dumped whenever the key is pressed, while it goes on") {
  static std::string report;
  static constinit std::atomic<int> written{0};
  const auto session = KeyTracker::start();
  REQUIRE(session.ok());
  REQUIRE(dump_key.start(free_key(), []() noexcept {
    alloctap::MemoryOutput output;
    if (!KeyTracker::dump(alloctap::TextDump{}, output).ok()) return;
    report = output.text();
    ++written;
  }) == 0);
  for (std::uintptr_t i = 1; i <= 2; ++i) {
    KeyConfig::Hook::on_allocate(reinterpret_cast<void*>(i * 0x1000), 100 * i);
    REQUIRE(press());
    REQUIRE(becomes(written, static_cast<int>(i)));
    CHECK(report.find(i == 1 ? "(100 bytes)" : "(300 bytes)") != std::string::npos);
  }
  dump_key.stop();
}
