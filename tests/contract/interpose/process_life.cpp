// Backend case 21: a process that allocates from before its first constructor until after its last
// destructor. Exits with 1, and a line that says why, where its tracker saw anything else.
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "alloctap/hook/interpose_hook.hpp"
#include "alloctap/hook/interposed_malloc.hpp"
#include "alloctap/impl/tracker.hpp"
#include "alloctap/stack/stack_capture.hpp"

namespace {

struct Config;
using Tracker = alloctap::Tracker<Config>;

/// Never destroyed: frees come after every destructor.
alignas(alloctap::Session) std::byte session_place[sizeof(alloctap::Session)];
alloctap::Session* session = nullptr;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "process_life: not so: %s\n", what);
  _exit(1);
}

struct Config : alloctap::DefaultConfig {
  using Hook = alloctap::InterposeHook;
  using Stack = alloctap::NoStack;
  static constexpr alloctap::ConfigFeatures features{.on_first_call = true};
  /// The first call of malloc in the process, before any constructor.
  static void on_first_call() noexcept;
};

alloctap::Snapshot snapshot() {
  auto taken = Tracker::snapshot();
  expect(taken.ok(), "a snapshot can be taken");
  return *std::move(taken);
}

template <class T>
ALLOCTAP_ALWAYS_INLINE T* escape(T* pointer) {
  __asm__ volatile("" : "+r"(pointer) : : "memory");
  return pointer;
}

}  // namespace

ALLOCTAP_DEFINE_INTERPOSED_MALLOC(Tracker);

namespace {

void Config::on_first_call() noexcept {
  auto started = Tracker::start();
  expect(started.ok(), "the tracker starts inside the first call");
  session = ::new (session_place) alloctap::Session(*std::move(started));
}

/// The last code of the program that runs: its destructor was registered first.
struct Last {
  ~Last() {
    const alloctap::Snapshot end = snapshot();
    expect(end.account.unmatched_frees == before.account.unmatched_frees,
           "every block that a destructor frees is known");
    expect(end.totals.live_bytes < before.totals.live_bytes - 5000,
           "what destructors freed is not live");
    session->end();
    const alloctap::Snapshot ended = snapshot();
    std::free(escape(std::malloc(10)));
    expect(snapshot().totals.allocations == ended.totals.allocations,
           "after the session nothing is recorded");
    std::free(kept);
  }
  alloctap::Snapshot before;
  void* kept = nullptr;
} last;

void* early = nullptr;
__attribute__((constructor(101))) void allocate_before_all_constructors() {
  early = escape(std::malloc(1000));
}

const std::vector<char> made_by_constructor(2000);
std::unique_ptr<std::string> freed_by_destructor;

/// Frees what is left at exit, behind main.
void at_exit() { std::free(early); }

}  // namespace

int main() {
  expect(session != nullptr, "the tracker started before main");
  alloctap::Snapshot now = snapshot();
  expect(now.totals.live_bytes >= 3000, "blocks from before main are known");
  expect(now.account.unmatched_frees == 0, "every free before main met its allocation");
  freed_by_destructor = std::make_unique<std::string>(3000, 'x');
  last.kept = escape(std::malloc(20));
  std::atexit(&at_exit);
  last.before = snapshot();
}
