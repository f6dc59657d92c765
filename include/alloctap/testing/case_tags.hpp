/// Attribution of blocks to test cases by tags.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "alloctap/annotate.hpp"
#include "alloctap/event/stack_owner.hpp"
#include "alloctap/runtime/cut_text.hpp"
#include "alloctap/tag/tag_scope.hpp"

namespace alloctap::testing {

using alloctap::expected_to_stay;
using alloctap::ExpectedLeak;

/// Tags "RUN/CASE/PART/PART" for the test cases of one run. Control plane; serialize all calls.
class CaseTags {
 public:
  /// The test case that a tag belongs to.
  struct Place {
    /// False if the tag is not nested in a case of this run.
    bool is_case = false;
    std::string_view name;
    /// Names of the parts inside the case; empty for the case itself.
    std::string part;
    bool expected = false;
  };

  explicit CaseTags(std::string_view run) : run_(process_tags.find_or_add(kNoTag, run)) {}

  /// Creates the tag of the case `name`. Returns the run's tag if the tag table is full.
  [[nodiscard]] Tag add(std::string_view name) {
    std::string text(cut_text(name, kLongestName));
    if (text.empty()) text = "(no name)";
    if (name.size() > kLongestName) text += "... #" + std::to_string(names_.size());
    const TagId id = process_tags.find_or_add(run_, text);
    if (id == run_) return {run_};
    names_.try_emplace(id, name);
    return {id};
  }

  [[nodiscard]] Place place_of(TagId tag) const {
    Place place;
    for (; tag != kNoTag && tag != run_; tag = process_tags.parent(tag)) {
      if (process_tags.name(tag) == ALLOCTAP_EXPECTED_TO_STAY) place.expected = true;
      if (process_tags.parent(tag) == run_) {
        const auto found = names_.find(tag);
        place.is_case = found != names_.end();
        if (place.is_case) place.name = found->second;
        return place;
      }
      const std::string inner = std::move(place.part);
      place.part = process_tags.name(tag);
      if (!inner.empty()) place.part += "/" + inner;
    }
    return {};
  }

 private:
  static constexpr std::size_t kLongestName = TagTable::kLongestName - 20;

  TagId run_;
  std::map<TagId, std::string> names_;
};

}  // namespace alloctap::testing
