/// A difference for people.
#pragma once

#include <alloctap/dump/dump_writer.hpp>
#include <alloctap/snapshot/profile_diff.hpp>
#include <cstddef>
#include <string_view>

namespace alloctap::run {

/// A profile and where it came from.
struct NamedProfile {
  std::string_view file;
  const SavedProfile& profile;
};

/// The two files, the sums, then the stacks that grew and those that shrank, at most `most_stacks`
/// of each. Sorts `change`.
void write_difference(const NamedProfile& before, const NamedProfile& after, ProfileDiff& change,
                      std::size_t most_stacks, DumpWriter& out);

}  // namespace alloctap::run
