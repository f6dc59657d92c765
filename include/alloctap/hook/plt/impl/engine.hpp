/// Definitions for hook/plt/engine.hpp.
#pragma once

#include <algorithm>
#include <mutex>
#include <new>
#include <string_view>
#include <utility>

#include "alloctap/hook/plt/engine.hpp"
#include "alloctap/message_text.hpp"
#include "alloctap/os/module_symbols.hpp"
#include "alloctap/runtime/fork_handlers.hpp"
#include "alloctap/runtime/futex_lock.hpp"

namespace alloctap {

ALLOCTAP_INLINE std::string why_skipped(const PltModule& module) {
  if (!module.is_mapped) return "its memory was unmapped behind the loader's back";
  if ((module.groups & ~group_bit(kLoaderGroup)) == 0) return "no pattern chooses it";
  std::string why;
  const auto add = [&why](std::uint32_t count, const char* reason) {
    if (count > 0) append_text(why, join_text(why.empty() ? "" : "; ", count), " ", reason);
  };
  add(module.foreign, "lead to another allocator or to another tool's hook");
  add(module.unfinished, "are in a module that is still being opened");
  add(module.refused, "could not be made writable");
  if (why.empty() && module.hooked == 0) why = "it imports none of the functions";
  return why;
}

ALLOCTAP_INLINE std::string warn_of(const ModulePattern& pattern,
                                    const ArenaArray<PltModule>& modules) {
  std::uint32_t matched = 0;
  std::uint32_t hooked = 0;
  for (const PltModule& module : modules) {
    if (!ModuleSelection::matches(pattern, std::string(module.path), std::string(module.name))) {
      continue;
    }
    ++matched;
    hooked += module.hooked;
  }
  const std::string subject = join_text("pattern \"", pattern.text, "\"");
  if (matched == 0) return join_text(subject, " matches no loaded module");
  if (pattern.leaves_out || hooked > 0) return {};
  return join_text(subject, " matches ", matched,
                   matched == 1 ? " module, which has" : " modules, which have",
                   " nothing to hook");
}

ALLOCTAP_INLINE PltReport make_plt_report(const PltState& state,
                                          const ArenaArray<PltModule>& modules) {
  PltReport report;
  for (const PltModule& module : modules) {
    const std::string_view path = module.path.empty() ? module.name : module.path;
    report.modules.push_back({.path = std::string(path),
                              .hooked = module.hooked,
                              .skipped = module.foreign + module.unfinished + module.refused,
                              .why = why_skipped(module)});
    report.hooked_slots += module.hooked;
  }
  if (const auto late = PltState::refreshes_put_off.load(std::memory_order_relaxed); late > 0) {
    report.warnings.push_back(join_text(
        late,
        " times a module was not hooked as soon as it was opened, because the tracker or other "
        "threads opening modules kept the lock for a tenth of a second: what it allocated until "
        "its thread called dlsym, dlopen or dlclose next is missing"));
  }
  if (const auto blind = PltState::opened_blindly.load(std::memory_order_relaxed); blind > 0) {
    report.warnings.push_back(join_text(
        blind,
        " calls of dlopen came from code without unwind tables, or under a shadow stack: what they "
        "opened was hooked only when their thread called dlsym, dlopen or dlclose next. Call "
        "refresh() behind them"));
  }
  for (const ModuleSelection* selection : state.selections) {
    for (const ModulePattern& pattern : selection->patterns()) {
      std::string warning = warn_of(pattern, modules);
      const bool is_new = std::find(report.warnings.begin(), report.warnings.end(), warning) ==
                          report.warnings.end();
      if (!warning.empty() && is_new) report.warnings.push_back(std::move(warning));
    }
  }
  return report;
}

ALLOCTAP_INLINE Status PltEngine::install() {
  PltState& state = plt_state();
  for (const ModuleSelection* selection : state.selections) {
    if (Status status = selection->status(); !status.ok()) return status;
  }
  if (program_is_static()) {
    return Status::failed_precondition(
        "PltHook: the program is linked statically, so its calls of the allocator go through no "
        "slots. Link it dynamically, or use InterposeHook");
  }
  if (!pin_own_module()) {
    return Status::failed_precondition(
        "PltHook: the loader does not know the module that this code is in");
  }
  state.chosen.clear();
  PltState::opened_blindly.store(0, std::memory_order_relaxed);
  PltState::refreshes_put_off.store(0, std::memory_order_relaxed);
  find_originals();
  PltState::active.store(true, std::memory_order_release);
  ArenaArray<PltModule> modules = hook_until_settled();
  if (can_hook(modules)) return Status();
  uninstall();
  return Status::failed_precondition(why_nothing(modules));
}

ALLOCTAP_INLINE bool PltEngine::refresh() noexcept {
  const bool done = try_refresh();
  if (!done) PltState::refreshes_put_off.fetch_add(1, std::memory_order_relaxed);
  return done;
}

ALLOCTAP_INLINE void PltEngine::uninstall() noexcept {
  PltState::active.store(false, std::memory_order_release);
  PltPass(plt_state(), PltAction::kUnhook).run();
  plt_state().hooked.clear();
}

ALLOCTAP_INLINE PltReport PltEngine::report() {
  const ReentrancyGuard guard;
  const ControlScope hold;
  PltPass pass(plt_state(), PltAction::kLook);
  pass.run();
  return make_plt_report(plt_state(), pass.modules());
}

ALLOCTAP_INLINE bool PltEngine::program_is_static() noexcept {
  bool is_static = true;
  bool is_program = true;
  os::visit_loaded_images([&](const os::LoadedImage& image) {
    if (!std::exchange(is_program, false)) return;
    is_static = std::none_of(image.segments.begin(), image.segments.end(),
                             [](const auto& segment) { return segment.p_type == PT_INTERP; });
  });
  return is_static;
}

ALLOCTAP_INLINE bool PltEngine::pin_own_module() noexcept {
  const auto left_alone = std::find_if(PltState::left_alone.begin(), PltState::left_alone.end(),
                                       [](const void* code) { return code != nullptr; });
  return left_alone != PltState::left_alone.end() ||
         os::pin_module(reinterpret_cast<const void*>(&program_is_static));
}

ALLOCTAP_INLINE void PltEngine::find_originals() noexcept {
  find_program_stubs();
  for (PltTarget& target : plt_state().targets.all()) {
    auto original = reinterpret_cast<std::uintptr_t>(os::default_symbol(target.name));
    if (original != 0 && original == target.program_stub) {
      original = reinterpret_cast<std::uintptr_t>(os::next_symbol(target.name));
    }
    publish(target, original);
  }
}

ALLOCTAP_INLINE void PltEngine::publish(PltTarget& target, std::uintptr_t original) noexcept {
  if (original == 0) return;
  target.publish(original);
  target.original = original;
}

ALLOCTAP_INLINE void PltEngine::find_program_stubs() noexcept {
  bool is_program = true;
  os::visit_loaded_images([&](const os::LoadedImage& image) {
    if (!std::exchange(is_program, false)) return;
    const elf::LoadedMemory memory(image.bias, image.segments);
    const auto section = elf::read_dynamic_section(memory);
    if (!section) return;
    elf::for_each_symbol_slot(memory, *section, [&](const elf::SymbolSlot& slot) {
      PltTarget* target = plt_state().targets.find(slot.name);
      const bool is_stub = slot.symbol->st_shndx == SHN_UNDEF && slot.symbol->st_value != 0;
      if (target != nullptr && is_stub) {
        target->program_stub = image.bias + slot.symbol->st_value;
      }
    });
  });
}

ALLOCTAP_INLINE ArenaArray<PltModule> PltEngine::hook_until_settled() {
  for (int walk = 1;; ++walk) {
    PltPass pass = walk_once();
    bool again = decide(pass.unknown());
    ArenaArray<MissingOriginal> missing = copy(pass.missing());
    find_missing(missing);
    again = publish_found(missing) || again;
    if (!again || walk == kMaxWalks) return copy(pass.modules());
  }
}

ALLOCTAP_INLINE bool PltEngine::try_refresh() noexcept try {
  const ReentrancyGuard guard;
  ArenaArray<MissingOriginal> missing;
  if (!refresh_locked(missing)) return false;
  if (missing.empty()) return true;
  find_missing(missing);
  return refresh_locked(missing);
} catch (const std::bad_alloc&) {
  return false;
}

ALLOCTAP_INLINE bool PltEngine::refresh_locked(ArenaArray<MissingOriginal>& missing) {
  constexpr std::int64_t kTimeoutNs = 100'000'000;
  if (!control_lock.try_lock_for(kTimeoutNs)) return false;
  const std::lock_guard hold(control_lock, std::adopt_lock);
  if (!PltState::active.load(std::memory_order_acquire)) {
    missing.clear();
    return true;
  }
  static_cast<void>(publish_found(missing));
  for (int walk = 1;; ++walk) {
    PltPass pass = walk_once();
    if (decide(pass.unknown()) && walk < kMaxWalks) continue;
    missing = copy(pass.missing());
    return true;
  }
}

ALLOCTAP_INLINE PltPass PltEngine::walk_once() noexcept {
  const os::LoaderCounts counts = os::loader_counts();
  PltState::loaded.store(counts.loaded, std::memory_order_relaxed);
  PltState::unloaded.store(counts.unloaded, std::memory_order_relaxed);
  PltPass pass(plt_state(), PltAction::kHook);
  pass.run();
  return pass;
}

ALLOCTAP_INLINE bool PltEngine::decide(const ArenaArray<PltModule>& unknown) {
  bool decided = false;
  for (const PltModule& module : unknown) {
    decided = plt_state().chosen.add({.path = module.path,
                                      .name = module.name,
                                      .hash = ChosenModules::hash(module.path, module.name),
                                      .groups = plt_state().groups_of(module.path, module.name)}) ||
              decided;
  }
  return decided;
}

ALLOCTAP_INLINE void PltEngine::find_missing(ArenaArray<MissingOriginal>& missing) {
  for (MissingOriginal& entry : missing) {
    const std::string importer(entry.importer);
    const char* path = importer.empty() ? nullptr : importer.c_str();
    entry.original = reinterpret_cast<std::uintptr_t>(os::symbol_seen_by(path, entry.target->name));
  }
}

ALLOCTAP_INLINE bool PltEngine::publish_found(const ArenaArray<MissingOriginal>& missing) noexcept {
  bool found = false;
  for (const MissingOriginal& entry : missing) {
    if (entry.target->original != 0) continue;
    publish(*entry.target, entry.original);
    found = found || entry.original != 0;
  }
  return found;
}

ALLOCTAP_INLINE bool PltEngine::can_hook(const ArenaArray<PltModule>& modules) noexcept {
  bool has_imports = false;
  bool has_skipped = false;
  for (const PltModule& module : modules) {
    if (module.hooked > 0) return true;
    has_imports = has_imports || module.has_imports;
    has_skipped = has_skipped || module.foreign + module.refused > 0;
  }
  return has_imports && !has_skipped;
}

ALLOCTAP_INLINE std::string PltEngine::why_nothing(const ArenaArray<PltModule>& modules) {
  const PltReport report = make_plt_report(plt_state(), modules);
  std::string why = join_text("PltHook: no slot was hooked in ", modules.size(), " modules.");
  for (const PltModuleReport& module : report.modules) {
    append_text(why, " ", module.path, ": ", module.why, ".");
  }
  return join_text(why, " Use InterposeHook, or hook before other tools do");
}

}  // namespace alloctap
