/// The concept of report formats for findings.
#pragma once

#include <concepts>
#include <type_traits>

#include "alloctap/dump/dump_writer.hpp"
#include "alloctap/dump/outputs.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"
#include "alloctap/status.hpp"
#include "alloctap/testing/finding.hpp"

namespace alloctap::testing {

/// Satisfied by formats that can write `findings` to `out`, which stores output errors.
template <class F>
concept FindingFormat = requires(const F& format, const Findings& findings, DumpWriter& out) {
  { format.write(findings, out) } -> std::same_as<void>;
};

/// Writes `findings` to `output` (a `DumpOutput`) in the given format. Control plane. Allocations
/// of this function are not recorded.
template <FindingFormat Format, class Output>
  requires DumpOutput<std::remove_reference_t<Output>>
Status write_findings(const Findings& findings, const Format& format, Output&& output) {
  const ReentrancyGuard guard;
  if (Status status = output.open(); !status.ok()) return status;
  DumpWriter writer(output);
  format.write(findings, writer);
  if (Status status = writer.finish(); !status.ok()) return status;
  return output.commit();
}

}  // namespace alloctap::testing
