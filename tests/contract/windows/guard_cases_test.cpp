// Case 18 of hook backends, on Windows: what a hook calls does not come back to it, at any
// optimization, whatever the compiler thinks that malloc cannot see.
#include <doctest/doctest.h>

#include "tests/contract/windows/allocating_sink.hpp"

using namespace alloctap::testing;

TEST_CASE("case 18, deleted guard: a sink that allocates sees each call of the program once") {
  constexpr int kRounds = 200;
  allocate_a_lot();
  AllocatingSink::clear();
  const std::string problem = guarded_hook.install();
  REQUIRE_MESSAGE(problem.empty(), problem);
  const int before = AllocatingSink::allocations;
  for (int i = 0; i < kRounds; ++i) {
    void* volatile const block = std::malloc(1000);
    std::free(block);
    void* const pages = ::VirtualAlloc(nullptr, 4096, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
    ::VirtualFree(pages, 0, MEM_RELEASE);
  }
  const int allocations = AllocatingSink::allocations - before;
  guarded_hook.uninstall();
  CHECK(allocations == kRounds);
  CHECK(AllocatingSink::deallocations >= kRounds);
  CHECK(AllocatingSink::mappings == kRounds);
  CHECK(AllocatingSink::unmappings == kRounds);
  CHECK(AllocatingSink::returns == 0);
}
