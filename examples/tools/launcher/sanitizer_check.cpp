#include "launcher/sanitizer_check.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "alloctap/message_text.hpp"
#include "alloctap/status.hpp"
#include "launcher/elf_file.hpp"
#include "launcher/failure.hpp"
#include "launcher/needed_libraries.hpp"

namespace alloctap::run {
namespace {

/// Those that bring an allocator; the undefined behaviour sanitizer brings none.
struct Sanitizer {
  /// As -fsanitize has it.
  std::string_view name;
  /// Of gcc's shared runtime, and in the names of all of clang's.
  std::string_view library;
  /// Which every runtime defines.
  std::string_view symbol;
  /// Whether it takes a tracker for a fault of the program, or its addresses for no addresses.
  bool excludes_trackers = false;
};

constexpr auto kSanitizers = std::to_array<Sanitizer>({
    {"address", "asan", "__asan_init"},
    {"thread", "tsan", "__tsan_init", true},
    {"leak", "lsan", "__lsan_init"},
    {"memory", "msan", "__msan_init"},
    {"hwaddress", "hwasan", "__hwasan_init", true},
});

/// By it a runtime tells of allocations. gcc's static ones do not export it.
constexpr std::string_view kHooksSymbol = "__sanitizer_install_malloc_and_free_hooks";

struct FoundSanitizer {
  const Sanitizer* sanitizer = nullptr;
  /// The shared runtime; empty where it is linked into the program.
  std::string library;
  bool exports_hooks = false;
};

bool is_runtime_of(const Sanitizer& sanitizer, std::string_view library) {
  const std::string_view name = library.substr(library.rfind('/') + 1);
  return name.starts_with(join_text("lib", std::string(sanitizer.library), ".so")) ||
         name.starts_with(join_text("libclang_rt.", std::string(sanitizer.library)));
}

FoundSanitizer find_shared(const std::string& path) {
  for (std::string& library : needed_libraries(path)) {
    for (const Sanitizer& sanitizer : kSanitizers) {
      if (is_runtime_of(sanitizer, library)) return {&sanitizer, std::move(library), true};
    }
  }
  return {};
}

/// Symbols that are not dynamic are looked at only where the program has a malloc, as with each
/// sanitizer: they are many.
FoundSanitizer find_static(const std::string& path) {
  std::vector<std::string_view> names{"malloc", kHooksSymbol};
  for (const Sanitizer& sanitizer : kSanitizers) names.push_back(sanitizer.symbol);
  const ElfFile file(path);
  std::vector<std::string_view> found = file.defined_symbols(SHT_DYNSYM, names);
  const auto has = [&found](std::string_view name) {
    return std::find(found.begin(), found.end(), name) != found.end();
  };
  if (!has("malloc")) return {};
  const bool exports_hooks = has(kHooksSymbol);
  const auto others = file.defined_symbols(SHT_SYMTAB, names);
  found.insert(found.end(), others.begin(), others.end());
  for (const Sanitizer& sanitizer : kSanitizers) {
    if (has(sanitizer.symbol)) return {&sanitizer, "", exports_hooks};
  }
  return {};
}

bool allows_any_link_order() {
  const char* options = ::getenv("ASAN_OPTIONS");
  return options != nullptr && absl::StrContains(options, "verify_asan_link_order=0");
}

/// Empty where calls are seen by `hook`, and the sanitizer finds what it finds without a tracker.
std::string why_not_shared(const FoundSanitizer& found, HookChoice hook) {
  // Their malloc would not be called: glibc's debug library stands in front of it.
  if (hook == HookChoice::kMallocHooks) {
    return "whose malloc --hook=malloc-hooks would replace; write --hook=inline or --hook=plt";
  }
  if (found.sanitizer->name != "address" || allows_any_link_order()) return "";
  return "which wants to be the first library; set ASAN_OPTIONS=verify_asan_link_order=0, or use "
         "clang's, which is linked statically, with --hook=malloc-hooks";
}

std::string why_not_static(const FoundSanitizer& found, HookChoice hook) {
  const bool hooks_fail = hook == HookChoice::kMallocHooks && !found.exports_hooks;
  if (hook != HookChoice::kInterpose && !hooks_fail) return "";
  return join_text(
      "whose malloc is the program's own, where --hook=", std::string(description_of(hook).name),
      " sees no calls; write ", found.exports_hooks ? "--hook=malloc-hooks, " : "",
      "--hook=inline or --hook=plt");
}

std::string why_not(const FoundSanitizer& found, HookChoice hook) {
  if (found.sanitizer->excludes_trackers) {
    return "which no tracker can run beside; track a build without it";
  }
  return found.library.empty() ? why_not_static(found, hook) : why_not_shared(found, hook);
}

}  // namespace

Status check_sanitizers(const std::string& path, HookChoice hook) {
  FoundSanitizer found = find_static(path);
  if (found.sanitizer == nullptr) found = find_shared(path);
  if (found.sanitizer == nullptr) return Status();
  const std::string why = why_not(found, hook);
  if (why.empty()) return Status();
  const std::string runtime = found.library.empty()
                                  ? "its runtime is linked in"
                                  : join_text("it needs ", in_quotes(found.library));
  return Status::failed_precondition("program ", in_quotes(path), " is built with -fsanitize=",
                                     std::string(found.sanitizer->name), " (", runtime, "), ", why);
}

}  // namespace alloctap::run
