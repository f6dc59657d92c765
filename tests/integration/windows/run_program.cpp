/// A program for alloctap-run. Its first argument says what it does; it ends with 7, and with 40
/// more where the plug-in of the tests was loaded before main.
///
/// arguments   prints its arguments, one in a line
/// blocks      keeps known blocks of each kind
/// failing     ends with a code of 32 bits
/// terminated  keeps a block and ends itself without a word to its libraries
/// waiting     keeps a block, prints its process id, waits for a line and goes on
#include <windows.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

void* volatile kept[6];

void keep_blocks() {
  kept[0] = ::HeapAlloc(::GetProcessHeap(), 0, 1000);
  kept[1] = std::malloc(2000);
  kept[2] = new char[3000];
  kept[3] = ::VirtualAlloc(nullptr, 64 * 1024, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
  kept[4] = std::realloc(std::malloc(10), 4000);
  for (int i = 0; i < 100; ++i) {
    kept[5] = std::malloc(50);
    std::free(kept[5]);
  }
}

bool does(int count, char** arguments, const char* what) {
  return count > 1 && std::strcmp(arguments[1], what) == 0;
}

}  // namespace

int main(int count, char** arguments) {
  constexpr UINT kLongCode = 0xE0000001;
  for (int i = 2; does(count, arguments, "arguments") && i < count; ++i) std::puts(arguments[i]);
  if (does(count, arguments, "blocks")) keep_blocks();
  if (does(count, arguments, "failing")) ::ExitProcess(kLongCode);
  if (does(count, arguments, "terminated")) {
    kept[0] = std::malloc(12345);
    ::TerminateProcess(::GetCurrentProcess(), 9);
  }
  if (does(count, arguments, "waiting")) {
    kept[0] = std::malloc(54321);
    std::printf("%lu\n", ::GetCurrentProcessId());
    std::fflush(stdout);
    char line[16];
    static_cast<void>(std::fgets(line, sizeof line, stdin));
  }
  return ::GetModuleHandleA("alloctap_windows_plugin.dll") != nullptr ? 47 : 7;
}
