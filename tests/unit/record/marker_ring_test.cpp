#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "alloctap/record/timeline.hpp"

namespace {

using alloctap::MarkerRing;

using Markers = std::vector<std::pair<std::int64_t, std::string>>;

Markers all(const MarkerRing& ring) {
  Markers markers;
  ring.for_each([&](std::int64_t time_ns, std::string_view name) {
    markers.emplace_back(time_ns, std::string(name));
  });
  return markers;
}

}  // namespace

TEST_CASE("markers keep copies of their names, by time") {
  MarkerRing ring;
  CHECK(all(ring).empty());
  std::string name = "level 1";
  ring.add(10, name);
  name = "level 2";
  ring.add(20, name);
  name = "gone!!!";
  ring.add(30, {});
  CHECK(all(ring) == Markers{{10, "level 1"}, {20, "level 2"}, {30, ""}});
  CHECK(ring.forgotten() == 0);
}

TEST_CASE("a long name is cut") {
  MarkerRing ring;
  ring.add(1, std::string(MarkerRing::kLongestName, 'a'));
  ring.add(2, std::string(MarkerRing::kLongestName + 1, 'b'));
  CHECK(all(ring) == Markers{{1, std::string(MarkerRing::kLongestName, 'a')},
                             {2, std::string(MarkerRing::kLongestName, 'b')}});
}

TEST_CASE("the youngest markers are kept, the others counted") {
  MarkerRing ring;
  constexpr std::size_t kMore = 10;
  for (std::size_t i = 0; i < MarkerRing::kCapacity + kMore; ++i) {
    ring.add(static_cast<std::int64_t>(i), "frame");
  }
  const Markers markers = all(ring);
  REQUIRE(markers.size() == MarkerRing::kCapacity);
  CHECK(markers.front().first == kMore);
  CHECK(markers.back().first == MarkerRing::kCapacity + kMore - 1);
  CHECK(ring.forgotten() == kMore);
}
