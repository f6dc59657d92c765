// What every observer is told, whatever the queue: each recorded block as it comes and as it goes,
// on the calling thread, and nothing of what it allocates itself.
#include <doctest/doctest.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "alloctap/observe/observer_list.hpp"
#include "alloctap/observe/observers.hpp"
#include "alloctap/queue/buffer_queue.hpp"
#include "alloctap/queue/logging_queue.hpp"
#include "alloctap/sample/size_range.hpp"
#include "tests/support/scripted_tracker.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;

/// What was told, in short words: "+1000:16" for a block that came, "-1000:16" for one that went.
struct Log {
  void add(char sign, const void* address, std::size_t bytes) {
    lines.push_back(std::string(1, sign)
                        .append(std::to_string(reinterpret_cast<std::uintptr_t>(address)))
                        .append(":")
                        .append(std::to_string(bytes)));
    errno = ENOSYS;
  }
  std::vector<std::string> lines;
  std::vector<StackId> stacks;
  std::thread::id thread;
};

Log told;

struct Writer {
  static void on_track(const ObservedBlock& block) noexcept {
    told.add('+', block.pointer, block.size);
    told.stacks.push_back(block.stack);
    told.thread = std::this_thread::get_id();
  }
  static void on_untrack(const ObservedBlock& block) noexcept {
    told.add('-', block.pointer, block.size);
    told.stacks.push_back(block.stack);
  }
};

struct MappingWriter : Writer {
  static constexpr ObserverFeatures features{.on_map = true, .on_unmap = true};
  static void on_map(const ObservedMapping& mapping) noexcept {
    told.add('m', mapping.address, mapping.length);
  }
  static void on_unmap(const ObservedMapping& mapping) noexcept {
    told.add('u', mapping.address, mapping.length);
  }
};

template <class Queued>
struct Alone : ScriptedConfig<Alone<Queued>> {
  using Observers = Writer;
  using Queue = Queued;
};

template <class Queued>
struct Listed : ScriptedConfig<Listed<Queued>> {
  using Observers = alloctap::Observers<NoObservers, ObserverList<Queued>>;
  using Queue = Queued;
};

struct Ranged : ScriptedConfig<Ranged> {
  using Observers = alloctap::Observers<Writer>;
  using Sampling = SizeRange<4, 7>;
};

/// Adds `Writer` to the list of a config that has one.
template <class Config>
struct Enlist {};
template <class Queued>
struct Enlist<Listed<Queued>> {
  ListedObserver<ObserverList<Queued>> observer{
      {.on_track = [](void*, const ObservedBlock& block) noexcept { Writer::on_track(block); },
       .on_untrack = [](void*,
                        const ObservedBlock& block) noexcept { Writer::on_untrack(block); }}};
};

/// A tracker that tells `told` alone.
template <class Config>
struct Told {
  using T = Tracker<Config>;
  using Sink = alloctap::SinkOf<T>;

  Told() {
    ScriptedStack::play(kFrames);
    told = {};
  }

  static DetachedBlock begin_reallocate(std::uintptr_t block) {
    return Sink::begin_reallocate({.pointer = at(block), .origin = {}});
  }

  static constexpr std::array<std::uintptr_t, 3> kFrames{1, 2, 3};
  Session session = started<T>();
  Enlist<Config> enlist;
};

using Lines = std::vector<std::string>;

}  // namespace

#define ALLOCTAP_OBSERVED                                                             \
  Alone<DirectQueue>, Alone<BufferQueue>, Alone<LoggingQueue<>>, Listed<DirectQueue>, \
      Listed<BufferQueue>, Ranged

