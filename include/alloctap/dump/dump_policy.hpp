/// The contract of dump policies: what a report looks like.
#pragma once

#include <concepts>

#include "alloctap/dump/dump_writer.hpp"
#include "alloctap/dump/report.hpp"

namespace alloctap {

/// A value with its options in plain members. `write` needs no state of the tracker beyond the
/// report, allocates nothing from the host, and leaves errors of the output to the writer. Where it
/// is a template of the report's type, it may leave out what `features` of that type exclude.
template <class D>
concept DumpPolicy = requires(const D& dump, const Report& report, DumpWriter& writer) {
  { dump.write(report, writer) } -> std::same_as<void>;
};

/// The least that models `DumpPolicy`.
struct DumpPolicyArchetype {
  void write(const Report&, DumpWriter&) const {}
};

static_assert(DumpPolicy<DumpPolicyArchetype>);

}  // namespace alloctap
