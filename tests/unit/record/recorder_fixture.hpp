/// What the tests of the recorder share.
#pragma once

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "alloctap/config.hpp"
#include "alloctap/record/recorder.hpp"
#include "alloctap/sample/size_range.hpp"
#include "alloctap/snapshot/take_snapshot.hpp"
#include "alloctap/status.hpp"
#include "tests/support/block_at.hpp"
#include "tests/support/fakes.hpp"

namespace alloctap::testing {

/// Records blocks of an even size.
struct EvenSizes : SamplingPolicyArchetype {
  static SampleDecision decide(ThreadState&, std::size_t size) noexcept {
    return size % 2 == 0 ? SampleDecision::kWithStack : SampleDecision::kSkip;
  }
};

inline constexpr std::uintptr_t kOwnCaller = 0x77;

/// Each test has tables of its own.
template <class Test>
struct RecorderConfig : DefaultConfig {
  using Stack = ScriptedStack;
  static constexpr Limits limits{.max_frames = 4};
  static constexpr ConfigFeatures features{.is_internal_call = true};
  static bool is_internal_call(const CallOrigin& origin) noexcept {
    return reinterpret_cast<std::uintptr_t>(origin.caller) == kOwnCaller;
  }
};

template <class Test>
struct SampledConfig : RecorderConfig<Test> {
  using Sampling = EvenSizes;
};

template <class Test>
struct RangeConfig : RecorderConfig<Test> {
  using Sampling = SizeRange<4, 7>;
};

inline constexpr std::array<std::uintptr_t, 2> kStack{0x100, 0x200};

/// Short words for what hooks say to a recorder.
template <class ConfigType>
struct Program {
  using Record = Recorder<ConfigType>;

  static void allocate(std::uintptr_t block, std::size_t size) {
    Record::on_allocate({.pointer = at(block), .size = size, .origin = {}});
  }
  static void free(std::uintptr_t block) {
    Record::on_deallocate({.pointer = at(block), .origin = {}});
  }
  static DetachedBlock begin_reallocate(std::uintptr_t block) {
    return Record::begin_reallocate({.pointer = at(block), .origin = {}});
  }
  static void reallocate(std::uintptr_t old, std::uintptr_t block, std::size_t size) {
    Record::finish_reallocate(begin_reallocate(old));
    allocate(block, size);
  }
  static Snapshot snapshot() {
    SnapshotBuilder builder(Record::data(), {}, observed_parts<typename ConfigType::Observers>());
    builder.read();
    Result<Snapshot> snapshot = builder.finish();
    REQUIRE(snapshot.ok());
    return *std::move(snapshot);
  }
};

}  // namespace alloctap::testing
