/// The contract of outputs: where a dump goes.
#pragma once

#include <concepts>
#include <string_view>

#include "alloctap/status.hpp"

namespace alloctap {

/// `open` prepares, `write` appends, `commit` makes what was written final; an output that is not
/// committed leaves nothing behind that looks like a report. One dump at a time. None may allocate
/// from the host, but for the text of an error.
template <class O>
concept DumpOutput = requires(O& output, std::string_view text) {
  { output.open() } -> std::same_as<Status>;
  { output.write(text) } -> std::same_as<Status>;
  { output.commit() } -> std::same_as<Status>;
};

/// The least that models `DumpOutput`.
struct DumpOutputArchetype {
  Status open() { return Status(); }
  Status write(std::string_view) { return Status(); }
  Status commit() { return Status(); }
};

static_assert(DumpOutput<DumpOutputArchetype>);

}  // namespace alloctap
