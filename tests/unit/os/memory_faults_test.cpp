#include "alloctap/os/memory_faults.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>

#include "alloctap/os/memory_protection.hpp"
#include "alloctap/os/virtual_memory.hpp"

namespace {

using namespace alloctap;

constinit os::ReservedPages closed_pages;
os::MemoryFault last_fault;
int faults_heard = 0;

os::FaultVerdict open_and_retry(const os::MemoryFault& fault) noexcept {
  last_fault = fault;
  ++faults_heard;
  const std::uintptr_t offset =
      fault.address - reinterpret_cast<std::uintptr_t>(closed_pages.begin());
  const bool is_ours = offset < closed_pages.bytes();
  return is_ours && closed_pages.open(closed_pages.begin(), closed_pages.bytes())
             ? os::FaultVerdict::kRetry
             : os::FaultVerdict::kPassOn;
}

}  // namespace

TEST_CASE("a listener is told of an access that is refused, and may have it made again") {
  REQUIRE(closed_pages.reserve(2 * os::page_size()));
  closed_pages.prepare(closed_pages.begin(), closed_pages.bytes());
  REQUIRE(os::catch_memory_faults(&open_and_retry));
  REQUIRE(os::catch_memory_faults(&open_and_retry));
  auto* const place = reinterpret_cast<volatile unsigned char*>(closed_pages.begin() + 40);
  CHECK(*place == 0);
  CHECK(faults_heard == 1);
  CHECK(last_fault.address == reinterpret_cast<std::uintptr_t>(place));
  CHECK(last_fault.access == os::FaultAccess::kRead);
  CHECK(last_fault.code != 0);
  REQUIRE(closed_pages.close(closed_pages.begin(), closed_pages.bytes()));
  *place = 7;
  CHECK(faults_heard == 2);
  CHECK(last_fault.access == os::FaultAccess::kWrite);
  CHECK(*place == 7);
  REQUIRE(closed_pages.close(closed_pages.begin(), closed_pages.bytes()));
  CHECK(*place == 0);
  CHECK(faults_heard == 3);
  closed_pages.unreserve();
}

TEST_CASE("whoever has a fault from elsewhere asks all listeners") {
  REQUIRE(os::catch_memory_faults(&open_and_retry));
  CHECK(os::ask_fault_listeners({.address = SIZE_MAX}) == os::FaultVerdict::kPassOn);
  CHECK(last_fault.address == SIZE_MAX);
}

TEST_CASE("the system says how much it lets a process have") {
  const os::AddressLimits limits = os::address_limits();
  CHECK(limits.bytes > (std::size_t{1} << 30));
  CHECK(limits.ranges > 1000);
}
