/// Backend that uses the allocator's own hooks; patches and interposes no function.
#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "alloctap/hook/hook_backend.hpp"
#include "alloctap/hook/malloc_hooks/allocator_probe.hpp"
#include "alloctap/hook/malloc_hooks/gperftools_hooks.hpp"
#include "alloctap/hook/malloc_hooks/hook_provider.hpp"
#include "alloctap/hook/malloc_hooks/probe_findings.hpp"
#include "alloctap/hook/malloc_hooks/sanitizer_hooks.hpp"
#include "alloctap/hook/malloc_hooks/variable_hooks.hpp"
#include "alloctap/message_text.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// Backend that uses the first of `Providers` whose hooks report a test call of malloc. Which calls
/// the hooks report depends on the allocator and its release. A probe determines the calls at the
/// first start; `active_capabilities()` and reports show the result. `capabilities` promises what
/// all providers can do. The probe also finds the allocator's frames, which stacks then omit.
template <HookProvider... Providers>
class MallocHooksOf {
 public:
  static constexpr std::string_view name = "malloc-hooks";
  static constexpr HookFeatures features{.active_capabilities = true, .active_name = true};
  static constexpr HookCapabilities capabilities{
      .target = HookTarget::kProcessAllocator,
      .owns_every_free = false,
      .sees_later_modules = true,
      .sees_mappings = false,
      .misses_allocations = true,
      .blind_spots = "what the allocator's hooks do not tell, which is not known before the start",
  };

  /// If no provider works, returns FailedPrecondition with each provider's reason and remedy.
  template <EventSink Sink>
  static Status install() {
    std::string reasons;
    if ((take<Providers>(reasons) || ...)) {
      HookFeed::connect<Sink>();
      return Status();
    }
    return Status::failed_precondition(
        "MallocHooks: no allocator of this process has hooks that can be used",
        os::is_static_executable()
            ? " (it is linked statically, so none can be put in front of its own)"
            : "",
        ". Looked for: ", reasons);
  }

  static void uninstall() noexcept {
    HookFeed::disconnect();
    const Active* active = active_.load(std::memory_order_acquire);
    if (active != nullptr) active->uninstall();
  }

  /// Returns the abilities of the last installed provider; before the first start, `capabilities`.
  [[nodiscard]] static HookCapabilities active_capabilities() noexcept {
    const Active* active = active_.load(std::memory_order_acquire);
    return active == nullptr ? capabilities : active->findings.capabilities(active->unseen.text());
  }

  /// Returns the backend's name and the provider's, for example "malloc-hooks (sanitizer)".
  [[nodiscard]] static std::string_view active_name() noexcept {
    const Active* active = active_.load(std::memory_order_acquire);
    return active == nullptr ? name : std::string_view(active->name);
  }

  /// Returns the result of the probe; all false before the first start.
  [[nodiscard]] static ProbeFindings findings() noexcept {
    const Active* active = active_.load(std::memory_order_acquire);
    return active == nullptr ? ProbeFindings{} : active->findings;
  }

  /// Call before the first start if the program calls `on_modules_unloading` and
  /// `on_modules_unloaded`. Reports then do not list dlclose as unseen.
  static void reports_modules() noexcept { reports_modules_ = true; }

  /// Call `on_modules_unloading` before dlclose and `on_modules_unloaded` after it, because
  /// allocators do not report dlclose. These calls preserve the names of the module's frames, and
  /// drop cached data about the module's code. No effect unless a tracker runs.
  static void on_modules_unloading() noexcept { HookFeed::on_modules_unloading(); }
  static void on_modules_unloaded() noexcept { HookFeed::on_modules_unloaded(); }

 private:
  /// A provider that passed the probe.
  struct Active {
    char name[48] = {};
    ProbeFindings findings;
    BlindSpotText unseen;
    void (*uninstall)() noexcept = nullptr;
  };

  template <class Provider>
  static bool take(std::string& reasons) {
    const Status status = Provider::install();
    if (!status.ok()) {
      add_reason(reasons, Provider::name, std::string(status.message()));
      return false;
    }
    Active& active = active_of<Provider>;
    if (!active.findings.malloc) probe<Provider>(active);
    if (!active.findings.malloc) {
      Provider::uninstall();
      add_reason(reasons, Provider::name,
                 "its hooks were set, but a call of malloc did not reach them; another allocator "
                 "stands in front of it");
      return false;
    }
    active_.store(&active, std::memory_order_release);
    return true;
  }

  static void add_reason(std::string& reasons, std::string_view provider,
                         const std::string& reason) {
    append_text(reasons, reasons.empty() ? "" : "; ", std::string(provider), ": ", reason);
  }

  template <class Provider>
  static void probe(Active& active) {
    HookFeed::connect<ProbeSink>();
    active.findings = AllocatorProbe::run(hooked_allocator_frames);
    HookFeed::disconnect();
    active.findings.modules = reports_modules_;
    if constexpr (requires { Provider::also_unseen(); }) {
      active.unseen.write(active.findings, Provider::also_unseen());
    } else {
      active.unseen.write(active.findings);
    }
    active.uninstall = &Provider::uninstall;
    const std::string full = join_text(std::string(name), " (", std::string(Provider::name), ")");
    full.copy(active.name, sizeof active.name - 1);
  }

  template <class Provider>
  static inline constinit Active active_of;
  static inline constinit std::atomic<const Active*> active_{nullptr};
  static inline constinit bool reports_modules_ = false;
};

/// Tries the providers in this order. Providers whose hooks can be uninstalled come first.
using MallocHooks =
    MallocHooksOf<BionicHooks<>, GlibcDebugHooks<>, GperftoolsHooks<>, SanitizerHooks<>>;

static_assert(HookBackend<MallocHooks>);

}  // namespace alloctap
