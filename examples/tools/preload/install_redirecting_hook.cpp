// What calls run through under the hooks that redirect them, for one kind of tracker.
#include <alloctap/hook/inline_hook.hpp>
#include <alloctap/hook/malloc_hooks.hpp>
#include <alloctap/hook/plt_hook.hpp>

#include "alloctap/status.hpp"
#include "run_tracker.hpp"

namespace alloctap::run::inline ALLOCTAP_RUN_KIND {

Status install_redirecting_hook(HookChoice choice) {
  switch (choice) {
    case HookChoice::kPlt:
      return PltHook::install<::alloctap::SinkOf<RunTracker>>();
    case HookChoice::kInline:
      return InlineHook::install<::alloctap::SinkOf<RunTracker>>();
    case HookChoice::kMallocHooks:
      return MallocHooks::install<::alloctap::SinkOf<RunTracker>>();
    case HookChoice::kInterpose:
      break;
  }
  return Status::internal("no such hook");
}

}  // namespace alloctap::run::inline ALLOCTAP_RUN_KIND
