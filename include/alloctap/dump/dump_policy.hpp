/// The contract of dump policies, each of which writes one report format.
#pragma once

#include <concepts>

#include "alloctap/dump/dump_writer.hpp"
#include "alloctap/dump/report.hpp"

namespace alloctap {

/// A value type with options as plain members. `write` runs on the control plane, reads only the
/// report, and allocates nothing from the program's heap. The `DumpWriter` handles output errors.
/// If the report's type is a template parameter, `write` may omit parts that the type's `features`
/// exclude.
template <class D>
concept DumpPolicy = requires(const D& dump, const Report& report, DumpWriter& writer) {
  { dump.write(report, writer) } -> std::same_as<void>;
};

/// The minimal type that satisfies the concept `DumpPolicy`.
struct DumpPolicyArchetype {
  void write(const Report&, DumpWriter&) const {}
};

static_assert(DumpPolicy<DumpPolicyArchetype>);

}  // namespace alloctap
