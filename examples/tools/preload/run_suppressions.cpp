#include "run_suppressions.hpp"

#include <alloctap/runtime/file_contents.hpp>
#include <alloctap/runtime/reentrancy_guard.hpp>
#include <atomic>
#include <cstring>
#include <new>

#include "alloctap/status.hpp"
#include "final_report.hpp"

namespace alloctap::run {
namespace {

/// In the arena, because destructors run before the report.
constinit std::atomic<const Suppressions*> loaded{nullptr};

Status add_file(std::string_view path, Suppressions& suppressions) {
  char name[kPathBytes + 1]{};
  path.copy(name, kPathBytes);
  ArenaArray<char> contents;
  const int error = read_file(name, kMaxSuppressionBytes, contents);
  if (error == 0) return suppressions.add(text_of(contents), path);
  return Status::unavailable("cannot read the suppressions ", name, ": ", os::error_text(error));
}

}  // namespace

void load_suppressions(const Settings& settings) noexcept {
  const bool asks_for_leaks = settings.leaks != LeakChoice::kNone;
  if (!asks_for_leaks && settings.suppression_count == 0) return;
  const UseInternalArena own;
  void* memory = Arena::allocate(sizeof(Suppressions));
  if (memory == nullptr) return print_line("the system has no memory for suppressions");
  auto* suppressions = ::new (memory) Suppressions;
  for (const std::string_view path : settings.suppression_files()) {
    print_error(add_file(path, *suppressions));
  }
  if (asks_for_leaks) print_error(suppressions->add_defaults());
  loaded.store(suppressions, std::memory_order_release);
}

const Suppressions* loaded_suppressions() noexcept {
  return loaded.load(std::memory_order_acquire);
}

bool has_misuse_rules() noexcept {
  const Suppressions* const rules = loaded_suppressions();
  return rules != nullptr && !rules->misuse_rules().empty();
}

}  // namespace alloctap::run
