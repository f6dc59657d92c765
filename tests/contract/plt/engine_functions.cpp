// The functions of an engine's own allocator as a group of its own: blocks are what the program
// asked the engine for, and what the engine asks the heap for is not counted again.
#include <cstdio>
#include <cstdlib>

#include "alloctap/hook/plt_hook.hpp"
#include "alloctap/implement.hpp"
#include "engine.h"

namespace {

using namespace alloctap;

struct EngineAllocate : functions::Allocates<AllocationKind::kMalloc> {
  static constexpr const char* name = "engine_allocate";
  using Signature = void*(std::size_t, std::size_t);
  static BlockRequest request(std::size_t count, std::size_t size) noexcept {
    return {functions::array_bytes(count, size), 0};
  }
};

struct EngineFree : functions::Deallocates<DeallocationKind::kFree> {
  static constexpr const char* name = "engine_free";
  using Signature = void(void*);
  static BlockRequest request() noexcept { return {}; }
};

using EngineFunctions = FunctionList<EngineAllocate, EngineFree>;

struct Config : DefaultConfig {
  using Hook = PltHookWith<EngineFunctions>;
};
using Hook = Config::Hook;
using EngineTracker = Tracker<Config>;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "engine_functions: not true: %s\n", what);
  std::exit(1);
}

std::uint64_t count_of_size(std::size_t size) {
  const auto snapshot = EngineTracker::snapshot({.blocks = true});
  require(snapshot.ok(), "there is a snapshot");
  std::uint64_t count = 0;
  for (const LiveBlock& block : snapshot->blocks) count += block.size == size ? 1 : 0;
  return count;
}

/// How many blocks of `seen` bytes are live while the program holds 3 of `size` from its engine.
std::uint64_t live_of_size(std::size_t seen, std::size_t size) {
  auto session = EngineTracker::start();
  require(session.ok(), "a session starts");
  void* blocks[3];
  for (void*& block : blocks) block = engine_allocate(2, size / 2);
  const std::uint64_t live = count_of_size(seen);
  for (void* block : blocks) engine_free(block);
  require(count_of_size(seen) == 0, "all are given back");
  return live;
}

}  // namespace

int main() {
  constexpr std::size_t kSize = 1230;
  constexpr std::size_t kWithHeader = kSize + 16;
  require(live_of_size(kSize, kSize) == 3, "the engine's blocks are seen");
  require(live_of_size(kWithHeader, kSize) == 0, "and not the heap's that they lie in");

  require(Hook::group<EngineFunctions>().modules_not_matching(".").ok(), "a pattern");
  require(live_of_size(kSize, kSize) == 0, "left out, none of the engine's is seen");
  require(live_of_size(kWithHeader, kSize) == 3, "but the heap's");

  require(Hook::modules_not_matching("/liballoctap_plt_engine").ok(), "another pattern");
  require(live_of_size(kWithHeader, kSize) == 0,
          "and not even these of a library that is left out");

  Hook::clear_modules();
  require(live_of_size(kSize, kSize) == 3, "all is as it was");
  return 0;
}
