#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

#include "alloctap/meta/mapping_container.hpp"
#include "tests/unit/meta/mapping_pages.hpp"
#include "tests/unit/meta/page_model.hpp"

namespace {

using alloctap::DetachedMappings;
using alloctap::MappingContainer;
using alloctap::MappingRecord;
using alloctap::MappingTotals;
using alloctap::StackId;
using alloctap::testing::kFirstPage;
using alloctap::testing::PageModel;
using alloctap::testing::Pages;
using alloctap::testing::pages;

/// How a range to unmap lay to what was mapped.
enum class Shape : std::uint8_t { kNothing, kWhole, kHead, kTail, kMiddle, kSeveral, kCount };
using ShapeCounts = std::array<int, static_cast<std::size_t>(Shape::kCount)>;

/// Does the same to a container and to the model, and compares them after every single call.
class Play {
 public:
  explicit Play(std::uint64_t seed) : seed_(seed), random_(seed) {}

  void step() {
    ++steps_;
    switch (draw(8)) {
      case 0:
      case 1:
        return map(draw_pages());
      case 2:
        return unmap(draw_pages(), true);
      case 3:
        return unmap(draw_pages(), false);
      case 4:
        return remap_at_place();
      case 5:
        return remap_elsewhere(true);
      case 6:
        return remap_elsewhere(false);
      default:
        return let_two_meet();
    }
  }

  [[nodiscard]] const ShapeCounts& shapes() const { return shapes_; }

 private:
  struct Detached {
    DetachedMappings mappings;
    PageModel::Owners owners;
  };

  std::size_t draw(std::size_t bound) { return random_() % bound; }

  Pages draw_pages() {
    const std::size_t first = draw(PageModel::kPages);
    const std::size_t most =
        std::min<std::size_t>(draw(4) == 0 ? 64 : 8, PageModel::kPages - first);
    return {first, draw(most + 1)};
  }

  /// Bytes that the system rounds up to `count` pages.
  std::size_t draw_length(std::size_t count) {
    return count == 0 ? 0 : pages(count) - draw(pages(1));
  }

  void map(Pages where) {
    const StackId stack = static_cast<StackId>(1 + draw(3));
    REQUIRE(container_.map(kFirstPage + pages(where.first), draw_length(where.count), stack));
    model_.map(where, stack);
    compare();
  }

  Detached begin(Pages where) {
    ++shapes_[static_cast<std::size_t>(shape_of(where))];
    Detached detached{
        container_.begin_unmap(kFirstPage + pages(where.first), draw_length(where.count)),
        model_.take_out(where)};
    compare();
    return detached;
  }

  void end(Detached& detached, bool succeeds) {
    if (succeeds) {
      container_.finish_unmap(detached.mappings);
      ++unmappings_;
    } else {
      container_.cancel_unmap(detached.mappings);
      model_.put_back(detached.owners);
    }
    REQUIRE(detached.mappings.first == nullptr);
    compare();
  }

  void unmap(Pages where, bool succeeds) {
    Detached detached = begin(where);
    end(detached, succeeds);
  }

  void remap(Pages old_pages, Pages new_pages, bool succeeds) {
    Detached detached = begin(old_pages);
    end(detached, succeeds);
    if (succeeds) map(new_pages);
  }

  void remap_elsewhere(bool succeeds) {
    const Pages before = draw_pages();
    remap(before, draw_pages(), succeeds);
  }

  /// Grows or shrinks without moving.
  void remap_at_place() {
    const Pages before = draw_pages();
    const Pages after{before.first, draw(PageModel::kPages - before.first + 1)};
    remap(before, after, draw(4) != 0);
  }

  /// What happens when other threads map and unmap between the two halves of an unmapping.
  void let_two_meet() {
    Detached first = begin(draw_pages());
    Detached second = begin(draw_pages());
    map(draw_pages());
    end(second, draw(2) == 0);
    map(draw_pages());
    end(first, draw(4) == 0);
  }

  [[nodiscard]] Shape shape_of(Pages where) const {
    const std::uint64_t touched = model_.intervals_in(where);
    if (touched == 0) return Shape::kNothing;
    if (touched > 1) return Shape::kSeveral;
    const bool stays_before = model_.is_inside_interval(where.first);
    const bool stays_behind = model_.is_inside_interval(where.first + where.count);
    if (stays_before) return stays_behind ? Shape::kMiddle : Shape::kTail;
    return stays_behind ? Shape::kHead : Shape::kWhole;
  }

  void compare() { REQUIRE_MESSAGE(differences() == "", "seed " << seed_ << ", step " << steps_); }

  std::string differences() {
    std::string found;
    PageModel::Owners owners{};
    std::uintptr_t last_end = kFirstPage;
    std::uint64_t visited = 0;
    container_.for_each([&](const MappingRecord& record) {
      if (record.start < last_end || record.length == 0) found += "order of intervals; ";
      last_end = record.start + record.length;
      ++visited;
      if (!note(record, owners)) found += "interval outside; ";
      if (record.stack != model_.stack_of(record.order)) found += "stack; ";
    });
    if (owners != model_.owners()) found += "owners of pages; ";
    if (visited != container_.live_mappings()) found += "number of intervals; ";
    return found + differences_of_totals();
  }

  static bool note(const MappingRecord& record, PageModel::Owners& owners) {
    const std::size_t first = (record.start - kFirstPage) / pages(1);
    const std::size_t count = record.length / pages(1);
    if (kFirstPage + pages(first) != record.start || pages(count) != record.length) return false;
    if (first + count > PageModel::kPages) return false;
    std::fill_n(owners.begin() + static_cast<std::ptrdiff_t>(first), count, record.order);
    return true;
  }

  std::string differences_of_totals() {
    const MappingTotals totals = container_.totals();
    std::string found;
    if (totals.mappings != model_.mappings()) found += "mappings; ";
    if (totals.mapped_bytes != pages(model_.mapped_pages())) found += "mapped_bytes; ";
    if (totals.unmappings != unmappings_) found += "unmappings; ";
    if (totals.live_mappings != model_.intervals_in({0, PageModel::kPages})) {
      found += "live_mappings; ";
    }
    if (totals.live_bytes != pages(model_.live_pages())) found += "live_bytes; ";
    if (totals.peak_live_bytes != pages(model_.peak_live_pages())) found += "peak_live_bytes; ";
    if (totals.dropped != 0) found += "dropped; ";
    return found;
  }

  MappingContainer container_;
  PageModel model_;
  std::uint64_t seed_;
  std::mt19937_64 random_;
  std::uint64_t steps_ = 0;
  std::uint64_t unmappings_ = 0;
  ShapeCounts shapes_{};
};

}  // namespace

TEST_CASE("mappings equal a byte-per-page model through 32,000 random operations") {
  for (std::uint64_t seed = 1; seed <= 16; ++seed) {
    Play play(seed);
    for (int i = 0; i < 2000; ++i) play.step();
    for (const int count : play.shapes()) CHECK(count > 20);
  }
}
