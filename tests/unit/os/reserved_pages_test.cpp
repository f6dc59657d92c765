#include <doctest/doctest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>

#include "alloctap/os/memory_protection.hpp"
#include "alloctap/os/virtual_memory.hpp"
#include "tests/support/linux/child_process.hpp"

namespace {

using namespace alloctap;

/// As many pages, all prepared.
struct PreparedPages : os::ReservedPages {
  explicit PreparedPages(std::size_t count) {
    REQUIRE(reserve(count * os::page_size()));
    prepare(begin(), bytes());
  }
  ~PreparedPages() { unreserve(); }
};

/// Whether the system can write there.
bool is_open(std::byte* page) {
  return ::syscall(SYS_clock_gettime, CLOCK_MONOTONIC, page) == 0 || errno != EFAULT;
}

std::ptrdiff_t count_mappings() {
  std::ifstream maps("/proc/self/maps");
  return std::count(std::istreambuf_iterator<char>(maps), {}, '\n');
}

/// From now on the system knows no markers of pages, as before Linux 6.13. False where it cannot be
/// told so.
bool forget_markers() {
  constexpr std::uint32_t kInstall = 102;
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kInstall, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{static_cast<unsigned short>(std::size(program)), program};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

/// Opens and closes the second of four pages, and says what was wrong; nullptr for nothing.
const char* fault_of_round(os::ReservedPages& pages) {
  std::byte* const page = pages.begin() + os::page_size();
  const std::size_t bytes = os::page_size();
  if (is_open(page)) return "open before";
  if (!pages.open(page, bytes)) return "not opened";
  if (page[0] != std::byte{} || page[bytes - 1] != std::byte{}) return "not zero";
  std::memset(page, 7, bytes);
  if (is_open(page - bytes) || is_open(page + bytes)) return "a neighbour is open";
  if (!pages.close(page, bytes)) return "not closed";
  return is_open(page) ? "still open" : nullptr;
}

}  // namespace

TEST_CASE("pages are inaccessible until they are opened, and again when they are closed") {
  PreparedPages pages(4);
  for (int round = 0; round < 3; ++round) CHECK(fault_of_round(pages) == nullptr);
  pages.unreserve();
  CHECK(pages.begin() == nullptr);
  CHECK(pages.bytes() == 0);
}

TEST_CASE("what splits no range costs no mapping") {
  PreparedPages pages(200);
  const std::ptrdiff_t before = count_mappings();
  for (std::size_t i = 1; i < 200; i += 2) {
    CHECK(pages.open(pages.begin() + i * os::page_size(), os::page_size()));
  }
  const std::ptrdiff_t more = count_mappings() - before;
  CHECK((more >= 100) == pages.splits_ranges());
  CHECK((more < 20) == !pages.splits_ranges());
}

TEST_CASE("pages that the program locks in memory are closed all the same") {
  PreparedPages pages(4);
  CHECK(fault_of_round(pages) == nullptr);
  REQUIRE(pages.open(pages.begin() + os::page_size(), os::page_size()));
  // It says that there are pages which cannot be had, and locks. Not by the C library's function,
  // which sanitizers replace by one that does nothing.
  static_cast<void>(::syscall(SYS_mlock, pages.begin(), pages.bytes()));
  CHECK(pages.close(pages.begin() + os::page_size(), os::page_size()));
  CHECK(pages.splits_ranges());
  for (int round = 0; round < 3; ++round) CHECK(fault_of_round(pages) == nullptr);
}

TEST_CASE("a system without markers of pages has mappings") {
  CHECK(alloctap::testing::holds_in_child([] {
    // Under qemu-user no filter can be set; it knows no markers itself.
    static_cast<void>(forget_markers());
    os::ReservedPages pages;
    if (!pages.reserve(4 * os::page_size())) return false;
    pages.prepare(pages.begin(), pages.bytes());
    return pages.splits_ranges() && fault_of_round(pages) == nullptr &&
           fault_of_round(pages) == nullptr;
  }));
}

TEST_CASE("a child has markers where its parent had them") {
  PreparedPages pages(4);
  REQUIRE(pages.open(pages.begin() + os::page_size(), os::page_size()));
  CHECK(alloctap::testing::holds_in_child([&] {
    return !is_open(pages.begin()) && is_open(pages.begin() + os::page_size()) &&
           pages.close(pages.begin() + os::page_size(), os::page_size()) &&
           fault_of_round(pages) == nullptr;
  }));
  CHECK(is_open(pages.begin() + os::page_size()));
}

TEST_CASE("more than there is to be had is refused") {
  os::ReservedPages pages;
  CHECK_FALSE(pages.reserve(std::size_t{1} << 60));
  CHECK(pages.begin() == nullptr);
  CHECK(pages.bytes() == 0);
}
