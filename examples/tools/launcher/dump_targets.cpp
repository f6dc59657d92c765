#include "launcher/dump_targets.hpp"

#include <array>
#include <filesystem>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

#include "alloctap/message_text.hpp"
#include "alloctap/status.hpp"
#include "launcher/failure.hpp"
#include "launcher/path_text.hpp"
#include "launcher/writable_path.hpp"
#include "path_pattern.hpp"

namespace alloctap::run {
namespace {

namespace fs = std::filesystem;

Status refuse(const DumpRequest& request, const std::string& why) {
  return Status::invalid_argument(request.argument, ": ", why);
}

/// A resolved dump and what tells whether two go to the same place.
struct Candidate {
  ResolvedDump dump;
  std::string identity;
};

class Resolver {
 public:
  Resolver(const DumpRequest& request, bool follow_children, std::int32_t pid)
      : request_(request), follow_children_(follow_children), pid_(pid) {}

  Result<Candidate> resolve() {
    if (Status status = make_absolute(); !status.ok()) return status;
    const Result<fs::path> target = follow_links(path_);
    if (!target.ok()) return refuse(request_, std::string(target.status().message()));
    Result<Candidate> candidate =
        is_written_through(*target) ? resolve_device(*target) : resolve_file(*target);
    if (!candidate.ok()) return refuse(request_, std::string(candidate.status().message()));
    if (candidate->dump.pattern.size() > kPathBytes) return refuse(request_, kTooLong);
    candidate->dump.format = request_.format;
    return candidate;
  }

 private:
  static constexpr char kTooLong[] = "the path is too long; write a shorter one";

  Status make_absolute() {
    if (request_.path.empty()) return refuse(request_, "the path is empty; write one");
    if (const auto unknown = find_unknown_placeholder(request_.path); !unknown.empty()) {
      return refuse(request_, join_text("unknown placeholder ", in_quotes(unknown),
                                        "; write %p for the process id, %n for the number of "
                                        "the dump or %% for a '%'"));
    }
    pattern_ = path_of(request_.path);
    if (pattern_.is_relative()) {
      std::error_code error;
      const fs::path here = fs::current_path(error);
      if (error) return refuse(request_, "there is no current directory; write an absolute path");
      pattern_ = path_of(escape_path(text_of(here))) / pattern_;
    }
    std::array<char, kPathBytes> buffer{};
    path_ = path_of(expand_path(text_of(pattern_), pid_, kFirstDump, buffer));
    return path_.empty() ? refuse(request_, kTooLong) : Status();
  }

  Result<Candidate> resolve_device(const fs::path& target) const {
    Result<std::string> identity = check_device(target);
    if (!identity.ok()) return identity.status();
    if (names_dump(text_of(pattern_))) {
      return Status::invalid_argument(
          "it is a device or a pipe, into which all dumps go; leave out %n");
    }
    // The program may close a standard stream before its report, whatever the name of its path.
    const std::string stream =
        names_process(text_of(pattern_)) ? std::string() : standard_stream_path(target);
    if (follow_children_ && stream == kStandardOutputPath) {
      return Status::invalid_argument(
          "with --follow-children reports would go into pipes between processes; name a file, "
          "with %p in its name");
    }
    // Other paths stay as they are: /proc/self/fd/3 would resolve to a name that cannot be opened.
    const ResolvedDump dump{.mode = WriteMode::kAppend,
                            .pattern = stream.empty() ? text_of(pattern_) : stream};
    return Candidate{dump, *std::move(identity)};
  }

  Result<Candidate> resolve_file(const fs::path& target) const {
    const std::string name = text_of(pattern_.filename());
    const bool one_per_process = names_process(name);
    const bool one_per_dump = names_dump(name);
    if (names_dump(text_of(pattern_.parent_path()))) {
      return Status::invalid_argument("%n numbers files; put it into the file's name");
    }
    if (follow_children_ && !one_per_process) {
      return Status::invalid_argument(
          "with --follow-children every process would write this file; put %p into its name");
    }
    // Links are resolved now, so that a rename replaces the file and not the link to it; but what
    // the names of other processes and of later dumps will lead to is not known yet.
    const bool varies = one_per_process || one_per_dump;
    const Result<fs::path> file = check_file(varies ? path_ : target);
    if (!file.ok()) return file.status();
    const std::string own_name = varies ? name : escape_path(text_of(file->filename()));
    const fs::path pattern = path_of(escape_path(text_of(file->parent_path()))) / path_of(own_name);
    return Candidate{{.mode = WriteMode::kReplace, .pattern = text_of(pattern)},
                     identity_of(*file)};
  }

  const DumpRequest& request_;
  bool follow_children_;
  std::int32_t pid_;
  fs::path pattern_;
  fs::path path_;
};

}  // namespace

Result<std::vector<ResolvedDump>> resolve_dumps(std::span<const DumpRequest> requests,
                                                bool follow_children, std::int32_t pid) {
  std::vector<ResolvedDump> dumps;
  std::map<std::string, const DumpRequest*> seen;
  for (const DumpRequest& request : requests) {
    Result<Candidate> candidate = Resolver(request, follow_children, pid).resolve();
    if (!candidate.ok()) return candidate.status();
    const auto [earlier, is_new] = seen.try_emplace(candidate->identity, &request);
    if (!is_new) {
      return refuse(request, join_text("goes to the same file as ", earlier->second->argument,
                                       "; give each dump a path of its own"));
    }
    dumps.push_back(std::move(candidate->dump));
  }
  return dumps;
}

}  // namespace alloctap::run
