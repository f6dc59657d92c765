/// Runs programs and keeps what they leave: output, exit status, signal.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace alloctap::testing {

struct Command {
  /// The program's path comes first.
  std::vector<std::string> arguments;
  /// All of it: nothing of the test's own environment is passed on.
  std::vector<std::string> environment{"PATH=/usr/bin:/bin"};
  std::string directory = "/";
  std::string input = "/dev/null";
  std::chrono::seconds patience{120};
  /// Load the program at the same addresses each time, for those whose allocations depend on them.
  /// Where the system refuses this, addresses stay random.
  bool fixed_addresses = false;
};

/// New processes of this thread are laid out without randomness as long as this lives.
class FixedAddresses {
 public:
  explicit FixedAddresses(bool wanted) : before_(wanted ? ::personality(kAsk) : -1) {
    if (before_ >= 0) ::personality(static_cast<unsigned long>(before_) | ADDR_NO_RANDOMIZE);
  }
  FixedAddresses(const FixedAddresses&) = delete;
  FixedAddresses& operator=(const FixedAddresses&) = delete;
  ~FixedAddresses() {
    if (before_ >= 0) ::personality(static_cast<unsigned long>(before_));
  }

 private:
  static constexpr unsigned long kAsk = 0xffffffff;
  int before_;
};

struct Outcome {
  pid_t pid = 0;
  /// As waitpid(2) tells it.
  int status = 0;
  bool timed_out = false;
  std::string out;
  std::string err;

  /// -1 where a signal ended the program.
  [[nodiscard]] int exit_code() const { return WIFEXITED(status) ? WEXITSTATUS(status) : -1; }
  /// 0 where none ended it.
  [[nodiscard]] int signal() const { return WIFSIGNALED(status) ? WTERMSIG(status) : 0; }
};

/// A running program, in a process group of its own so that nothing of it outlives the test.
class Process {
 public:
  explicit Process(const Command& command) : patience_(command.patience) {
    static const bool no_core_files = set_no_core_files();
    static_cast<void>(no_core_files);
    int out[2];
    int err[2];
    if (::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0) std::abort();
    spawn(command, out[1], err[1]);
    ::close(out[1]);
    ::close(err[1]);
    pipes_ = {pollfd{out[0], POLLIN, 0}, pollfd{err[0], POLLIN, 0}};
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() {
    for (const pollfd& pipe : pipes_) {
      if (pipe.fd >= 0) ::close(pipe.fd);
    }
    if (!reaped_) end();
  }

  [[nodiscard]] pid_t pid() const { return outcome_.pid; }

  /// What it has written to its standard output, as far as it was read.
  [[nodiscard]] const std::string& output() const { return outcome_.out; }

  /// Whether the program wrote `text` to its standard output before it ended or time ran out.
  [[nodiscard]] bool wait_for(std::string_view text) {
    while (outcome_.out.find(text) == std::string::npos) {
      if (!read_more()) return false;
    }
    return true;
  }

  void send(int signal) const { ::kill(outcome_.pid, signal); }

  /// Reads until the program and all that share its output have ended; kills them when time runs
  /// out.
  [[nodiscard]] Outcome finish() {
    while (read_more()) {
    }
    end();
    return outcome_;
  }

 private:
  using Clock = std::chrono::steady_clock;

  static bool set_no_core_files() {
    constexpr rlimit kNone{0, 0};
    return ::setrlimit(RLIMIT_CORE, &kNone) == 0;
  }

  static std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> result;
    for (std::string& text : texts) result.push_back(text.data());
    result.push_back(nullptr);
    return result;
  }

  void spawn(Command command, int out, int err) {
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addchdir_np(&actions, command.directory.c_str());
    ::posix_spawn_file_actions_addopen(&actions, 0, command.input.c_str(), O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, out, 1);
    ::posix_spawn_file_actions_adddup2(&actions, err, 2);
    posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
    sigset_t all;
    ::sigfillset(&all);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    const FixedAddresses fixed(command.fixed_addresses);
    if (::posix_spawn(&outcome_.pid, command.arguments.front().c_str(), &actions, &attributes,
                      pointers(command.arguments).data(),
                      pointers(command.environment).data()) != 0) {
      std::abort();
    }
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&actions);
  }

  /// False at the end of both pipes, or when time has run out.
  bool read_more() {
    if (pipes_[0].fd < 0 && pipes_[1].fd < 0) return false;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now());
    if (left.count() <= 0 ||
        ::poll(pipes_.data(), pipes_.size(), static_cast<int>(left.count())) == 0) {
      outcome_.timed_out = true;
      return false;
    }
    read_from(pipes_[0], outcome_.out);
    read_from(pipes_[1], outcome_.err);
    return true;
  }

  static void read_from(pollfd& pipe, std::string& text) {
    if (pipe.fd < 0 || pipe.revents == 0) return;
    std::array<char, 65536> buffer;
    const ssize_t count = ::read(pipe.fd, buffer.data(), buffer.size());
    if (count > 0)
      return static_cast<void>(text.append(buffer.data(), static_cast<std::size_t>(count)));
    ::close(pipe.fd);
    pipe.fd = -1;
  }

  void end() {
    if (pipes_[0].fd >= 0 || pipes_[1].fd >= 0) ::kill(-outcome_.pid, SIGKILL);
    while (::waitpid(outcome_.pid, &outcome_.status, 0) < 0 && errno == EINTR) {
    }
    reaped_ = true;
  }

  std::chrono::seconds patience_;
  Clock::time_point deadline_ = Clock::now() + patience_;
  std::array<pollfd, 2> pipes_{};
  Outcome outcome_;
  bool reaped_ = false;
};

[[nodiscard]] inline Outcome run(const Command& command) { return Process(command).finish(); }

}  // namespace alloctap::testing
