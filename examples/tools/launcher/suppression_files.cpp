#include "launcher/suppression_files.hpp"

#include <filesystem>
#include <system_error>

#include "alloctap/message_text.hpp"
#include "alloctap/runtime/file_contents.hpp"
#include "alloctap/snapshot/suppressions.hpp"
#include "alloctap/status.hpp"
#include "launcher/failure.hpp"
#include "launcher/path_text.hpp"
#include "settings.hpp"

namespace alloctap::run {
namespace {

namespace fs = std::filesystem;

Status refuse(const std::string& file, std::string_view reason) {
  return Status::invalid_argument("--suppressions ", in_quotes(file), ": ", std::string(reason));
}

Status read_rules(const std::string& file, Suppressions& rules) {
  std::error_code ignored;
  if (fs::is_fifo(path_of(file), ignored)) {
    return refuse(file, "is a pipe, and it is to be read twice; write its text to a file");
  }
  ArenaArray<char> contents;
  const int error = read_file(file.c_str(), kMaxSuppressionBytes, contents);
  if (error != 0) return refuse(file, join_text("cannot be read: ", os::error_text(error)));
  const Status status = rules.add(text_of(contents), file);
  return status.ok() ? status : refuse(file, std::string(status.message()));
}

Result<std::string> resolve(const std::string& file) {
  Suppressions rules;
  if (Status status = read_rules(file, rules); !status.ok()) return status;
  std::error_code error;
  const std::string path = text_of(fs::absolute(path_of(file), error));
  if (error || path.size() > kPathBytes) return refuse(file, "its path is too long");
  return path;
}

}  // namespace

Result<std::vector<std::string>> resolve_suppressions(std::span<const std::string> files) {
  if (files.size() > kMaxSuppressionFiles) {
    return Status::invalid_argument("--suppressions is given ", files.size(),
                                    " times; give it at most ", kMaxSuppressionFiles);
  }
  std::vector<std::string> paths;
  for (const std::string& file : files) {
    Result<std::string> path = resolve(file);
    if (!path.ok()) return path.status();
    paths.push_back(*std::move(path));
  }
  return paths;
}

bool ask_for_leaks(std::span<const std::string> files) {
  Suppressions rules;
  for (const std::string& file : files) {
    if (!read_rules(file, rules).ok()) return true;
  }
  return !files.empty() && (rules.misuse_rules().empty() || !rules.leak_rules().empty());
}

}  // namespace alloctap::run
