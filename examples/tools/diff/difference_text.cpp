#include "diff/difference_text.hpp"

#include <algorithm>
#include <alloctap/dump/human_units.hpp>
#include <alloctap/snapshot/leaks.hpp>
#include <ctime>
#include <span>

namespace alloctap::run {
namespace {

constexpr std::int64_t kNanosecondsInSecond = 1'000'000'000;

/// Names in a file may hold what a terminal would take for orders.
void write_name(std::string_view name, DumpWriter& out) {
  for (const char character : name) {
    const bool controls = static_cast<unsigned char>(character) < 0x20 || character == 0x7F;
    out << (controls ? '?' : character);
  }
}

std::uint64_t magnitude(std::int64_t number) noexcept {
  const auto bits = static_cast<std::uint64_t>(number);
  return number < 0 ? 0 - bits : bits;
}
char sign(std::int64_t number) noexcept { return number < 0 ? '-' : '+'; }

void write_bytes(std::int64_t number, DumpWriter& out) {
  out << sign(number) << human_bytes(magnitude(number));
}
void write_count(std::int64_t number, std::string_view what, DumpWriter& out) {
  out << sign(number) << with_commas(magnitude(number)) << ' ' << what
      << (magnitude(number) == 1 ? "" : "s");
}

void write_time(std::uint64_t time_ns, DumpWriter& out) {
  const auto seconds = static_cast<std::time_t>(time_ns / kNanosecondsInSecond);
  std::tm parts{};
  char text[64];
  if (time_ns == 0 || ::gmtime_r(&seconds, &parts) == nullptr) return;
  out << ", " << std::string_view(text, std::strftime(text, sizeof text, "%F %T UTC", &parts));
}

void write_profile(std::string_view role, const NamedProfile& named, DumpWriter& out) {
  out << "  " << role;
  write_name(named.file, out);
  out << ": ";
  write_name(named.profile.executable, out);
  out << " (pid " << named.profile.pid << ')';
  write_time(named.profile.time_ns, out);
  out << "\n";
}

/// What all stacks hold: of a file that was cut short it is what could be compared.
LiveSum sum_of(const SavedProfile& profile) noexcept {
  LiveSum sum;
  for (const SavedStack& stack : profile.stacks)
    sum.add(stack.sums.live_allocations, stack.sums.live_bytes);
  return sum;
}

void write_sums(const SavedProfile& before, const SavedProfile& after, const HeapChange& change,
                DumpWriter& out) {
  out << "\nLive       " << human_bytes(sum_of(before).live_bytes) << " -> "
      << human_bytes(sum_of(after).live_bytes) << ": ";
  write_bytes(change.live_bytes, out);
  out << " in ";
  write_count(change.live_allocations, "block", out);
  out << "\nAllocated  ";
  write_bytes(change.allocated_bytes, out);
  out << " in ";
  write_count(change.allocations, "allocation", out);
  out << "\n";
}

void write_place(const SourceFrame& source, DumpWriter& out) {
  out << "    ";
  write_name(source.function.empty() ? std::string_view("??") : source.function, out);
  if (source.file.empty()) return;
  out << "   ";
  write_name(source.file, out);
  if (source.line > 0) out << ':' << source.line;
}

void write_frame(const SavedProfile& profile, const SavedFrame& frame, DumpWriter& out) {
  const auto sources = profile.sources_of(frame);
  for (std::size_t i = 0; i + 1 < sources.size(); ++i) {
    write_place(sources[i], out);
    out << "   (inlined)\n";
  }
  write_place(sources.empty() ? SourceFrame() : sources.back(), out);
  out << "   ";
  if (const Module* module = profile.module_of(frame)) {
    write_name(module->path.substr(module->path.rfind('/') + 1), out);
    out << '+';
    out.hex(frame.offset) << "\n";
  } else {
    out.hex(frame.address) << "\n";
  }
}

void write_stack(const SavedProfile& profile, const SavedStack& stack, DumpWriter& out) {
  const auto frames = profile.frames_of(stack);
  if (frames.empty()) {
    out << (stack.outside_size_range ? "    (no stack: size outside the range)\n"
                                     : "    (stack unknown)\n");
  }
  for (const std::uint64_t number : frames) write_frame(profile, profile.frames[number], out);
}

/// One of the two lists of stacks.
class StackList {
 public:
  StackList(const SavedProfile& before, const SavedProfile& after, DumpWriter& out) noexcept
      : before_(before), after_(after), out_(out) {}

  /// The first `most` of `stacks`, or the last ones.
  void write(std::string_view title, std::span<const SavedStackChange> stacks, bool from_the_end,
             std::size_t most) {
    if (stacks.empty()) return;
    const std::size_t shown = std::min(most, stacks.size());
    write_title(title, stacks, shown);
    for (std::size_t i = 0; i < shown; ++i) {
      out_ << "\n#" << i + 1 << "  ";
      write_change(stacks[from_the_end ? stacks.size() - 1 - i : i]);
    }
  }

 private:
  void write_title(std::string_view title, std::span<const SavedStackChange> stacks,
                   std::size_t shown) {
    HeapChange sum;
    for (const SavedStackChange& stack : stacks) sum += stack.change;
    out_ << "\n" << title << ", most first";
    if (shown < stacks.size()) out_ << " (" << shown << " of " << with_commas(stacks.size()) << ")";
    out_ << ": ";
    write_bytes(sum.live_bytes, out_);
    out_ << " in all\n";
  }

  void write_change(const SavedStackChange& stack) {
    write_bytes(stack.change.live_bytes, out_);
    out_ << " in ";
    write_count(stack.change.live_allocations, "block", out_);
    out_ << " (" << human_bytes(stack.live_bytes_before) << " -> "
         << human_bytes(stack.live_bytes_after) << "); ";
    write_count(stack.change.allocations, "allocation", out_);
    out_ << " of ";
    write_bytes(stack.change.allocated_bytes, out_);
    out_ << "\n";
    if (stack.after != nullptr) return write_stack(after_, *stack.after, out_);
    write_stack(before_, *stack.before, out_);
  }

  const SavedProfile& before_;
  const SavedProfile& after_;
  DumpWriter& out_;
};

}  // namespace

void write_difference(const NamedProfile& before, const NamedProfile& after, ProfileDiff& change,
                      std::size_t most_stacks, DumpWriter& out) {
  sort_by_growth(change.stacks);
  const std::span<const SavedStackChange> all(change.stacks.data(), change.stacks.size());
  const auto grew = std::partition_point(all.begin(), all.end(), [](const SavedStackChange& stack) {
    return stack.change.live_bytes > 0;
  });
  const auto stayed = std::partition_point(
      grew, all.end(), [](const SavedStackChange& stack) { return stack.change.live_bytes == 0; });
  out << "alloctap-diff: who holds more memory, and who less\n";
  write_profile("before   ", before, out);
  write_profile("after    ", after, out);
  write_sums(before.profile, after.profile, change.total, out);
  StackList list(before.profile, after.profile, out);
  list.write("Stacks that grew", {all.begin(), grew}, false, most_stacks);
  list.write("Stacks that shrank", {stayed, all.end()}, true, most_stacks);
  if (grew != stayed) {
    out << "\nStacks that hold as much as before, but allocated more or less: "
        << with_commas(static_cast<std::uint64_t>(stayed - grew)) << "\n";
  }
}

}  // namespace alloctap::run
