// What calls do that are to fail, in a program whose every allocation comes by: each kind of
// function, a JSON library that many programs have, and the tracker's own control plane.
#include <doctest/doctest.h>
#include <malloc.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "alloctap/dump/impl/outputs.hpp"
#include "alloctap/dump/json_dump.hpp"
#include "alloctap/dump/recording/json_reader.hpp"
#include "alloctap/dump/text_dump.hpp"
#include "alloctap/fail/injected_failures.hpp"
#include "alloctap/hook/interposed_malloc.hpp"
#include "alloctap/hook/plt_hook.hpp"
#include "alloctap/impl/tracker.hpp"
#include "alloctap/queue/buffer_queue.hpp"
#include "alloctap/status.hpp"
#include "alloctap/testing/fail_each_allocation.hpp"
#include "tests/contract/hooks/hooked_program.hpp"

namespace {

using namespace alloctap;
using alloctap::testing::escape;

struct FailingConfig : DefaultConfig {
  using Hook = InterposeHook;
  using Failures = InjectedFailures;
};
using FailingTracker = Tracker<FailingConfig>;

/// Allocates for itself when it starts.
struct OtherConfig : DefaultConfig {
  using Hook = PltHook;
  using Queue = BufferQueue;
};
using OtherTracker = Tracker<OtherConfig>;

const FailureWalkOptions kWithOwn{.rule = {.own_allocations = true}};

/// The result of `call`, of which the first allocation fails, and errno after it.
template <class Call>
auto fail_first(Call call) {
  const FailingAllocations failing({.most_failures = 1});
  errno = 0;
  auto result = call();
  return std::pair(result, errno);
}

template <class Call>
bool fails_as_malloc(Call call) {
  const auto [block, error] = fail_first(call);
  return block == nullptr && error == ENOMEM;
}

template <class Call>
bool throws_bad_alloc(Call call) {
  const FailingAllocations failing({.most_failures = 1});
  try {
    call();
  } catch (const std::bad_alloc&) {
    return true;
  }
  return false;
}

Snapshot taken() {
  alloctap::Result<Snapshot> snapshot = FailingTracker::snapshot();
  REQUIRE(snapshot.ok());
  return *std::move(snapshot);
}

ALLOCTAP_NOINLINE void* level_allocates(std::size_t size) { return escape(std::malloc(size)); }
ALLOCTAP_NOINLINE void* menu_allocates(std::size_t size) { return escape(std::calloc(1, size)); }

/// As RapidJSON wants it.
struct ThrowingAllocator {
  static void* Malloc(std::size_t size) { return size == 0 ? nullptr : checked(std::malloc(size)); }
  static void* Realloc(void* old, std::size_t, std::size_t size) {
    if (size != 0) return checked(std::realloc(old, size));
    Free(old);
    return nullptr;
  }
  static void Free(void* block) noexcept { std::free(block); }

 private:
  static void* checked(void* block) {
    if (block == nullptr) throw std::bad_alloc();
    return block;
  }
};

constexpr std::string_view kJson =
    R"({"levels": [1, 2.5, {"name": "a name that is too long for the string itself"}, null],
        "menu": {"entries": ["another text that lies in a block of its own", true]}})";

}  // namespace

ALLOCTAP_DEFINE_INTERPOSED_MALLOC(FailingTracker);

TEST_CASE("functions of C that are to fail return null with ENOMEM, or the error") {
  static volatile std::size_t size = 100;
  CHECK(fails_as_malloc([] { return escape(std::malloc(size)); }));
  CHECK(fails_as_malloc([] { return escape(std::calloc(size, 2)); }));
  CHECK(fails_as_malloc([] { return escape(std::aligned_alloc(64, 64)); }));
  CHECK(fails_as_malloc([] { return escape(::memalign(64, size)); }));
  CHECK(fails_as_malloc([] { return escape(::valloc(size)); }));
  CHECK(fails_as_malloc([] { return escape(::strdup("text")); }));
  CHECK(fails_as_malloc([] { return escape(::strndup("text", 2)); }));
  CHECK(fails_as_malloc([] { return escape(std::realloc(nullptr, size)); }));
  void* untouched = &untouched;
  const auto align = [&] { return ::posix_memalign(&untouched, 64, size); };
  CHECK(fail_first(align).first == ENOMEM);
  CHECK(untouched == &untouched);
}

