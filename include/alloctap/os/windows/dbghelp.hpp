/// DbgHelp ("Debug Help Library"), loaded when names are first requested, because a program may
/// load its own newer version until then. Windows' version reads PDB files. Wine's version also
/// reads DWARF up to version 4.
#pragma once

#include "alloctap/os/windows/api.hpp"
#include "alloctap/os/windows/errors.hpp"
// After the headers that dbghelp.h depends on.
#include <dbghelp.h>

namespace alloctap::os {

/// DbgHelp's functions and a separate session for alloctap. Does not affect the program's own use
/// of DbgHelp, except for the global options, which are restored.
struct DbgHelp {
  decltype(&::SymInitializeW) initialize = nullptr;
  decltype(&::SymGetOptions) get_options = nullptr;
  decltype(&::SymSetOptions) set_options = nullptr;
  decltype(&::SymLoadModuleExW) load_module = nullptr;
  decltype(&::SymUnloadModule64) unload_module = nullptr;
  decltype(&::SymGetModuleInfoW64) module_info = nullptr;
  decltype(&::SymFromAddrW) function_at = nullptr;
  decltype(&::SymGetLineFromAddrW64) line_at = nullptr;
  // Since Windows 8; missing from the compiler's headers.
  DWORD(WINAPI* count_inlined)(HANDLE, DWORD64) = nullptr;
  BOOL(WINAPI* first_inlined)(HANDLE, DWORD64, DWORD, DWORD64, DWORD64, DWORD*, DWORD*) = nullptr;
  BOOL(WINAPI* inlined_function)(HANDLE, DWORD64, ULONG, DWORD64*, SYMBOL_INFOW*) = nullptr;
  BOOL(WINAPI* inlined_line)(HANDLE, DWORD64, ULONG, DWORD64, DWORD*, IMAGEHLP_LINEW64*) = nullptr;
  /// Error of loading the library; 0 if loaded.
  int error = 0;

  /// Returns the library. The first call loads and initializes DbgHelp.
  static const DbgHelp& get() noexcept {
    static const DbgHelp library = load(L"dbghelp.dll");
    return library;
  }

  /// Loads the library `name`. Sets `error` if it does not exist or lacks a required function.
  static DbgHelp load(const wchar_t* name) noexcept;

  /// Returns alloctap's session handle, an arbitrary value that differs from other sessions'.
  static HANDLE session() noexcept {
    static char place = 0;
    return &place;
  }

  [[nodiscard]] bool tells_inlined() const noexcept {
    return count_inlined != nullptr && first_inlined != nullptr && inlined_function != nullptr &&
           inlined_line != nullptr;
  }

 private:
  template <class Function>
  static void find(HMODULE library, const char* name, Function& function) noexcept {
    function = reinterpret_cast<Function>(reinterpret_cast<void*>(::GetProcAddress(library, name)));
  }

  /// Initializes the session. The empty search path means: the module's directory and the PDB path
  /// that the linker stored, but no server.
  void set_up() noexcept {
    const bool complete = initialize != nullptr && get_options != nullptr &&
                          set_options != nullptr && load_module != nullptr &&
                          unload_module != nullptr && module_info != nullptr &&
                          function_at != nullptr && line_at != nullptr;
    if (!complete) {
      error = negated_error(ERROR_PROC_NOT_FOUND);
    } else if (initialize(session(), L"", FALSE) == 0) {
      error = negated_last_error();
    }
  }
};

inline DbgHelp DbgHelp::load(const wchar_t* name) noexcept {
  DbgHelp library;
  const HMODULE module = ::LoadLibraryW(name);
  if (module == nullptr) {
    library.error = negated_last_error();
    return library;
  }
  find(module, "SymInitializeW", library.initialize);
  find(module, "SymGetOptions", library.get_options);
  find(module, "SymSetOptions", library.set_options);
  find(module, "SymLoadModuleExW", library.load_module);
  find(module, "SymUnloadModule64", library.unload_module);
  find(module, "SymGetModuleInfoW64", library.module_info);
  find(module, "SymFromAddrW", library.function_at);
  find(module, "SymGetLineFromAddrW64", library.line_at);
  find(module, "SymAddrIncludeInlineTrace", library.count_inlined);
  find(module, "SymQueryInlineTrace", library.first_inlined);
  find(module, "SymFromInlineContextW", library.inlined_function);
  find(module, "SymGetLineFromInlineContextW", library.inlined_line);
  library.set_up();
  return library;
}

/// Scope guard that sets the global DbgHelp options that alloctap needs.
class DbgHelpOptions {
 public:
  DbgHelpOptions() noexcept : before_(DbgHelp::get().get_options()) {
    DbgHelp::get().set_options(SYMOPT_DEFERRED_LOADS | SYMOPT_LOAD_LINES | SYMOPT_UNDNAME |
                               SYMOPT_NO_PROMPTS | SYMOPT_FAIL_CRITICAL_ERRORS);
  }
  ~DbgHelpOptions() { DbgHelp::get().set_options(before_); }
  DbgHelpOptions(const DbgHelpOptions&) = delete;
  DbgHelpOptions& operator=(const DbgHelpOptions&) = delete;

 private:
  DWORD before_;
};

}  // namespace alloctap::os
