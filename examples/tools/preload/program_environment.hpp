/// The program's environment without the variables of alloctap-run.
///
/// The program and its children, however they are started, find the environment that the user gave:
/// a child of another C library or machine cannot load our object. Only the process that the user
/// named passes the variables on, when it becomes another program itself. Where children are
/// followed, all find the variables, but for those that cannot load the object.
#pragma once

namespace alloctap::run {

/// Removes the settings from `environment`, the array that the program starts with, and restores
/// the user's LD_PRELOAD. Called before the program runs.
void hide_settings(char** environment) noexcept;

/// Returns whether it depends on the program to be executed what it gets in the place of
/// `environment`.
[[nodiscard]] bool depends_on_program(char* const* environment) noexcept;

/// Which process executes a program.
enum class Heir : unsigned char { kSelf, kChild };

/// The environment that a program gets in the place of `environment`. If the settings are hidden,
/// the process that the user named has them again in what it becomes itself, if our object can be
/// loaded into that. If `environment` has them, as in a followed process, and the object cannot be
/// loaded, they are left out. Owns pages of the system; if there are no pages, it is `environment`.
/// May run in a process of vfork.
class PassedEnvironment {
 public:
  /// `path` names the file to be executed; nullptr if it is not known.
  PassedEnvironment(const char* path, char* const* environment, Heir heir = Heir::kSelf) noexcept;
  PassedEnvironment(const PassedEnvironment&) = delete;
  PassedEnvironment& operator=(const PassedEnvironment&) = delete;
  ~PassedEnvironment() noexcept;

  [[nodiscard]] char* const* get() const noexcept { return passed_; }

 private:
  void add_settings() noexcept;
  void take_settings_out() noexcept;

  char* const* passed_;
  void* memory_ = nullptr;
  unsigned long bytes_ = 0;
};

}  // namespace alloctap::run
