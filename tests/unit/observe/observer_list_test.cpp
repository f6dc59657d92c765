#include "alloctap/observe/observer_list.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <thread>

namespace {

using namespace alloctap;

struct FirstTest;
struct RacingTest;

struct Named {
  std::string* text;
  char name;
};

ObserverFunctions appending(Named& named) {
  return {.context = &named, .on_track = [](void* context, const ObservedBlock&) noexcept {
            const auto* self = static_cast<Named*>(context);
            self->text->push_back(self->name);
          }};
}

}  // namespace

TEST_CASE("listed observers are told in the order in which they came, until they go") {
  using List = ObserverList<FirstTest>;
  std::string text;
  Named a{&text, 'a'};
  Named b{&text, 'b'};
  Named c{&text, 'c'};
  {
    const ListedObserver<List> first(appending(a));
    auto second = std::make_unique<ListedObserver<List>>(appending(b));
    const ListedObserver<List> third(appending(c));
    List::on_track({});
    CHECK(text == "abc");
    second.reset();
    List::on_track({});
    CHECK(text == "abcac");
    second = std::make_unique<ListedObserver<List>>(appending(b));
    List::on_track({});
    List::on_untrack({});
    CHECK(text == "abcacacb");
  }
  List::on_track({});
  CHECK(text == "abcacacb");
  ObserverList<>::on_track({});
  CHECK(text == "abcacacb");
}

TEST_CASE("no thread is inside an observer that was removed") {
  using List = ObserverList<RacingTest>;
  struct Counts {
    std::atomic<bool> alive{false};
    std::atomic<int> told{0};
    std::atomic<int> told_late{0};
  };
  Counts counts;
  const ObserverFunctions functions{.context = &counts,
                                    .on_untrack = [](void* context, const ObservedBlock&) noexcept {
                                      auto& seen = *static_cast<Counts*>(context);
                                      ++seen.told;
                                      for (int i = 0; i < 100; ++i)
                                        seen.told_late += seen.alive ? 0 : 1;
                                    }};
  std::atomic<bool> done{false};
  std::array<std::thread, 2> threads;
  for (std::thread& thread : threads) {
    thread = std::thread([&] {
      while (!done) {
        const RecordingScope section;
        List::on_untrack({});
      }
    });
  }
  for (int i = 0; i < 200; ++i) {
    counts.alive = true;
    const int before = counts.told;
    {
      const ListedObserver<List> observer(functions);
      while (counts.told == before) std::this_thread::yield();
    }
    counts.alive = false;
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(counts.told >= 200);
  CHECK(counts.told_late == 0);
}
