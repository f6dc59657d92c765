/// Debug information by DbgHelp, loaded on demand.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <cwchar>
#include <span>

#include "alloctap/os/symbol_library.hpp"
#include "alloctap/os/windows/api.hpp"
#include "alloctap/os/windows/errors.hpp"
#include "alloctap/os/windows/thread.hpp"
#include "alloctap/os/windows/wide_path.hpp"

// After the headers that dbghelp.h depends on.
#include <dbghelp.h>

namespace alloctap::os {

/// DbgHelp's functions and a separate session for alloctap. Loaded when names are first requested,
/// because a program may load its own newer version until then. Does not affect the program's own
/// use of DbgHelp, except for the global options, which are restored. Windows' version reads PDB
/// files; Wine's also reads DWARF up to version 4.
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

  /// Loads the library `name`. If the library does not exist or lacks a required function, `error`
  /// of the result is not 0.
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

inline constexpr std::string_view kSymbolLibrary = "dbghelp";

inline int load_symbol_library() noexcept { return DbgHelp::get().error; }

/// Buffers for a function's name and source line, which DbgHelp fills.
class DbgHelpAnswer {
 public:
  /// Queries the function at `address`. `ask_inlined` queries the function inlined there that
  /// `context` selects. Both return false if DbgHelp finds none.
  [[nodiscard]] bool ask(const DbgHelp& library, std::uintptr_t address) noexcept {
    DWORD64 distance = 0;
    DWORD column = 0;
    clear();
    if (library.function_at(DbgHelp::session(), address, &distance, &symbol()) == 0) return false;
    has_line_ = library.line_at(DbgHelp::session(), address, &column, &line_) != 0;
    return true;
  }
  [[nodiscard]] bool ask_inlined(const DbgHelp& library, std::uintptr_t address,
                                 DWORD context) noexcept {
    DWORD64 distance = 0;
    DWORD column = 0;
    clear();
    if (library.inlined_function(DbgHelp::session(), address, context, &distance, &symbol()) == 0) {
      return false;
    }
    has_line_ = library.inlined_line(DbgHelp::session(), address, context, 0, &column, &line_) != 0;
    return true;
  }

  /// Returns the result, valid until the next query.
  [[nodiscard]] SymbolFrame frame() noexcept {
    SymbolFrame frame;
    const std::wstring_view name(symbol().Name, ::wcsnlen(symbol().Name, kLongestName));
    frame.function = to_utf8(name, function_);
    if (!has_line_ || line_.FileName == nullptr) return frame;
    frame.file = to_utf8(line_.FileName, file_);
    use_slashes(std::span(file_).first(frame.file.size()));
    frame.line = line_.LineNumber;
    return frame;
  }

 private:
  static constexpr std::size_t kLongestName = 1000;

  SYMBOL_INFOW& symbol() noexcept { return *reinterpret_cast<SYMBOL_INFOW*>(memory_.data()); }

  void clear() noexcept {
    std::memset(memory_.data(), 0, sizeof(SYMBOL_INFOW));
    symbol().SizeOfStruct = sizeof(SYMBOL_INFOW);
    symbol().MaxNameLen = kLongestName;
    line_ = {};
    line_.SizeOfStruct = sizeof line_;
    has_line_ = false;
  }

  alignas(SYMBOL_INFOW)
      std::array<std::byte, sizeof(SYMBOL_INFOW) + kLongestName * sizeof(wchar_t)> memory_;
  IMAGEHLP_LINEW64 line_{};
  bool has_line_ = false;
  std::array<char, 1024> function_;
  std::array<char, 1024> file_;
};

/// Returns a fictitious load address for a module of `bytes` bytes. No earlier module had that
/// address, not even an unloaded one.
inline std::uintptr_t next_module_place(std::size_t bytes) noexcept {
  constexpr std::uintptr_t kStep = 0x10000;
  static constinit std::uintptr_t next = 0x10'0000'0000;
  const std::uintptr_t place = next;
  next += (bytes / kStep + 2) * kStep;
  return place;
}

/// Unloads the module from DbgHelp, so that its file can be rebuilt. Does nothing in Wine, which
/// would free an uninitialized pointer if the module names a missing PDB file.
inline void unload_module(std::uintptr_t module) noexcept {
  if (!is_wine()) DbgHelp::get().unload_module(DbgHelp::session(), module);
}

inline LibrarySymbols::LibrarySymbols(std::string_view path, std::uintptr_t start,
                                      std::size_t bytes) noexcept
    : start_(start) {
  const DbgHelp& library = DbgHelp::get();
  std::array<wchar_t, 1024> wide{};
  const auto room = std::span(wide).first(wide.size() - 1);
  if (library.error != 0 || to_utf16(path, room).empty()) return;
  std::replace(wide.begin(), wide.end(), L'/', L'\\');
  const DbgHelpOptions options;
  const std::uintptr_t place = next_module_place(bytes);
  if (library.load_module(DbgHelp::session(), nullptr, wide.data(), nullptr, place,
                          static_cast<DWORD>(bytes), nullptr, 0) == 0) {
    return;
  }
  IMAGEHLP_MODULEW64 info{};
  info.SizeOfStruct = sizeof info;
  const bool known = library.module_info(DbgHelp::session(), place, &info) != 0;
  // Rejects modules with only exports: DbgHelp would name any address by the nearest export below.
  if (known && info.SymType != SymNone && info.SymType != SymExport) {
    module_ = place;
  } else {
    unload_module(place);
  }
}

inline LibrarySymbols::~LibrarySymbols() {
  if (module_ != 0) unload_module(module_);
}

template <class Visit>
void LibrarySymbols::visit_frames(std::uintptr_t address, Visit&& visit) const noexcept {
  if (module_ == 0) return;
  address = address - start_ + module_;
  const DbgHelp& library = DbgHelp::get();
  const DbgHelpOptions options;
  DbgHelpAnswer answer;
  const HANDLE session = DbgHelp::session();
  const DWORD inlined = library.tells_inlined() ? library.count_inlined(session, address) : 0;
  DWORD context = 0;
  DWORD index = 0;
  if (inlined == 0 ||
      library.first_inlined(session, address, 0, address, address, &context, &index) == 0) {
    if (answer.ask(library, address)) visit(answer.frame());
    return;
  }
  // The last context is the function that all others are inlined into.
  for (DWORD i = 0; i <= inlined; ++i) {
    if (answer.ask_inlined(library, address, context + i)) visit(answer.frame());
  }
}

}  // namespace alloctap::os
