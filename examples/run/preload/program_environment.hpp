/// The program's environment without the variables of alloctap-run.
///
/// The program and its children, however they are started, find the environment that the user gave:
/// a child of another C library or machine cannot load our object. Only the process that the user
/// named passes the variables on, when it becomes another program itself.
#pragma once

namespace alloctap::run {

/// Removes the settings from `environment`, the array that the program starts with, and restores
/// the user's LD_PRELOAD. Called before the program runs.
void hide_settings(char** environment) noexcept;

/// Returns whether a program that this process becomes gets the settings. False if they are not
/// hidden, and in children.
[[nodiscard]] bool passes_settings() noexcept;

/// The environment that exec gets in the place of the program's `environment`. It has the settings
/// again if `passes_settings`, and our object can be loaded into what is to be executed. Owns pages
/// of the system; if there are no pages, it is the program's. May run in a process of vfork.
class PassedEnvironment {
 public:
  /// `path` names the file to be executed; nullptr if it is not known.
  PassedEnvironment(const char* path, char* const* environment) noexcept;
  PassedEnvironment(const PassedEnvironment&) = delete;
  PassedEnvironment& operator=(const PassedEnvironment&) = delete;
  ~PassedEnvironment() noexcept;

  [[nodiscard]] char* const* get() const noexcept { return passed_; }

 private:
  char* const* passed_;
  void* memory_ = nullptr;
  unsigned long bytes_ = 0;
};

}  // namespace alloctap::run
