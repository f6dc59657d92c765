// A library that allocates when it is loaded, and when it is called: through slots of its own, not
// those of a C library that was there before.
#include "tests/contract/windows/plugin.hpp"

#include <cstddef>
#include <cstring>

#include "alloctap/annotate.hpp"
#include "alloctap/os/windows/api.hpp"

namespace {

void* volatile block = nullptr;

/// Holds the loader's lock for a while, if the program wants it to.
void dwell() {
  const HANDLE entered = ::OpenEventW(EVENT_MODIFY_STATE, FALSE, alloctap::testing::kPluginEntered);
  if (entered == nullptr) return;
  ::SetEvent(entered);
  ::Sleep(300);
  ::CloseHandle(entered);
}

}  // namespace

extern "C" {

__declspec(dllexport) void* plugin_allocate(std::size_t bytes) {
  return ::HeapAlloc(::GetProcessHeap(), 0, bytes);
}
__declspec(dllexport) void plugin_free(void* pointer) {
  ::HeapFree(::GetProcessHeap(), 0, pointer);
}
__declspec(dllexport) void plugin_copy(void* to, const void* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
}

__declspec(dllexport) void plugin_in_tag(void (*work)()) {
  const alloctap::tag_scope tag{"plugin"};
  const alloctap::memory_pool pool{"plugin"};
  static char memory[8];
  pool.allocate(memory, sizeof memory);
  work();
}

BOOL WINAPI DllMain(HINSTANCE, DWORD reason, void*) {
  if (reason == DLL_PROCESS_ATTACH) {
    block = plugin_allocate(alloctap::testing::kBytesOfDllMain);
    dwell();
  }
  if (reason == DLL_PROCESS_DETACH) plugin_free(block);
  return TRUE;
}
}