TEST_CASE("operators that are to fail throw, or return null where they must not") {
  CHECK(throws_bad_alloc([] { ::operator delete(escape(::operator new(8))); }));
  CHECK(throws_bad_alloc([] { ::operator delete[](escape(::operator new[](8))); }));
  constexpr std::align_val_t kAlignment{64};
  CHECK(throws_bad_alloc(
      [=] { ::operator delete(escape(::operator new(8, kAlignment)), kAlignment); }));
  CHECK(throws_bad_alloc(
      [=] { ::operator delete[](escape(::operator new[](8, kAlignment)), kAlignment); }));
  CHECK(fails_as_malloc([] { return escape(::operator new(8, std::nothrow)); }));
  CHECK(fails_as_malloc([] { return escape(::operator new[](8, std::nothrow)); }));
  CHECK(fails_as_malloc([=] { return escape(::operator new(8, kAlignment, std::nothrow)); }));
  CHECK(fails_as_malloc([=] { return escape(::operator new[](8, kAlignment, std::nothrow)); }));
}

TEST_CASE("a reallocation that is to fail leaves the block, and one to nothing is a free") {
  const auto session = FailingTracker::start();
  REQUIRE(session.ok());
  auto* const block = static_cast<char*>(escape(std::malloc(1234)));
  std::strcpy(block, "content");
  CHECK(fails_as_malloc([&] { return escape(std::realloc(block, 5678)); }));
  CHECK(fails_as_malloc([&] { return escape(::reallocarray(block, 10, 5678)); }));
  CHECK(std::string_view(block) == "content");
  const Snapshot before = taken();
  std::uint64_t allocations = 0;
  {
    const FailingAllocations failing({});
    CHECK(escape(std::realloc(block, 0)) == nullptr);
    allocations = failing.failures();
  }
  CHECK(allocations == 0);
  const Snapshot after = taken();
  CHECK(after.totals.live_bytes == before.totals.live_bytes - 1234);
  CHECK(after.account.unmatched_frees == 0);
}

