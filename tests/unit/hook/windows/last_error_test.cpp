#include <doctest/doctest.h>

#include "alloctap/hook/manual_hook.hpp"
#include "alloctap/os/windows/api.hpp"
#include "tests/support/fakes.hpp"

namespace {

/// A sink in whose work a call of the system fails.
struct FailingSink : alloctap::testing::FakeSink<struct LastErrorTest> {
  static void on_allocate(const alloctap::AllocationEvent&) noexcept {
    ::SetLastError(ERROR_ACCESS_DENIED);
  }
  static void on_deallocate(const alloctap::DeallocationEvent&) noexcept {
    ::SetLastError(ERROR_ACCESS_DENIED);
  }
};
using Hook = alloctap::ManualHook<struct LastErrorTest>;

}  // namespace

TEST_CASE("telling leaves the last error of Windows alone") {
  REQUIRE(Hook::install<FailingSink>().ok());
  int block = 0;
  ::SetLastError(ERROR_DISK_FULL);
  Hook::on_allocate(&block, sizeof block);
  CHECK(::GetLastError() == ERROR_DISK_FULL);
  Hook::on_free(&block);
  CHECK(::GetLastError() == ERROR_DISK_FULL);
  Hook::uninstall();
}
