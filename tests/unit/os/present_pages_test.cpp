#include <doctest/doctest.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

#include "alloctap/os/file.hpp"
#include "alloctap/os/linux/memory_map.hpp"
#include "alloctap/os/memory_map.hpp"

namespace {

namespace os = alloctap::os;

constexpr std::size_t kPages = 1000;

struct PageRun {
  std::size_t first = 0;
  std::size_t count = 0;
  bool operator==(const PageRun&) const = default;
};
using PageRuns = std::vector<PageRun>;

/// Private memory, never in huge pages, so that a page is there as soon as it was touched, alone.
class UntouchedPages {
 public:
  UntouchedPages()
      : page_(os::page_size()), start_(static_cast<char*>(os::map_pages(kPages * page_))) {
    REQUIRE(start_ != nullptr);
    os::use_huge_pages(start_, kPages * page_, false);
  }
  UntouchedPages(const UntouchedPages&) = delete;
  UntouchedPages& operator=(const UntouchedPages&) = delete;
  ~UntouchedPages() { os::unmap_pages(start_, kPages * page_); }

  void touch(std::size_t first, std::size_t count) {
    for (std::size_t i = first; i < first + count; ++i) start_[i * page_] = 1;
  }

  [[nodiscard]] std::size_t page() const { return page_; }
  [[nodiscard]] std::uintptr_t start() const { return reinterpret_cast<std::uintptr_t>(start_); }
  [[nodiscard]] std::uintptr_t end() const { return start() + kPages * page_; }
  [[nodiscard]] PageRun run(std::uintptr_t from, std::uintptr_t to) const {
    return {(from - start()) / page_, (to - from) / page_};
  }

 private:
  std::size_t page_;
  char* start_;
};

PageRuns present(const UntouchedPages& pages, int page_map) {
  PageRuns runs;
  os::visit_present_pages(
      page_map, pages.start(), pages.end(),
      [&](std::uintptr_t from, std::uintptr_t to) { runs.push_back(pages.run(from, to)); });
  return runs;
}

os::File open_page_map() {
  int error = 0;
  os::File page_map = os::open_for_reading("/proc/self/pagemap", error);
  REQUIRE(page_map.is_open());
  return page_map;
}

/// Adds up what may be told in pieces that touch.
void join(PageRuns& runs, PageRun run) {
  if (!runs.empty() && runs.back().first + runs.back().count == run.first) {
    runs.back().count += run.count;
  } else {
    runs.push_back(run);
  }
}

bool kernel_searches() {
  utsname system{};
  int major = 0;
  int minor = 0;
  REQUIRE(uname(&system) == 0);
  REQUIRE(std::sscanf(system.release, "%d.%d", &major, &minor) == 2);
  return std::pair(major, minor) >= std::pair(6, 7);
}

/// More runs than the kernel is asked for at once.
PageRuns touch_every_third(UntouchedPages& pages) {
  PageRuns touched;
  for (std::size_t i = 0; i < kPages; i += 3) {
    pages.touch(i, 1);
    touched.push_back({i, 1});
  }
  return touched;
}

}  // namespace

TEST_CASE("pages that were touched are present, as runs, and others are not") {
  UntouchedPages pages;
  const os::File page_map = open_page_map();
  CHECK(present(pages, page_map.descriptor()) == PageRuns{});
  pages.touch(0, 1);
  pages.touch(5, 300);
  pages.touch(kPages - 2, 2);
  const PageRuns touched = {{0, 1}, {5, 300}, {kPages - 2, 2}};
  CHECK(present(pages, page_map.descriptor()) == touched);
}

TEST_CASE("present pages are cut to what was asked for") {
  UntouchedPages pages;
  pages.touch(3, 4);
  std::vector<std::pair<std::uintptr_t, std::uintptr_t>> visited;
  const std::uintptr_t start = pages.start() + 4 * pages.page() + 8;
  const auto visit = [&](std::uintptr_t from, std::uintptr_t to) { visited.push_back({from, to}); };
  os::visit_present_pages(start, start + pages.page(), visit);
  os::visit_present_pages(start, start, visit);
  os::visit_present_pages(start, pages.end(), visit);
  REQUIRE(visited.size() == 2);
  CHECK(visited[0] == std::pair(start, start + pages.page()));
  CHECK(visited[1] == std::pair(start, pages.start() + 7 * pages.page()));
}

TEST_CASE("runs of pages that touch are one, whatever tells them in pieces") {
  std::vector<std::pair<std::uintptr_t, std::uintptr_t>> visited;
  auto visit = [&](std::uintptr_t from, std::uintptr_t to) { visited.push_back({from, to}); };
  os::JoinedPages join(8, 100, visit);
  join(0, 16);
  join(16, 20);
  join(30, 120);
  join.finish();
  const decltype(visited) joined = {{8, 20}, {30, 100}};
  CHECK(visited == joined);
}

TEST_CASE("what lists every page finds the pages that were touched") {
  UntouchedPages pages;
  const PageRuns touched = touch_every_third(pages);
  const os::File page_map = open_page_map();
  PageRuns listed;
  const auto add = [&](std::uintptr_t from, std::uintptr_t to) {
    join(listed, pages.run(from, to));
  };
  CHECK(os::visit_listed_pages(page_map.descriptor(), pages.start(), pages.end(), add) ==
        pages.end());
  CHECK(listed == touched);
  CHECK(present(pages, page_map.descriptor()) == touched);
}

TEST_CASE("the kernel's own search finds the same pages, from Linux 6.7 on") {
  UntouchedPages pages;
  const PageRuns touched = touch_every_third(pages);
  const os::File page_map = open_page_map();
  PageRuns found;
  const auto add = [&](std::uintptr_t from, std::uintptr_t to) {
    join(found, pages.run(from, to));
  };
  const std::uintptr_t end =
      os::visit_found_pages(page_map.descriptor(), pages.start(), pages.end(), add);
  CHECK(end == (kernel_searches() ? pages.end() : pages.start()));
  CHECK(found == (kernel_searches() ? touched : PageRuns{}));
}

TEST_CASE("all pages count where no search is to be had, or one gives up") {
  UntouchedPages pages;
  pages.touch(7, 1);
  const PageRuns all = {{0, kPages}};
  CHECK(present(pages, -1) == all);
  // Neither the call nor the list is a pipe's.
  int ends[2] = {-1, -1};
  REQUIRE(pipe(ends) == 0);
  CHECK(present(pages, ends[0]) == all);
  close(ends[0]);
  close(ends[1]);
}
