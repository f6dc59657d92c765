#include <doctest/doctest.h>

#include <cstddef>

#include "alloctap/hook/call_wrapper.hpp"
#include "tests/unit/hook/fake_originals.hpp"

namespace {

namespace functions = alloctap::functions;
using namespace alloctap::testing;

int skipped_place;
void* const kSkipped = &skipped_place;

/// Passes over calls while it is told to; counts how often it was asked, and told.
struct SkippingFake : FakeSink<> {
  static inline bool passes_over = true;
  static inline std::size_t asked = 0;
  static inline std::size_t bytes = 0;
  static inline std::size_t told = 0;

  template <class BytesOf>
  static bool try_skip(const void*, const BytesOf& bytes_of) noexcept {
    ++asked;
    bytes = bytes_of();
    return passes_over;
  }
  static bool try_skip_free(const void*) noexcept {
    ++asked;
    return passes_over;
  }
  static void on_allocate_sampled_in(const alloctap::AllocationEvent& event) noexcept {
    told += event.pointer == kSkipped && event.size == bytes ? 1U : 100U;
  }
  static void on_deallocate_sampled_in(void* block, const alloctap::CallOrigin&) noexcept {
    told += block == kSkipped ? 1U : 100U;
  }
};
static_assert(alloctap::SkippingSink<SkippingFake>);
static_assert(!alloctap::SkippingSink<FakeSink<>>);

using SkippingCall = alloctap::CallWrapper<FakeOriginals, SkippingFake>;

void begin_skipping(bool passes_over) {
  forget_calls();
  original_script.block = kSkipped;
  SkippingFake::passes_over = passes_over;
  SkippingFake::asked = SkippingFake::told = 0;
}

void make_each_call() {
  SkippingCall::allocate<functions::Malloc>(some_origin(), std::size_t{24});
  CHECK(SkippingFake::bytes == 24);
  void* block = nullptr;
  SkippingCall::allocate_into<functions::PosixMemalign>(some_origin(), &block, std::size_t{64},
                                                        std::size_t{48});
  CHECK(SkippingFake::bytes == 48);
  SkippingCall::reallocate<functions::Realloc>(some_origin(), kSkipped, std::size_t{72});
  SkippingCall::deallocate<functions::Free>(some_origin(), kSkipped);
}

}  // namespace

TEST_CASE(
    "a sink that passes over a call is told nothing of it, and else told without a question") {
  begin_skipping(true);
  make_each_call();
  CHECK(SkippingFake::asked == 4);
  CHECK(SkippingFake::told == 0);
  begin_skipping(false);
  make_each_call();
  CHECK(SkippingFake::asked == 4);
  CHECK(SkippingFake::told == 4);
  CHECK(original_script.calls == 4);
}

TEST_CASE("nobody is asked of no block, nor of a call inside another one") {
  begin_skipping(true);
  SkippingCall::deallocate<functions::Free>(some_origin(), nullptr);
  original_script.block = nullptr;
  SkippingCall::allocate<functions::Malloc>(some_origin(), std::size_t{24});
  original_script.block = kSkipped;
  {
    const alloctap::ReentrancyGuard guard;
    SkippingCall::allocate<functions::Malloc>(some_origin(), std::size_t{24});
    SkippingCall::deallocate<functions::Free>(some_origin(), kSkipped);
    CHECK(alloctap::ReentrancyGuard::inside());
  }
  CHECK(SkippingFake::asked == 0);
  CHECK(original_script.calls == 3);
  CHECK_FALSE(alloctap::ReentrancyGuard::inside());
}

TEST_CASE("what is not skipped while nobody wants events is not told") {
  begin_skipping(false);
  original_script.recording = false;
  SkippingCall::allocate<functions::Malloc>(some_origin(), std::size_t{24});
  SkippingCall::deallocate<functions::Free>(some_origin(), kSkipped);
  CHECK(SkippingFake::told == 0);
}
