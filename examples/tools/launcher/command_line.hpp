/// The grammar of the command line, by CLI11; what the values mean is options.cpp's.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "alloctap/status.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace alloctap::run {

/// What stands behind the options, and how the command may be used.
inline constexpr char kRunArguments[] = "[--] PROGRAM [ARGS...]";
inline constexpr char kRunExamples[] =
    "  alloctap-run ./program              a report on standard error at the end\n"
    "  alloctap-run -o heap.html ./program a page for a browser\n";

/// The values stay texts: CLI11 would give some of them a meaning, and its errors no remedy.
class CommandLine {
 public:
  CommandLine();
  ~CommandLine();

  /// The index of PROGRAM in `arguments`, of which the first is the launcher's own name. At most
  /// their number.
  [[nodiscard]] Result<std::size_t> find_program(std::span<char*> arguments) const;

  /// Parses what stands before PROGRAM; what is returned is the answer to --help or --version.
  [[nodiscard]] Result<std::string> parse(std::span<char*> options);

  /// The table of options, for whoever describes it elsewhere.
  [[nodiscard]] const CLI::App& app() const noexcept { return *app_; }

  [[nodiscard]] std::vector<std::string> dumps() const { return results(dump_); }
  [[nodiscard]] std::vector<std::string> outputs() const { return results(output_); }
  [[nodiscard]] std::vector<std::string> stacks() const { return results(stack_); }
  [[nodiscard]] std::vector<std::string> frame_limits() const { return results(max_frames_); }
  [[nodiscard]] std::vector<std::string> sample_means() const { return results(sample_); }
  [[nodiscard]] std::vector<std::string> min_sizes() const { return results(min_size_); }
  [[nodiscard]] std::vector<std::string> checks() const { return results(checks_); }
  [[nodiscard]] std::vector<std::string> guard_pages() const { return results(guard_pages_); }
  [[nodiscard]] bool checks_strings() const;
  [[nodiscard]] std::vector<std::string> error_exit_codes() const {
    return results(error_exit_code_);
  }
  [[nodiscard]] std::vector<std::string> event_bytes() const { return results(events_); }
  [[nodiscard]] std::vector<std::string> max_sizes() const { return results(max_size_); }
  [[nodiscard]] std::vector<std::string> intervals() const { return results(interval_); }
  [[nodiscard]] std::vector<std::string> thresholds() const { return results(threshold_); }
  [[nodiscard]] std::vector<std::string> signals() const { return results(signal_); }
  [[nodiscard]] std::vector<std::string> leak_choices() const { return results(leaks_); }
  [[nodiscard]] std::vector<std::string> suppressions() const { return results(suppressions_); }
  [[nodiscard]] std::vector<std::string> hooks() const { return results(hook_); }
  [[nodiscard]] std::vector<std::string> modules() const { return results(modules_); }
  [[nodiscard]] std::vector<std::string> left_out_modules() const { return results(not_modules_); }
  [[nodiscard]] std::vector<std::string> mmap_choices() const { return results(mmap_); }
  [[nodiscard]] bool tells_tags() const;
  [[nodiscard]] bool follows_children() const;

 private:
  /// None for an option that this system does not have.
  static std::vector<std::string> results(const CLI::Option* option);
  CLI::Option* add(const char* name, const char* value, const std::string& description,
                   std::span<const std::string_view> values = {});
  void add_modules();
  void add_checks();
  void add_guard_pages();
  void add_string_checks();
  void add_tags();
  bool takes_value(const std::string& name) const;
  Status check_value(const std::string& argument) const;

  std::unique_ptr<CLI::App> app_;
  CLI::Option* dump_ = nullptr;
  CLI::Option* output_ = nullptr;
  CLI::Option* stack_ = nullptr;
  CLI::Option* max_frames_ = nullptr;
  CLI::Option* sample_ = nullptr;
  CLI::Option* min_size_ = nullptr;
  CLI::Option* max_size_ = nullptr;
  CLI::Option* checks_ = nullptr;
  CLI::Option* guard_pages_ = nullptr;
  CLI::Option* string_checks_ = nullptr;
  CLI::Option* tags_ = nullptr;
  CLI::Option* error_exit_code_ = nullptr;
  CLI::Option* events_ = nullptr;
  CLI::Option* interval_ = nullptr;
  CLI::Option* threshold_ = nullptr;
  CLI::Option* signal_ = nullptr;
  CLI::Option* leaks_ = nullptr;
  CLI::Option* suppressions_ = nullptr;
  CLI::Option* hook_ = nullptr;
  CLI::Option* modules_ = nullptr;
  CLI::Option* not_modules_ = nullptr;
  CLI::Option* mmap_ = nullptr;
  CLI::Option* follow_children_ = nullptr;
};

}  // namespace alloctap::run
