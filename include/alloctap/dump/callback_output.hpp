/// A dump handed to a function of the program.
#pragma once

#include <string_view>
#include <type_traits>
#include <utility>

#include "alloctap/dump/dump_output.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// Calls `callback(std::string_view)` for each piece of text, in order. It returns a Status;
/// an error ends the dump. What it allocates is not recorded; where it asks a tracker for a dump or
/// a snapshot, it is given an error.
template <class Callback>
  requires std::is_invocable_r_v<Status, Callback&, std::string_view>
class CallbackOutput {
 public:
  explicit CallbackOutput(Callback callback) : callback_(std::move(callback)) {}

  Status open() { return Status(); }
  Status write(std::string_view text) { return callback_(text); }
  Status commit() { return Status(); }

 private:
  Callback callback_;
};

}  // namespace alloctap
