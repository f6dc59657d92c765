#include <doctest/doctest.h>
#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

#include "alloctap/dump/impl/outputs.hpp"
#include "alloctap/fail/active_fault_rules.hpp"
#include "alloctap/meta/pool_table.hpp"
#include "alloctap/runtime/fork_handlers.hpp"
#include "alloctap/stack/fibers.hpp"
#include "alloctap/tag/tag_table.hpp"
#include "tests/support/child_process.hpp"

namespace {

using namespace alloctap;
using alloctap::testing::holds_in_child;

std::atomic<int> registrations{0};
std::atomic<bool> may_register{true};

}  // namespace

/// Replaces libc's function in this program.
extern "C" int pthread_atfork(void (*)(), void (*)(), void (*)()) noexcept {
  ++registrations;
  while (!may_register) std::this_thread::yield();
  return 0;
}

namespace {

/// Whether `action` registers the handlers, and its repetition does not.
template <class Action>
bool registers_once(Action action) {
  return holds_in_child([&] {
    action();
    action();
    return registrations == 1;
  });
}

void nothing_in_child() noexcept {}

}  // namespace

TEST_CASE("what may take a lock before the first session registers the handlers of fork") {
  static PoolTable pools;
  static TagTable tags;
  CHECK(registers_once([] { const ControlScope hold; }));
  CHECK(registers_once([] { static_cast<void>(pools.create("pool")); }));
  CHECK(registers_once([] {
    std::atomic<std::uint32_t> once{0};
    static_cast<void>(pools.create_once(once, "shared"));
  }));
  CHECK(registers_once([] { static_cast<void>(tags.find_or_add(kNoTag, "tag")); }));
  CHECK(registers_once([] { static_cast<void>(Fibers::add(&pools, 16)); }));
  CHECK(registers_once([] { static_cast<void>(ActiveFaultRules::begin_for_all({})); }));
  CHECK(registers_once([] { const FileOutput output("never_opened"); }));
  CHECK(registers_once([] {
    MemoryOutput output;
    static_cast<void>(output.open());
  }));
  CHECK(registers_once([] { static_cast<void>(ForkHandlers::install(&nothing_in_child)); }));
  CHECK(registrations == 0);
}

TEST_CASE("a child takes the registration over from a thread that it does not have") {
  CHECK(holds_in_child([] {
    may_register = false;
    std::thread registering([] { static_cast<void>(ForkHandlers::ensure_registered()); });
    while (registrations == 0) std::this_thread::yield();
    const bool child_registers = holds_in_child([] {
      may_register = true;
      return ForkHandlers::ensure_registered() && registrations == 2;
    });
    may_register = true;
    registering.join();
    return child_registers && ForkHandlers::ensure_registered() && registrations == 1;
  }));
}
