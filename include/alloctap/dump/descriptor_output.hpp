/// A dump through a descriptor that is already open.
#pragma once

#include <absl/status/status.h>
#include <absl/strings/str_cat.h>

#include <string_view>

#include "alloctap/dump/dump_output.hpp"
#include "alloctap/os/file.hpp"

namespace alloctap {

/// Writes to `descriptor`, which stays the caller's and stays open.
class DescriptorOutput {
 public:
  explicit DescriptorOutput(int descriptor) noexcept : descriptor_(descriptor) {}

  absl::Status open() { return absl::OkStatus(); }

  absl::Status write(std::string_view text) {
    const int error = os::write_all(descriptor_, text);
    if (error == 0) return absl::OkStatus();
    return absl::UnavailableError(absl::StrCat("cannot write the dump to descriptor ", descriptor_,
                                               ": ", os::error_text(error)));
  }

  absl::Status commit() { return absl::OkStatus(); }

 private:
  int descriptor_;
};

static_assert(DumpOutput<DescriptorOutput>);

}  // namespace alloctap
