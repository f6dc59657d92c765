// DbgHelp ("Debug Help Library"). A program may bring a newer one along than Windows has, and needs
// none as long as it asks for no names: so it is loaded when it is first asked. Windows' own reads
// PDB files; Wine's reads DWARF up to version 4 besides.
#pragma once

#include "alloctap/os/windows/api.hpp"
#include "alloctap/os/windows/errors.hpp"
// After the headers that it is made of.
#include <dbghelp.h>

namespace alloctap::os {

/// Its functions, in a session of alloctap's own: what the program asks of DbgHelp for itself has
/// nothing to do with it but for the options, which are one set for all. Those are put back.
struct DbgHelp {
  decltype(&::SymInitializeW) initialize = nullptr;
  decltype(&::SymGetOptions) get_options = nullptr;
  decltype(&::SymSetOptions) set_options = nullptr;
  decltype(&::SymLoadModuleExW) load_module = nullptr;
  decltype(&::SymUnloadModule64) unload_module = nullptr;
  decltype(&::SymGetModuleInfoW64) module_info = nullptr;
  decltype(&::SymFromAddrW) function_at = nullptr;
  decltype(&::SymGetLineFromAddrW64) line_at = nullptr;
  // Since Windows 8; the compiler's headers do not know them.
  DWORD(WINAPI* count_inlined)(HANDLE, DWORD64) = nullptr;
  BOOL(WINAPI* first_inlined)(HANDLE, DWORD64, DWORD, DWORD64, DWORD64, DWORD*, DWORD*) = nullptr;
  BOOL(WINAPI* inlined_function)(HANDLE, DWORD64, ULONG, DWORD64*, SYMBOL_INFOW*) = nullptr;
  BOOL(WINAPI* inlined_line)(HANDLE, DWORD64, ULONG, DWORD64, DWORD*, IMAGEHLP_LINEW64*) = nullptr;
  /// Of the attempt to load it.
  int error = 0;

  /// Loaded and set up by the first call.
  static const DbgHelp& get() noexcept {
    static const DbgHelp library = load(L"dbghelp.dll");
    return library;
  }

  /// Another library of that kind; with an error where there is none, or it lacks a function.
  static DbgHelp load(const wchar_t* name) noexcept;

  /// Names alloctap's session; any value that no other session has will do.
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

  /// An empty path: beside the module, and where its linker left the PDB file. No server is asked.
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

/// Has DbgHelp's options as alloctap needs them, as long as it lives.
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
