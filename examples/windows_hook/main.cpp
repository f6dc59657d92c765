// The least that tracks all that a program of Windows allocates, where code may not be changed.
#include <alloctap/hook/windows_import_hook.hpp>
#include <alloctap/implement.hpp>
#include <alloctap/os/windows/api.hpp>
#include <cstdlib>
#include <iostream>
#include <string>

#include "alloctap/status.hpp"

namespace {

struct Config : alloctap::DefaultConfig {
  using Hook = alloctap::WindowsImportHook;
  using Symbolizer = alloctap::DefaultSymbolizer;
};
using Tracker = alloctap::Tracker<Config>;

/// What the report is to show.
struct Level {
  void* mesh = ::HeapAlloc(::GetProcessHeap(), 0, 1000);
  void* sounds = std::malloc(2000);
  std::string* name = new std::string(3000, 'x');
  void* textures = ::VirtualAlloc(nullptr, 64 * 1024, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
};

}  // namespace

int main() {
  const auto session = Tracker::start();
  if (!session.ok()) {
    std::cerr << session.status() << '\n';
    return 1;
  }
  const Level level;
  const alloctap::Status status =
      Tracker::dump(alloctap::TextDump{}, alloctap::DescriptorOutput(1));
  if (!status.ok()) std::cerr << status << '\n';
  // Used, or the compiler would not allocate it.
  const bool there = level.mesh != nullptr && level.sounds != nullptr && level.name->size() == 3000;
  return status.ok() && there && level.textures != nullptr ? 0 : 1;
}
