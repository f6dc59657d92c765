/// Runs alloctap-run with an empty object in the place of the preloaded one.
#pragma once

#include <doctest/doctest.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace launcher_test {

namespace fs = std::filesystem;

struct Result {
  /// The exit code, or minus the signal.
  int code = 0;
  std::string out;
  std::string err;
  /// Of the launcher, and so of the program.
  pid_t pid = 0;
};

inline std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline fs::path write_file(const fs::path& path, std::string_view text, int mode = 0644) {
  std::ofstream(path, std::ios::binary) << text;
  fs::permissions(path, static_cast<fs::perms>(mode));
  return path;
}

inline std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> result;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    result.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return result;
}

inline std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

/// A directory of the test's own, with an alloctap-run in bin/ and a working directory in work/.
class Launcher {
 public:
  Launcher() {
    std::string name = fs::canonical(fs::temp_directory_path()) / "alloctap-run-test-XXXXXX";
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    root_ = name;
    fs::permissions(root_, fs::perms(0755));
    for (const char* directory : {"bin", "lib/alloctap", "work"}) {
      fs::create_directories(root_ / directory);
    }
    fs::copy_file(ALLOCTAP_RUN_BINARY, binary());
    fs::copy_file(ALLOCTAP_RUN_OBJECT, object());
    fs::copy_file(ALLOCTAP_RUN_OBJECT, choosing_object());
    fs::copy_file(ALLOCTAP_RUN_OBJECT, logging_object());
    fs::copy_file(ALLOCTAP_RUN_OBJECT, tag_telling_object());
    fs::copy_file(ALLOCTAP_RUN_OBJECT, checking_object());
    fs::copy_file(ALLOCTAP_RUN_OBJECT, string_checking_object());
    fs::copy_file(ALLOCTAP_RUN_OBJECT, root_ / "lib/alloctap/liballoctap-run-slots.so");
  }
  ~Launcher() {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  [[nodiscard]] fs::path root() const { return root_; }
  [[nodiscard]] fs::path binary() const { return root_ / "bin/alloctap-run"; }
  [[nodiscard]] fs::path object() const { return root_ / "lib/alloctap/liballoctap-run.so"; }
  /// What --sample, --min-size and --max-size preload instead.
  [[nodiscard]] fs::path choosing_object() const {
    return root_ / "lib/alloctap/liballoctap-run-chosen.so";
  }
  /// What --events preloads instead.
  [[nodiscard]] fs::path logging_object() const {
    return root_ / "lib/alloctap/liballoctap-run-events.so";
  }
  /// What --tags preloads instead.
  [[nodiscard]] fs::path tag_telling_object() const {
    return root_ / "lib/alloctap/liballoctap-run-tags.so";
  }
  /// What --checks preloads instead.
  [[nodiscard]] fs::path checking_object() const {
    return root_ / "lib/alloctap/liballoctap-run-checks.so";
  }
  /// What --string-checks preloads instead.
  [[nodiscard]] fs::path string_checking_object() const {
    return root_ / "lib/alloctap/liballoctap-run-string-checks.so";
  }
  [[nodiscard]] fs::path work() const { return root_ / "work"; }

  /// The variables of the launcher; nothing of the test's own environment.
  std::vector<std::string> environment{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"};

  /// Runs the launcher in the working directory.
  [[nodiscard]] Result run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), binary());
    return execute(std::move(arguments));
  }

  [[nodiscard]] Result execute(std::vector<std::string> command) const {
    const std::string out = root_ / "stdout", err = root_ / "stderr";
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addchdir_np(&actions, work().c_str());
    ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC | O_APPEND;
    ::posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), kFlags, 0666);
    ::posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), kFlags, 0666);
    std::vector<std::string> variables = environment;
    Result result;
    REQUIRE(::posix_spawn(&result.pid, command.front().c_str(), &actions, nullptr,
                          pointers(command).data(), pointers(variables).data()) == 0);
    ::posix_spawn_file_actions_destroy(&actions);
    int status = 0;
    REQUIRE(::waitpid(result.pid, &status, 0) == result.pid);
    result.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    result.out = read_file(out);
    result.err = read_file(err);
    return result;
  }

  /// Runs the launcher as a user who owns nothing here; needs root.
  [[nodiscard]] Result run_as_nobody(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"/usr/bin/setpriv", "--reuid=65534", "--regid=65534",
                                         "--clear-groups", binary()});
    return execute(std::move(arguments));
  }

 private:
  fs::path root_;
};

/// Nothing ran, and one line says why: it holds all of `texts`.
inline void check_refused(const Result& result, int code, const std::vector<std::string>& texts) {
  CAPTURE(result.err);
  CHECK(result.code == code);
  CHECK(result.out.empty());
  CHECK(result.err.starts_with("alloctap-run: "));
  CHECK(result.err.find('\n') == result.err.size() - 1);
  for (const std::string& text : texts) {
    CAPTURE(text);
    CHECK(result.err.find(text) != std::string::npos);
  }
}

}  // namespace launcher_test