TEST_CASE("allocations fail with no session, too, and on the thread that the rule is of") {
  CHECK_FALSE(FailingTracker::running());
  void* elsewhere = nullptr;
  void* here = nullptr;
  {
    const FailingAllocations failing({.min_size = 4'000, .max_size = 4'000});
    std::thread([&] { elsewhere = level_allocates(4'000); }).join();
    here = level_allocates(4'000);
  }
  CHECK(elsewhere != nullptr);
  CHECK(here == nullptr);
  std::free(elsewhere);
}

TEST_CASE("by the stack of a snapshot, by the code of a function, by a tag") {
  const auto session = FailingTracker::start();
  REQUIRE(session.ok());
  StackId stack = kNoStackId;
  const auto allocate_both = [&](const FailureRule& rule) {
    std::optional<FailingAllocations> failing(rule);
    void* const first = level_allocates(4'321);
    void* const second = menu_allocates(5'432);
    failing.reset();
    const Snapshot snapshot = taken();
    for (const StackSummary& summary : snapshot.stacks) {
      if (summary.live_bytes == 4'321) stack = summary.stack;
    }
    std::free(first);
    std::free(second);
    return std::pair(first != nullptr, second != nullptr);
  };
  FailureRule rule{.max_size = 0};
  for (const bool expected : {true, false}) {
    CHECK(allocate_both(rule) == std::pair(expected, true));
    CHECK(stack != kNoStackId);
    rule = {.stack = stack};
  }
  CHECK(allocate_both({.called_in = function_range(&menu_allocates)}) == std::pair(true, false));
  CHECK(allocate_both({.called_in = AddressRange{}}) == std::pair(true, true));

  const TagId physics = nested_tag("Physics").id;
  const FailureRule in_physics{.min_size = 4'000, .tag = physics};
  CHECK(allocate_both(in_physics) == std::pair(true, true));
  const tag_scope outer{"Physics"};
  const tag_scope inner{"Cloth"};
  CHECK(allocate_both(in_physics) == std::pair(false, false));
}

TEST_CASE("every allocation of a JSON parser fails once, and nothing is lost") {
  const auto session = FailingTracker::start();
  REQUIRE(session.ok());
  // Its destructor allocates, and would end the program there: it comes behind the walk.
  nlohmann::json document;
  const std::uint64_t live = taken().totals.live_bytes;
  int leaking_runs = 0;
  const auto parse = [&] { document = nlohmann::json::parse(kJson); };
  const FailureWalk walk = fail_each_allocation(parse, [&](std::uint64_t) {
    document = nullptr;
    if (taken().totals.live_bytes != live) ++leaking_runs;
  });
  CHECK(walk.complete);
  CHECK(walk.points == walk.allocations);
  CHECK(walk.points > 20);
  CHECK(walk.bad_allocs == walk.points);
  CHECK(leaking_runs == 0);
  CHECK(document["levels"].size() == 4);
  CHECK(taken().account.unmatched_frees == 0);
}

TEST_CASE("a JSON parser that looks at no result needs an allocator that throws") {
  using Utf8 = rapidjson::UTF8<>;
  const FailureWalk walk = fail_each_allocation([] {
    rapidjson::GenericReader<Utf8, Utf8, ThrowingAllocator> reader(nullptr, 16);
    rapidjson::MemoryStream text(kJson.data(), kJson.size());
    rapidjson::BaseReaderHandler<> handler;
    reader.Parse(text, handler);
  });
  CHECK(walk.complete);
  CHECK(walk.points > 2);
  CHECK(walk.bad_allocs == walk.points);
}

TEST_CASE("every allocation of the control plane fails once, and it goes on") {
  std::uint64_t points = 0;
  const auto walk = [&](auto body) {
    const FailureWalk walked = fail_each_allocation(body, kWithOwn);
    points += walked.points;
    return walked.complete;
  };
  CHECK(walk([] { static_cast<void>(FailingTracker::start()); }));
  const auto start_other = [] {
    const auto session = OtherTracker::start();
    if (session.ok()) static_cast<void>(OtherTracker::snapshot());
    static_cast<void>(PltHook::report());
    PltHook::refresh();
  };
  CHECK(walk(start_other));
  CHECK(OtherTracker::start().ok());
  const std::uint64_t points_of_start = points;
  CHECK(points_of_start > 20);
  const auto session = FailingTracker::start();
  REQUIRE(session.ok());
  CHECK(walk([] { static_cast<void>(FailingTracker::start()); }));
  const Snapshot before = taken();
  CHECK(walk([&] {
    const alloctap::Result<Snapshot> after = FailingTracker::snapshot();
    if (after.ok()) static_cast<void>(diff(before, *after));
    static_cast<void>(FailingTracker::leaks(before, {}));
    static_cast<void>(FailingTracker::modules());
  }));
  CHECK(walk([] {
    MemoryOutput output;
    static_cast<void>(FailingTracker::dump(TextDump{}, output));
    static_cast<void>(FailingTracker::dump(JsonDump{}, output));
    static_cast<void>(FailingTracker::dump(TextDump{}, FileOutput{"/nowhere/at/all"}));
  }));
  CHECK(walk([] {
    Suppressions suppressions;
    static_cast<void>(suppressions.add("leak:known\nno line of any kind\n", "test"));
    SavedProfile profile;
    ArenaArray<char> text;
    if (text.push_back('[')) static_cast<void>(JsonReader::read(std::move(text), profile));
  }));
  CHECK(points > points_of_start);
  MemoryOutput output;
  CHECK(FailingTracker::dump(TextDump{}, output).ok());
  // By rules that do not name it, it is not touched.
  alloctap::Status refused;
  {
    const FailingAllocations all({});
    refused = FailingTracker::start().status();
  }
  CHECK(refused.code() == alloctap::StatusCode::kFailedPrecondition);
}