TEST_CASE_TEMPLATE("a block is told of when it comes and when it goes", Config, ALLOCTAP_OBSERVED) {
  using T = Tracker<Config>;
  const Told<Config> tracker;
  T::Hook::on_allocate(at(1000), 16);
  T::Hook::on_allocate(at(2000), 5);
  T::Hook::on_free(at(1000));
  CHECK(told.lines == Lines{"+1000:16", "+2000:5", "-1000:16"});
  CHECK(told.thread == std::this_thread::get_id());
  CHECK(told.stacks.front() == told.stacks.back());
  const Snapshot snapshot = snapshot_of<T>();
  CHECK(snapshot.totals.live_bytes == 5);
  CHECK(snapshot.totals.deallocations == 1);
  REQUIRE(told.stacks.size() == 3);
  bool listed = false;
  for (const StackSummary& stack : snapshot.stacks) {
    listed = listed || stack.stack == told.stacks[1];
  }
  CHECK(listed);
  T::Hook::on_free(at(2000));
  CHECK(told.lines.back() == "-2000:5");
}

TEST_CASE_TEMPLATE("what was not told to come is not told to go", Config, ALLOCTAP_OBSERVED) {
  using T = Tracker<Config>;
  const Told<Config> tracker;
  T::pause();
  T::Hook::on_allocate(at(1000), 16);
  T::resume();
  T::Hook::on_free(at(1000));
  T::Hook::on_free(at(3000));
  CHECK(told.lines == Lines{});
  CHECK(snapshot_of<T>().totals.live_bytes == 0);
}

TEST_CASE_TEMPLATE("a reallocation is an end and a beginning, also where it fails", Config,
                   ALLOCTAP_OBSERVED) {
  using T = Tracker<Config>;
  using Sink = alloctap::SinkOf<T>;
  const Told<Config> tracker;
  T::Hook::on_allocate(at(1000), 16);
  Sink::cancel_reallocate(Told<Config>::begin_reallocate(1000));
  CHECK(told.lines == Lines{"+1000:16", "-1000:16", "+1000:16"});
  const DetachedBlock block = Told<Config>::begin_reallocate(1000);
  Sink::finish_reallocate(block);
  Sink::cancel_reallocate(Told<Config>::begin_reallocate(4000));
  CHECK(told.lines == Lines{"+1000:16", "-1000:16", "+1000:16", "-1000:16"});
  CHECK(snapshot_of<T>().totals.live_bytes == 0);
}

TEST_CASE_TEMPLATE("what observers do to errno stays theirs", Config, ALLOCTAP_OBSERVED) {
  using T = Tracker<Config>;
  const Told<Config> tracker;
  errno = EDOM;
  T::Hook::on_allocate(at(1000), 16);
  T::Hook::on_free(at(1000));
  CHECK(errno == EDOM);
  CHECK(told.lines == Lines{"+1000:16", "-1000:16"});
}

TEST_CASE("mappings are told of to those who ask, and told again where unmapping fails") {
  struct Config : ScriptedConfig<Config> {
    using Observers = alloctap::Observers<NoObservers, MappingWriter>;
  };
  using T = Tracker<Config>;
  const Told<Config> tracker;
  const MappingEvent whole{.address = at(0x10000), .length = 8192, .origin = {}};
  const MappingEvent half{.address = at(0x10000), .length = 4096, .origin = {}};
  SinkOf<T>::on_map(whole);
  DetachedMappings detached = SinkOf<T>::begin_unmap(half);
  SinkOf<T>::cancel_unmap(detached);
  detached = SinkOf<T>::begin_unmap(half);
  SinkOf<T>::finish_unmap(detached);
  CHECK(told.lines == Lines{"m65536:8192", "u65536:4096", "m65536:4096", "u65536:4096"});
  CHECK(snapshot_of<T>().mapping_totals.live_bytes == 4096);
}

TEST_CASE("mappings that are not recorded are not told of") {
  struct Config : ScriptedConfig<Config> {
    using Observers = MappingWriter;
  };
  using T = Tracker<Config>;
  const Told<Config> tracker;
  SinkOf<T>::record_mappings(false);
  const MappingEvent whole{.address = at(0x10000), .length = 8192, .origin = {}};
  SinkOf<T>::on_map(whole);
  DetachedMappings detached = SinkOf<T>::begin_unmap(whole);
  SinkOf<T>::cancel_unmap(detached);
  CHECK(told.lines == Lines{});
}
