#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <utility>

#include "alloctap/dump/text_dump.hpp"
#include "alloctap/impl/tracker.hpp"
#include "alloctap/queue/buffer_queue.hpp"
#include "alloctap/status.hpp"
#include "tests/support/scripted_tracker.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;

/// A hook on the process's allocator that sees nothing.
template <class Test, bool kWorks>
struct BlindHook : HookBackendArchetype {
  static constexpr std::string_view name = "blind";
  template <EventSink Sink>
  static alloctap::Status install() {
    return kWorks ? alloctap::Status() : alloctap::Status::unavailable("this hook never works");
  }
};

template <class Test, bool kWorks>
struct BlindConfig : DefaultConfig {
  using Hook = BlindHook<Test, kWorks>;
};

struct TinyConfig : DefaultConfig {
  using Hook = ManualHook<struct TinyQueue>;
  using Queue = BufferQueue;
  static constexpr Limits limits{.max_queue_bytes = 100};
};

struct FirstHook;
struct SecondHook;
struct FailingHook;
struct EndedInDumpHook;
struct DumpedHook;

}  // namespace

TEST_CASE("two trackers cannot have a hook on the process's allocator at once") {
  using First = Tracker<BlindConfig<FirstHook, true>>;
  using Second = Tracker<BlindConfig<SecondHook, true>>;
  auto first = First::start();
  REQUIRE(first.ok());
  const auto second = Second::start();
  CHECK(second.status().code() == alloctap::StatusCode::kFailedPrecondition);
  CHECK(says(second.status(), "another tracker has the hook \"blind\" on the process's allocator"));
  CHECK(says(second.status(), "cannot install the hook \"blind\""));
  CHECK(says(second.status(), "End its session first"));
  CHECK_FALSE(Second::running());
  first->end();
  CHECK(Second::start().ok());
}

TEST_CASE("a tracker whose hook does not work has no session, and others may") {
  using Failing = Tracker<BlindConfig<FailingHook, false>>;
  CHECK(Failing::start().status() == alloctap::Status::unavailable("this hook never works"));
  CHECK_FALSE(Failing::running());
  CHECK(Failing::start().status() == alloctap::Status::unavailable("this hook never works"));
  CHECK(Tracker<BlindConfig<FirstHook, true>>::start().ok());
}

TEST_CASE("a queue that is given too little memory says how much it needs") {
  using T = Tracker<TinyConfig>;
  const alloctap::Status status = T::start().status();
  CHECK(status.code() == alloctap::StatusCode::kInvalidArgument);
  CHECK(says(status, "limits.max_queue_bytes = 100"));
  CHECK(says(status, "give at least"));
  CHECK_FALSE(T::running());
}

TEST_CASE("a session that ends inside a dump's output stops when the dump has ended") {
  using T = Tracker<ScriptedConfig<EndedInDumpHook>>;
  using Dumped = Tracker<ScriptedConfig<DumpedHook>>;
  for (int i = 0; i < 2; ++i) {
    auto session = T::start();
    REQUIRE(session.ok());
    int still_running = 0;
    CallbackOutput output([&](std::string_view) {
      session->end();
      still_running += static_cast<int>(T::running());
      return alloctap::Status();
    });
    // The ended session may be of the tracker that dumps, or of another.
    CHECK((i == 0 ? T::dump(TextDump{}, output) : Dumped::dump(TextDump{}, output)).ok());
    CHECK(still_running > 0);
    CHECK_FALSE(T::running());
  }
  CHECK(T::start().ok());
}
