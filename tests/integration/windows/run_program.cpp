/// A program for alloctap-run. Its first argument says what it does; it ends with 7, and with 40
/// more where the plug-in of the tests was loaded before main.
///
/// arguments   prints its arguments, one in a line
/// blocks      keeps known blocks of each kind
/// failing     ends with a code of 32 bits
/// terminated  keeps a block and ends itself without a word to its libraries
/// waiting     keeps a block, prints its process id, waits for a line and goes on
/// parent      runs itself with "child", and then with "child" by way of the C library
/// suspended   starts itself with "child" so that it stands still, and lets it run
/// debugger    runs itself with "child" as a debugger would
/// child       keeps a block and ends
/// held        holds blocks wherever a program can, and loses others (lifetime_breakdown.hpp)
/// moving      allocates, moves and frees on many threads for a second, and loses nothing
/// misuse      frees a block twice, and writes behind another one that it keeps; "terminated"
/// behind
///             it has it end itself without a word
/// reader      reads behind a block, on the page that follows its own
/// copier      copies a byte too much out of a block
/// crash       frees a block twice, and ends as Windows ends what dies of an access violation
#include <process.h>
#include <windows.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "lifetime_breakdown.hpp"

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

/// Runs this program with "child"; whether it stood still until it was let run, where it was to.
bool run_child(DWORD flags) {
  char path[1024];
  char line[1100];
  ::GetModuleFileNameA(nullptr, path, sizeof path);
  std::snprintf(line, sizeof line, "\"%s\" child", path);
  STARTUPINFOA startup{};
  startup.cb = sizeof startup;
  PROCESS_INFORMATION child{};
  if (::CreateProcessA(path, line, nullptr, nullptr, TRUE, flags, nullptr, nullptr, &startup,
                       &child) == 0) {
    return false;
  }
  bool as_asked = true;
  if ((flags & CREATE_SUSPENDED) != 0) {
    as_asked = ::WaitForSingleObject(child.hProcess, 500) == WAIT_TIMEOUT &&
               ::ResumeThread(child.hThread) == 1;
  }
  DEBUG_EVENT event{};
  while ((flags & DEBUG_PROCESS) != 0 && event.dwDebugEventCode != EXIT_PROCESS_DEBUG_EVENT) {
    if (::WaitForDebugEvent(&event, INFINITE) == 0) return false;
    ::ContinueDebugEvent(event.dwProcessId, event.dwThreadId, DBG_CONTINUE);
  }
  ::WaitForSingleObject(child.hProcess, INFINITE);
  DWORD code = 0;
  ::GetExitCodeProcess(child.hProcess, &code);
  return as_asked && code == 7;
}

/// What a failed start says is the system's own word.
bool fails_to_start_nothing() {
  STARTUPINFOA startup{};
  startup.cb = sizeof startup;
  PROCESS_INFORMATION child{};
  char line[] = "missing.exe";
  return ::CreateProcessA("missing.exe", line, nullptr, nullptr, TRUE, 0, nullptr, nullptr,
                          &startup, &child) == 0 &&
         ::GetLastError() == ERROR_FILE_NOT_FOUND;
}

void misuse_blocks() {
  kept[0] = std::malloc(100);
  std::free(kept[0]);
  std::free(kept[0]);
  kept[1] = std::malloc(200);
  static_cast<char volatile*>(kept[1])[200] = 1;
}

void read_behind_a_block() {
  kept[0] = std::malloc(100);
  static_cast<void>(static_cast<char volatile*>(kept[0])[112]);
}

void copy_from_behind_a_block() {
  char* volatile block = static_cast<char*>(std::malloc(100));
  char copy[101];
  void* (*volatile copy_bytes)(void*, const void*, std::size_t) = &std::memcpy;
  copy_bytes(copy, block, 101);
  kept[0] = block;
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
  if (does(count, arguments, "misuse")) {
    misuse_blocks();
    if (count > 2) ::TerminateProcess(::GetCurrentProcess(), 9);
  }
  if (does(count, arguments, "held")) hold_and_lose_blocks();
  if (does(count, arguments, "moving")) move_blocks_about();
  if (does(count, arguments, "reader")) read_behind_a_block();
  if (does(count, arguments, "copier")) copy_from_behind_a_block();
  if (does(count, arguments, "crash")) {
    misuse_blocks();
    ::TerminateProcess(::GetCurrentProcess(), EXCEPTION_ACCESS_VIOLATION);
  }
  if (does(count, arguments, "child")) kept[0] = std::malloc(77777);
  if (does(count, arguments, "parent")) {
    kept[0] = std::malloc(66666);
    const bool by_library =
        ::_spawnl(_P_WAIT, arguments[0], arguments[0], "child", static_cast<char*>(nullptr)) == 7;
    if (!run_child(0) || !by_library || !fails_to_start_nothing()) return 1;
  }
  if (does(count, arguments, "suspended") && !run_child(CREATE_SUSPENDED)) return 1;
  if (does(count, arguments, "debugger") && !run_child(DEBUG_PROCESS)) return 1;
  return ::GetModuleHandleA("alloctap_windows_plugin.dll") != nullptr ? 47 : 7;
}
