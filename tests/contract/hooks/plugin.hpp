/// The plug-in of the cases of hook backends (`late_plugin.cpp`).
#pragma once

#include <dlfcn.h>

namespace alloctap::testing {

/// A plug-in that is open.
class Plugin {
 public:
  Plugin() : handle_(dlopen(ALLOCTAP_LATE_PLUGIN, RTLD_LAZY)) {}
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;
  ~Plugin() {
    if (handle_ != nullptr) dlclose(handle_);
  }

  template <class Function>
  [[nodiscard]] Function* function(const char* name) const {
    return handle_ == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(handle_, name));
  }

 private:
  void* handle_;
};

}  // namespace alloctap::testing
