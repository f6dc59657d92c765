#include <cerrno>
#include <cstdint>
#include <span>
#include <string_view>

#include "alloctap/meta/flat_hash_index.hpp"
#include "alloctap/meta/meta_container.hpp"
#include "tests/unit/record/recorder_fixture.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;

/// Remembers no stack, and leaves its own error number behind.
struct FailingStack {
  static constexpr std::string_view name = "failing";

  static CapturedStack capture(ThreadState&, const CallOrigin&,
                               std::span<std::uintptr_t> frames) noexcept {
    ++captured;
    errno = EFAULT;
    frames[0] = captured;
    return {.depth = 1, .failed = true};
  }

  static inline std::uintptr_t captured = 0;
};

struct StackErrorConfig : RecorderConfig<StackErrorConfig> {
  using Stack = FailingStack;
};

/// Each has an error number of its own.
struct FailingIndex : FlatHashIndex {
  static constexpr IndexFeatures features{};

  InsertOutcome insert(const void* pointer, const BlockRecord& record) noexcept {
    errno = ENOMEM;
    return FlatHashIndex::insert(pointer, record);
  }
  BlockRecord take(const void* pointer) noexcept {
    errno = ENOENT;
    return FlatHashIndex::take(pointer);
  }
};

struct IndexErrorConfig : RecorderConfig<IndexErrorConfig> {
  using Meta = MemoryMetaContainer<FailingIndex>;
};

struct FailingTags : TagPolicyArchetype {
  static StackOwner current(const ThreadState&) noexcept {
    errno = EPERM;
    return {.tag = 1};
  }
  static constexpr TagsDescription description() noexcept { return {.threads = true}; }
};

struct TagsErrorConfig : RecorderConfig<TagsErrorConfig> {
  using Tags = FailingTags;
};

struct FailingSampling : EvenSizes {
  static SampleDecision decide(ThreadState& thread, std::size_t size) noexcept {
    errno = ERANGE;
    return EvenSizes::decide(thread, size);
  }
};

struct SamplingErrorConfig : RecorderConfig<SamplingErrorConfig> {
  using Sampling = FailingSampling;
};

/// Asked about all that is recorded.
struct FailingRange : SizeRange<4, 7> {
  static SampleDecision decide(ThreadState& thread, std::size_t size) noexcept {
    errno = ERANGE;
    return SizeRange::decide(thread, size);
  }
};

struct RangeErrorConfig : RecorderConfig<RangeErrorConfig> {
  using Sampling = FailingRange;
};

}  // namespace

TEST_CASE_TEMPLATE("errno is the program's, whatever policies and containers leave there", Config,
                   StackErrorConfig, IndexErrorConfig, TagsErrorConfig, SamplingErrorConfig,
                   RangeErrorConfig) {
  using P = Program<Config>;
  P::Record::begin_session();
  for (int round = 0; round < 3; ++round) {
    errno = EXDEV;
    P::allocate(0x1000, 10);
    P::allocate(0x2000, 11);
    CHECK(errno == EXDEV);
    P::free(0x1000);
    P::free(0x2000);
    P::free(0x3000);
    CHECK(errno == EXDEV);
  }
  CHECK(P::snapshot().totals.allocations >= 3);
  P::Record::end_session();
}
