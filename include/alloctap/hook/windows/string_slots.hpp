/// Entry points of the string functions on Windows, and the import table slots that lead to them.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "alloctap/event/block_checks.hpp"
#include "alloctap/hook/hooked_function.hpp"
#include "alloctap/hook/plt/target.hpp"
#include "alloctap/hook/strings/string_access_checker.hpp"
#include "alloctap/hook/windows/import_pass.hpp"
#include "alloctap/hook/windows/string_functions.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/module_symbols.hpp"
#include "alloctap/os/windows/module_symbols.hpp"
#include "alloctap/os/windows/wide_path.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"

namespace alloctap {

/// Patches import table slots of string and memory functions, in the program, and in all modules
/// outside the Windows directory except the module with this code. System modules are skipped,
/// because they may call while holding any lock, and they do not copy the program's memory. A
/// module loaded later is patched before its DllMain, if the system binds imports before its load
/// notification.
///
/// Targets and slots are accessed with the loader lock held. Allocates nothing.
class WindowsStringSlots {
 public:
  static constexpr std::size_t kMaxCount = kStringLibraries.size() * WindowsStringFunctions::size;

  /// Empties the list of targets. Call before `start`; the list must not change afterwards.
  static void clear() noexcept { count_ = 0; }
  static void add(const PltTarget& target) noexcept {
    if (count_ < kMaxCount) targets_[count_++] = target;
  }

  /// Patches all slots. Requires the control lock. Waits for the loader lock.
  static void start() noexcept {
    system_ = os::SystemPath::read();
    program_ = reinterpret_cast<std::uintptr_t>(::GetModuleHandleW(nullptr));
    active_.store(true, std::memory_order_release);
    static_cast<void>(notices_.start());
    // All originals are found before a slot is changed.
    visit_modules([](std::uintptr_t module, std::string_view path) { find_in(module, path); });
    visit_modules([](std::uintptr_t module, std::string_view path) { redirect(module, path); });
  }

  /// Requires the control lock. Waits for the loader lock. Threads may be in handlers afterwards.
  static void stop() noexcept {
    active_.store(false, std::memory_order_release);
    notices_.stop();
    const ImportPass pass({targets_.data(), count_}, ImportAction::kUnhook);
    visit_modules([&](std::uintptr_t module, std::string_view) { pass.run(module, active_); });
  }

 private:
  template <class Visit>
  static void visit_modules(Visit&& visit) noexcept {
    const ReentrancyGuard guard;
    os::visit_loader_modules([&](const os::LoaderModule& module) {
      std::array<char, 1024> buffer;
      const std::string_view path = os::to_utf8(module.path, buffer);
      os::use_slashes(std::span(buffer).first(path.size()));
      visit(module.start, path);
    });
  }

  static void on_notice(const os::ModuleNotice& notice) noexcept {
    if (notice.what != os::ModuleNotice::What::kLoaded) return;
    const ReentrancyGuard guard;
    find_in(notice.start, notice.path);
    redirect(notice.start, notice.path);
  }

  /// Finds the originals in `module` if it is one of `kStringLibraries`.
  static void find_in(std::uintptr_t module, std::string_view path) noexcept {
    const std::string_view name = path.substr(path.find_last_of('/') + 1);
    const auto* const library =
        std::find_if(kStringLibraries.begin(), kStringLibraries.end(),
                     [name](std::string_view known) { return os::is_same_path(known, name); });
    if (library == kStringLibraries.end()) return;
    const auto group = static_cast<std::uint32_t>(library - kStringLibraries.begin());
    const os::ExportTable exports(module);
    for (PltTarget& target : std::span(targets_).first(count_)) {
      if (target.group != group || target.original != 0) continue;
      const std::uintptr_t original = exports.find(target.name);
      if (original != 0) target.publish(original);
      target.original = original;
    }
  }

  static void redirect(std::uintptr_t module, std::string_view path) noexcept {
    const auto here = reinterpret_cast<std::uintptr_t>(&start);
    const bool is_left_out = system_.holds(path) || os::find_module(here).start == module;
    if (is_left_out && module != program_) return;
    ImportPass({targets_.data(), count_}, ImportAction::kHook).run(module, active_);
  }

