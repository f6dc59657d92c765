// Backend cases 18 and 23 for C++: operators count once though they call malloc through slots
// of their own, and an exception passes through the hook.
#include <cstdint>
#include <new>

#include "slot_probe.h"

namespace {

void* volatile keep;
volatile std::size_t most = SIZE_MAX;

struct alignas(128) Wide {
  char bytes[128];
};

void use_operators() {
  keep = new int;
  delete static_cast<int*>(keep);
  keep = new char[100];
  delete[] static_cast<char*>(keep);
  keep = new Wide;
  delete static_cast<Wide*>(keep);
  keep = ::operator new(10, std::nothrow);
  ::operator delete(keep, std::nothrow);
}

bool throws_bad_alloc() {
  try {
    keep = ::operator new(most / 4);
  } catch (const std::bad_alloc&) {
    return true;
  }
  return false;
}

}  // namespace

int main() {
  // With libstdc++ and the C library hooked too.
  REQUIRE(probe_install(nullptr, nullptr) == nullptr);
  const unsigned long allocations = probe_allocations();
  const unsigned long frees = probe_frees();
  use_operators();
  REQUIRE(probe_allocations() - allocations == 4);
  REQUIRE(probe_frees() - frees == 4);
  REQUIRE(throws_bad_alloc());
  probe_uninstall();
  REQUIRE(probe_hooked_slots() == 0);
  return 0;
}
