/// A dump through a descriptor that is already open.
#pragma once

#include <string_view>

#include "alloctap/dump/dump_output.hpp"
#include "alloctap/os/file.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// Writes to `descriptor`, which stays the caller's and stays open.
class DescriptorOutput {
 public:
  explicit DescriptorOutput(int descriptor) noexcept : descriptor_(descriptor) {}

  Status open() { return Status(); }

  Status write(std::string_view text) {
    const int error = os::write_all(descriptor_, text);
    if (error == 0) return Status();
    return Status::unavailable("cannot write the dump to descriptor ", descriptor_, ": ",
                               os::error_text(error));
  }

  Status commit() { return Status(); }

 private:
  int descriptor_;
};

static_assert(DumpOutput<DescriptorOutput>);

}  // namespace alloctap