  static inline constinit std::array<PltTarget, kMaxCount> targets_{};
  static inline constinit std::size_t count_ = 0;
  static inline constinit os::SystemPath system_;
  static inline constinit std::uintptr_t program_ = 0;
  static inline constinit os::ModuleNotices notices_{&on_notice};
  static inline constinit std::atomic<bool> active_{false};
};

/// Originals of the library at index `Library` of `kStringLibraries`.
template <AccessSink Sink, std::size_t Library>
class WindowsStringOriginals : public OriginalFunctions<WindowsStringOriginals<Sink, Library>> {
 public:
  /// Does nothing, because the slots already show whether calls arrive.
  static void note_arrival() noexcept {}
};

/// Returns the description of a hooked function; its group is the index of its library.
template <class Function, class Originals, std::size_t Library, class Call>
PltTarget string_target(Call* call) noexcept {
  return {.name = Function::name,
          .handler = reinterpret_cast<std::uintptr_t>(call),
          .group = Library,
          .publish = &Originals::template set<Function>};
}

/// `call` replaces a function of the library at index `Library`. May run inside malloc.
template <class Function, AccessSink Sink, std::size_t Library,
          class Signature = typename Function::Signature>
struct WindowsStringEntry;

template <class Function, AccessSink Sink, std::size_t Library, class Result, class... Arguments>
struct WindowsStringEntry<Function, Sink, Library, Result(Arguments...)> {
  using Originals = WindowsStringOriginals<Sink, Library>;

  ALLOCTAP_NOINLINE static Result call(Arguments... arguments) {
    return StringCall<Sink, Originals>::template call<Function>(ALLOCTAP_CALL_ORIGIN(),
                                                                arguments...);
  }
};

/// Handles a `VariadicFunction` by a call of the library's va_list function.
template <class Function, AccessSink Sink, std::size_t Library>
struct WindowsListCall {
  struct Originals {
    template <class>
    static auto* get() noexcept {
      return WindowsStringOriginals<Sink, Library>::template get<typename Function::WithList>();
    }
    static void note_arrival() noexcept {}
  };

  template <class... Arguments>
  ALLOCTAP_ALWAYS_INLINE static int call(const CallOrigin& origin, Arguments... arguments) {
    return StringCall<Sink, Originals>::template call<Function>(origin, arguments...);
  }
};

template <class Function, AccessSink Sink, std::size_t Library, class A>
struct WindowsStringEntry<Function, Sink, Library, int(A, ...)> {
  ALLOCTAP_NOINLINE static int call(A a, ...) {
    std::va_list values;
    va_start(values, a);
    const int result =
        WindowsListCall<Function, Sink, Library>::call(ALLOCTAP_CALL_ORIGIN(), a, values);
    va_end(values);
    return result;
  }
};

template <class Function, AccessSink Sink, std::size_t Library, class A, class B>
struct WindowsStringEntry<Function, Sink, Library, int(A, B, ...)> {
  ALLOCTAP_NOINLINE static int call(A a, B b, ...) {
    std::va_list values;
    va_start(values, b);
    const int result =
        WindowsListCall<Function, Sink, Library>::call(ALLOCTAP_CALL_ORIGIN(), a, b, values);
    va_end(values);
    return result;
  }
};

template <class Function, AccessSink Sink, std::size_t Library, class A, class B, class C>
struct WindowsStringEntry<Function, Sink, Library, int(A, B, C, ...)> {
  ALLOCTAP_NOINLINE static int call(A a, B b, C c, ...) {
    std::va_list values;
    va_start(values, c);
    const int result =
        WindowsListCall<Function, Sink, Library>::call(ALLOCTAP_CALL_ORIGIN(), a, b, c, values);
    va_end(values);
    return result;
  }
};

/// Calls `add(const PltTarget&)` for each function of the libraries from index `Library` on.
template <AccessSink Sink, std::size_t Library = 0, class Add>
void for_each_string_target(Add& add) {
  WindowsStringFunctions::for_each([&add](auto function) {
    using Function = decltype(function);
    using Originals = WindowsStringOriginals<Sink, Library>;
    add(string_target<Function, Originals, Library>(
        &WindowsStringEntry<Function, Sink, Library>::call));
  });
  if constexpr (Library + 1 < kStringLibraries.size()) {
    for_each_string_target<Sink, Library + 1>(add);
  }
}

}  // namespace alloctap
