/// The contract of dump policies, each of which writes one report format.
#pragma once

#include <concepts>

#include "alloctap/dump/dump_writer.hpp"
#include "alloctap/dump/report.hpp"

namespace alloctap {

/// A value type with options as plain members. `write` runs on the control plane and reads nothing
/// but the report. It allocates nothing from the program's heap, and leaves output errors to the
/// `DumpWriter`. If `write` is a template of the report's type, it may omit parts that the type's
/// `features` exclude.
template <class D>
concept DumpPolicy = requires(const D& dump, const Report& report, DumpWriter& writer) {
  { dump.write(report, writer) } -> std::same_as<void>;
};

/// The minimal model of `DumpPolicy`.
struct DumpPolicyArchetype {
  void write(const Report&, DumpWriter&) const {}
};

static_assert(DumpPolicy<DumpPolicyArchetype>);

}  // namespace alloctap
