/// Which test case the blocks of a snapshot belong to.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "alloctap/annotate.hpp"
#include "alloctap/event/stack_owner.hpp"
#include "alloctap/tag/tag_scope.hpp"

namespace alloctap::testing {

using alloctap::expected_to_stay;
using alloctap::ExpectedLeak;

/// The tags of the cases of one run of a test program: "RUN/CASE/PART/PART". Control plane; the
/// calls come from one thread at a time.
class CaseTags {
 public:
  /// Whose blocks those of a tag are.
  struct Place {
    /// False of a tag that is of no case of this run.
    bool is_case = false;
    std::string_view name;
    /// The part of the case; empty of the case itself.
    std::string part;
    bool expected = false;
  };

  explicit CaseTags(std::string_view run) : run_(process_tags.find_or_add(kNoTag, run)) {}

  /// The tag of the case `name`; that of the run where there is no room for more tags.
  [[nodiscard]] Tag add(std::string_view name) {
    std::string text(name.substr(0, kLongestName));
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
