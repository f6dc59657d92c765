#include "launcher/preload_object.hpp"

#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "alloctap/status.hpp"
#include "launcher/failure.hpp"

#ifndef ALLOCTAP_RUN_PRELOAD_DIRECTORY
#define ALLOCTAP_RUN_PRELOAD_DIRECTORY "../lib/alloctap"
#endif

namespace alloctap::run {
namespace {

namespace fs = std::filesystem;

/// By `ObjectKind`: the ones that export malloc.
constexpr const char* kObjects[] = {
    "liballoctap-run.so",      "liballoctap-run-chosen.so", "liballoctap-run-events.so",
    "liballoctap-run-tags.so", "liballoctap-run-checks.so", "liballoctap-run-string-checks.so"};
/// The one that exports none has all kinds but those that check blocks.
constexpr const char kSlotsObject[] = "liballoctap-run-slots.so";

/// What ends a path in LD_PRELOAD, and what starts a name that the loader replaces.
constexpr std::string_view kNotInPreload = " :$";

}  // namespace

Result<std::string> find_preload_object(HookChoice hook, ObjectKind kind) {
  std::error_code error;
  const fs::path own = fs::read_symlink("/proc/self/exe", error);
  const char* name =
      description_of(hook).exports_malloc ? kObjects[static_cast<std::size_t>(kind)] : kSlotsObject;
  const fs::path expected = own.parent_path() / ALLOCTAP_RUN_PRELOAD_DIRECTORY / name;
  const fs::path object = fs::canonical(expected, error);
  if (error || ::access(object.c_str(), R_OK) != 0) {
    return Status::failed_precondition("the object to preload is not at ",
                                       in_quotes(expected.lexically_normal().native()),
                                       "; build or install alloctap-run again");
  }
  if (object.native().find_first_of(kNotInPreload) != std::string::npos) {
    return Status::failed_precondition("the loader cannot preload ", in_quotes(object.native()),
                                       "; move alloctap-run to a path without ' ', ':' and '$'");
  }
  return object.native();
}

std::string make_preload(const std::string& object, HookChoice hook, const std::string& existing) {
  std::vector<std::string> objects =
      absl::StrSplit(existing, absl::ByAnyChar(" :"), absl::SkipEmpty());
  // Two of them would both be the program's tracker.
  for (const char* name : kObjects) {
    std::erase(objects, fs::path(object).replace_filename(name).native());
  }
  std::erase(objects, fs::path(object).replace_filename(kSlotsObject).native());
  std::erase(objects, object);
  objects.insert(objects.begin(), object);
  const std::string library(description_of(hook).needed_library);
  if (!library.empty()) {
    std::erase(objects, library);
    objects.push_back(library);
  }
  return absl::StrJoin(objects, ":");
}

}  // namespace alloctap::run
