/// The walks that Windows has itself, in the shape of our policies, without what those do to be
/// safe. They leave out the function that calls them, which stands for the hooked one.
#pragma once

#include <algorithm>
#include <alloctap/os/windows/api.hpp>
#include <alloctap/stack/stack_capture.hpp>
#include <cstdint>

namespace alloctap::bench {

/// The whole walk in one call. On Windows XP and Server 2003 it captures no more than 62 frames.
struct RtlBackTrace {
  static constexpr std::string_view name = "RtlCaptureStackBackTrace";

  ALLOCTAP_ALWAYS_INLINE static CapturedStack capture(ThreadState&, const CallOrigin&,
                                                      std::span<std::uintptr_t> frames) noexcept {
    constexpr ULONG kHookedFunction = 1;
    auto** room = reinterpret_cast<void**>(frames.data());
    const auto most = static_cast<ULONG>(frames.size());
    const USHORT found = ::RtlCaptureStackBackTrace(kHookedFunction, most, room, nullptr);
    // Wine 8 takes the four words behind a thread's outermost frame for frames too.
    const auto end = std::find(frames.begin(), frames.begin() + found, std::uintptr_t{0});
    return {.depth = static_cast<std::uint32_t>(end - frames.begin())};
  }
};

/// A frame at a time: what a library does that has no rows of its own. Look-ups have the history
/// that Windows keeps known functions in.
struct RtlUnwindLoop {
  static constexpr std::string_view name = "RtlVirtualUnwind";

  ALLOCTAP_NOINLINE static CapturedStack capture(ThreadState&, const CallOrigin& origin,
                                                 std::span<std::uintptr_t> frames) noexcept {
    UNWIND_HISTORY_TABLE history{};
    CONTEXT context;
    ::RtlCaptureContext(&context);
    const auto caller = reinterpret_cast<std::uintptr_t>(origin.caller);
    while (context.Rip != caller && context.Rip != 0) step(context, history);
    CapturedStack stack;
    while (context.Rip != 0 && stack.depth < frames.size()) {
      frames[stack.depth++] = context.Rip;
      step(context, history);
    }
    return stack;
  }

 private:
  /// What has no entry calls nobody, and has nothing on its stack but where it returns to.
  static void step(CONTEXT& context, UNWIND_HISTORY_TABLE& history) noexcept {
    DWORD64 base = 0;
    auto* const function = ::RtlLookupFunctionEntry(context.Rip, &base, &history);
    if (function == nullptr) {
      context.Rip = *reinterpret_cast<const DWORD64*>(context.Rsp);
      context.Rsp += sizeof(DWORD64);
      return;
    }
    void* data = nullptr;
    DWORD64 frame = 0;
    ::RtlVirtualUnwind(UNW_FLAG_NHANDLER, base, context.Rip, function, &context, &data, &frame,
                       nullptr);
  }
};

}  // namespace alloctap::bench
