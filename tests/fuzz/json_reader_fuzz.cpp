// Feeds bytes to the reader of JSON dumps and to what works on its profiles: one file, or two that
// are compared.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <utility>

#include "alloctap/dump/recording/json_reader.hpp"
#include "alloctap/snapshot/profile_diff.hpp"

namespace {

using namespace alloctap;

void require(bool holds) {
  if (!holds) std::abort();
}

void read(std::span<const std::uint8_t> input, SavedProfile& profile) {
  ArenaArray<char> text;
  require(text.resize_for_overwrite(input.size()));
  for (std::size_t i = 0; i < input.size(); ++i) text[i] = static_cast<char>(input[i]);
  static_cast<void>(JsonReader::read(std::move(text), profile));
}

/// What users of a profile rely on, whatever was in the file.
void check(const SavedProfile& profile) {
  for (const SavedFrame& frame : profile.frames) {
    const Module* module = profile.module_of(frame);
    require(module == nullptr || module < profile.modules.end());
    require(frame.first_source + frame.sources <= profile.sources.size());
  }
  for (const SavedStack& stack : profile.stacks) {
    require(stack.first_frame + stack.frames <= profile.frame_numbers.size());
    for (const std::uint64_t number : profile.frames_of(stack)) {
      require(number < profile.frames.size());
    }
  }
}

void compare(const SavedProfile& before, const SavedProfile& after) {
  for (const StackMatch match : {StackMatch::kPlaces, StackMatch::kFunctions}) {
    auto change = diff(before, after, match);
    require(change.ok());
    sort_by_growth(change->stacks);
    HeapChange sum;
    for (const SavedStackChange& stack : change->stacks) sum += stack.change;
    require(sum == change->total);
    require(diff(before, before, match)->stacks.empty());
  }
}

}  // namespace

/// A byte of 0 parts two files.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::uint8_t> input(data, size);
  std::size_t end = 0;
  while (end < size && data[end] != 0) ++end;
  SavedProfile before;
  SavedProfile after;
  read(input.first(end), before);
  read(end < size ? input.subspan(end + 1) : input, after);
  check(before);
  check(after);
  compare(before, after);
  return 0;
}
