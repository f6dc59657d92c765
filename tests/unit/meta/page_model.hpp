/// What a mapping container must show, kept as one owner per page.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "alloctap/event/allocation_event.hpp"

namespace alloctap::testing {

/// `count` pages from page `first` on.
struct Pages {
  std::size_t first = 0;
  std::size_t count = 0;
};

/// A little address space whose every page belongs to one `map` call, numbered from 1, or to
/// nobody (0).
class PageModel {
 public:
  static constexpr std::size_t kPages = 96;
  using Owners = std::array<std::uint64_t, kPages>;

  void map(Pages pages, StackId stack) {
    if (pages.count == 0) return;
    stacks_.push_back(stack);
    mapped_pages_ += pages.count;
    fill(pages, mappings());
    note_peak();
  }

  /// The owners of `pages`, which nobody owns from now on; 0 elsewhere.
  Owners take_out(Pages pages) {
    Owners taken{};
    std::copy_n(owners_.begin() + offset(pages.first), pages.count,
                taken.begin() + offset(pages.first));
    fill(pages, 0);
    return taken;
  }

  /// Gives back what is nobody's at the moment.
  void put_back(const Owners& taken) {
    for (std::size_t page = 0; page < kPages; ++page) {
      if (owners_[page] == 0) owners_[page] = taken[page];
    }
    note_peak();
  }

  [[nodiscard]] const Owners& owners() const { return owners_; }
  [[nodiscard]] StackId stack_of(std::uint64_t owner) const { return stacks_.at(owner - 1); }
  [[nodiscard]] std::uint64_t mappings() const { return stacks_.size(); }
  [[nodiscard]] std::uint64_t mapped_pages() const { return mapped_pages_; }
  [[nodiscard]] std::uint64_t peak_live_pages() const { return peak_live_pages_; }

  [[nodiscard]] std::uint64_t live_pages() const {
    return kPages - static_cast<std::uint64_t>(std::count(owners_.begin(), owners_.end(), 0U));
  }

  /// Runs of pages with one owner that touch `pages`.
  [[nodiscard]] std::uint64_t intervals_in(Pages pages) const {
    std::uint64_t intervals = 0;
    for (std::size_t page = pages.first; page < pages.first + pages.count; ++page) {
      const bool goes_on = page > pages.first && owners_[page - 1] == owners_[page];
      if (owners_[page] != 0 && !goes_on) ++intervals;
    }
    return intervals;
  }

  /// Whether pages of one owner lie on both sides of the boundary before `page`.
  [[nodiscard]] bool is_inside_interval(std::size_t page) const {
    return page > 0 && page < kPages && owners_[page] != 0 && owners_[page - 1] == owners_[page];
  }

 private:
  static std::ptrdiff_t offset(std::size_t page) { return static_cast<std::ptrdiff_t>(page); }

  void fill(Pages pages, std::uint64_t owner) {
    std::fill_n(owners_.begin() + offset(pages.first), pages.count, owner);
  }

  void note_peak() { peak_live_pages_ = std::max(peak_live_pages_, live_pages()); }

  Owners owners_{};
  std::vector<StackId> stacks_;
  std::uint64_t mapped_pages_ = 0;
  std::uint64_t peak_live_pages_ = 0;
};

}  // namespace alloctap::testing
