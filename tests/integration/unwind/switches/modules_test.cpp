// Code that comes and goes, and calls that the loader resolves when they are made.
#include <dlfcn.h>
#include <sched.h>

#include <atomic>
#include <set>
#include <thread>

#include "compared_process.hpp"

namespace {

using namespace alloctap::testing;

using Call = void(void (*)());

/// A plugin as long as this lives.
class Plugin {
 public:
  explicit Plugin(const char* path) : handle_(dlopen(path, RTLD_NOW)) {
    REQUIRE(handle_ != nullptr);
    REQUIRE(dlsym(handle_, "plugin_call") != nullptr);
  }
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;
  ~Plugin() { dlclose(handle_); }

  [[nodiscard]] Call* function() const {
    return reinterpret_cast<Call*>(dlsym(handle_, "plugin_call"));
  }

 private:
  void* handle_;
};

/// Calls through the plugin at `path`; where its function was.
Call* call_through(const char* path) {
  const Plugin plugin(path);
  Call* function = plugin.function();
  for (int i = 0; i < 3; ++i) {
    function(&allocate);
    allocate();
  }
  return function;
}

/// By how much the frames of the one plugin are larger.
constexpr std::size_t kMore = 1048 - 40;

/// Calls from one of two places. With more room behind it where the plugin takes less, the plugin's
/// callee has the same stack pointer, and a return address of the larger frame is still there.
ALLOCTAP_NOINLINE void call_with_room(Call* function, bool small_frame) {
  escape(__builtin_alloca(small_frame ? 1024 + kMore : 1024));
  if (small_frame) {
    for (int i = escape(0); i < 5; ++i) function(&allocate);
    stay();
  } else {
    for (int i = escape(0); i < 5; ++i) function(&allocate);
    escape(0);
  }
}

/// Does nothing else to the stack.
void wait_until(const std::atomic<int>& step, int wanted) {
  while (step != wanted) sched_yield();
}

}  // namespace

TEST_CASE("a module that comes to the place of another has other frames") {
  ComparedRun run;
  std::set<Call*> places;
  for (int i = 0; i < 50; ++i) {
    places.insert(call_through(ALLOCTAP_SMALL_FRAMES));
    places.insert(call_through(ALLOCTAP_LARGE_FRAMES));
  }
  run.check_whole(600);
  // Else there was nothing to confuse.
  CHECK(places.size() < 10);
}

TEST_CASE("what a thread remembers of a module is gone with it") {
  ComparedRun run;
  for (int i = 0; i < 20; ++i) {
    std::atomic<int> step{0};
    std::atomic<Call*> function{nullptr};
    std::thread thread([&] {
      // From one place, so that no word further out changes.
      for (int now = 1; now <= escape(3); now += 2) {
        wait_until(step, now);
        call_with_room(function, now == 3);
        step = now + 1;
      }
    });
    const auto show = [&](const char* path, int now) {
      const Plugin plugin(path);
      function = plugin.function();
      step = now;
      wait_until(step, now + 1);
    };
    show(ALLOCTAP_LARGE_FRAMES, 1);
    Call* const before = function;
    show(ALLOCTAP_SMALL_FRAMES, 3);
    thread.join();
    const bool same_place = function == before;
    REQUIRE(same_place);
  }
  run.check_whole(200);
}

TEST_CASE("malloc is called while the loader resolves a call") {
  ComparedRun run;
  for (int i = 0; i < 20; ++i) {
    void* caller = dlopen(ALLOCTAP_LAZY_CALLER, RTLD_LAZY);
    REQUIRE(caller != nullptr);
    auto* call = reinterpret_cast<int (*)(int)>(dlsym(caller, "call_lazily"));
    const std::uint64_t before = ComparedRun::so_far().captures;
    CHECK(call(1) == 4);
    CHECK(ComparedRun::so_far().captures > before);
    const std::uint64_t resolved = ComparedRun::so_far().captures;
    CHECK(call(2) == 6);
    CHECK(ComparedRun::so_far().captures == resolved);
    dlclose(caller);
  }
  run.check_whole(100);
}
