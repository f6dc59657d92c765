// usage: reloads FIRST SECOND
// Calls through a plug-in, closes it, builds it anew and opens it at the same place. Exit code: 0,
// or the number of what went wrong. Asks to be told of the ends of processes, and has none.
#include <dlfcn.h>
#include <signal.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

namespace {

namespace fs = std::filesystem;

volatile sig_atomic_t ended_processes = 0;
void* volatile block = nullptr;

void count_ended_process(int) { ended_processes = ended_processes + 1; }

void allocate_in_first() { block = std::malloc(12345); }
void allocate_in_second() { block = std::malloc(54321); }

/// Where the plug-in's function was; nullptr on errors.
void* call_through(const char* path, void (*callback)()) {
  void* plugin = dlopen(path, RTLD_NOW);
  if (plugin == nullptr) return nullptr;
  void* function = dlsym(plugin, "plugin_call");
  if (function != nullptr) reinterpret_cast<void (*)(void (*)())>(function)(callback);
  dlclose(plugin);
  return function;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr const char* kPath = "./plugin.so";
  if (argc != 3) return 1;
  signal(SIGCHLD, &count_ended_process);
  fs::copy_file(argv[1], kPath);
  void* const place = call_through(kPath, &allocate_in_first);
  if (place == nullptr) return 2;
  fs::remove(kPath);
  fs::copy_file(argv[2], kPath);
  if (call_through(kPath, &allocate_in_second) != place) return 3;
  if (waitpid(-1, nullptr, 0) != -1 || errno != ECHILD) return 4;
  return ended_processes == 0 ? 0 : 5;
}
