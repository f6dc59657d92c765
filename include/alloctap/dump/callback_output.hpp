/// A dump handed to a function of the program.
#pragma once

#include <absl/status/status.h>

#include <string_view>
#include <type_traits>
#include <utility>

#include "alloctap/dump/dump_output.hpp"

namespace alloctap {

/// Calls `callback(std::string_view)` for each piece of text, in order. It returns an absl::Status;
/// an error ends the dump. What it allocates is not recorded; where it asks a tracker for a dump or
/// a snapshot, it is given an error.
template <class Callback>
  requires std::is_invocable_r_v<absl::Status, Callback&, std::string_view>
class CallbackOutput {
 public:
  explicit CallbackOutput(Callback callback) : callback_(std::move(callback)) {}

  absl::Status open() { return absl::OkStatus(); }
  absl::Status write(std::string_view text) { return callback_(text); }
  absl::Status commit() { return absl::OkStatus(); }

 private:
  Callback callback_;
};

}  // namespace alloctap
