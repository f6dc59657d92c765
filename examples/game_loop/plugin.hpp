/// A part of the game that is loaded anew while it runs.
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <iostream>
#include <string>

namespace game {

class Plugin {
 public:
  explicit Plugin(std::string path) : path_(std::move(path)) { load(); }
  ~Plugin() { unload(); }
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  void think(int frame) { think_(frame); }

  void reload() {
    unload();
    load();
  }

 private:
  void load() {
    handle_ = dlopen(path_.c_str(), RTLD_NOW);
    if (handle_ != nullptr) think_ = reinterpret_cast<void (*)(int)>(dlsym(handle_, "think"));
    if (think_ != nullptr) return;
    std::cerr << "game_loop: cannot load " << path_ << ": " << dlerror() << '\n';
    std::exit(1);
  }

  void unload() {
    reinterpret_cast<void (*)()>(dlsym(handle_, "forget"))();
    dlclose(handle_);
    think_ = nullptr;
  }

  std::string path_;
  void* handle_ = nullptr;
  void (*think_)(int) = nullptr;
};

}  // namespace game
