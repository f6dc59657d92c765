/// Descriptions and originals of the functions of ntdll.dll that allocate and free memory.
///
/// The functions serve heap blocks, pages and views. All allocation APIs of kernel32, kernelbase,
/// ucrtbase and combase call these functions. HeapAlloc, HeapReAlloc, HeapFree, GlobalAlloc,
/// LocalAlloc, CoTaskMemAlloc, and malloc and operator new of any C library call Rtl functions.
/// VirtualAlloc(Ex) and MapViewOfFile(Ex) call Nt functions. Arguments: "Windows Driver Kit", with
/// `Zw` for `Nt`.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloctap/event/event_sink.hpp"
#include "alloctap/hook/hooked_function.hpp"
#include "alloctap/os/windows/api.hpp"

namespace alloctap {

/// Kind of function: selects the handler.
enum class WindowsRole : std::uint8_t {
  kAllocateBlock,
  kReallocateBlock,
  kFreeBlock,
  kMakeHeap,
  kDestroyHeap,
  kMeasureBlock,
  kLookAtBlock,
  kAllocatePages,
  kFreePages,
  kMapView,
  kUnmapView,
};

/// Variables in which a call stores the address and size in bytes of the allocated pages.
struct PagesRequest {
  HANDLE process = nullptr;
  void** address = nullptr;
  SIZE_T* bytes = nullptr;
  /// False if the call only reserves address space.
  bool is_memory = true;
};

namespace ntdll {

struct RtlAllocateHeap {
  static constexpr const char* name = "RtlAllocateHeap";
  static constexpr WindowsRole role = WindowsRole::kAllocateBlock;
  using Signature = void*(HANDLE heap, ULONG flags, SIZE_T bytes);
};

struct RtlReAllocateHeap {
  static constexpr const char* name = "RtlReAllocateHeap";
  static constexpr WindowsRole role = WindowsRole::kReallocateBlock;
  using Signature = void*(HANDLE heap, ULONG flags, void* block, SIZE_T bytes);
};

/// The result is a BOOLEAN on some systems and a ULONG on others, so all bits are passed on.
struct RtlFreeHeap {
  static constexpr const char* name = "RtlFreeHeap";
  static constexpr WindowsRole role = WindowsRole::kFreeBlock;
  using Signature = ULONG_PTR(HANDLE heap, ULONG flags, void* block);
};

struct RtlCreateHeap {
  static constexpr const char* name = "RtlCreateHeap";
  static constexpr WindowsRole role = WindowsRole::kMakeHeap;
  using Signature = HANDLE(ULONG flags, void* base, SIZE_T reserve, SIZE_T commit, void* lock,
                           void* parameters);
};

struct RtlDestroyHeap {
  static constexpr const char* name = "RtlDestroyHeap";
  static constexpr WindowsRole role = WindowsRole::kDestroyHeap;
  using Signature = HANDLE(HANDLE heap);
};

struct RtlSizeHeap {
  static constexpr const char* name = "RtlSizeHeap";
  static constexpr WindowsRole role = WindowsRole::kMeasureBlock;
  using Signature = SIZE_T(HANDLE heap, ULONG flags, const void* block);
};

/// The result is a BOOLEAN on some systems and a ULONG on others, so all bits are passed on.
struct RtlValidateHeap {
  static constexpr const char* name = "RtlValidateHeap";
  static constexpr WindowsRole role = WindowsRole::kLookAtBlock;
  using Signature = ULONG_PTR(HANDLE heap, ULONG flags, void* block);
};

struct RtlGetUserInfoHeap {
  static constexpr const char* name = "RtlGetUserInfoHeap";
  static constexpr WindowsRole role = WindowsRole::kLookAtBlock;
  using Signature = ULONG_PTR(HANDLE heap, ULONG flags, void* block, void** value,
                              ULONG* user_flags);
};

struct RtlSetUserValueHeap {
  static constexpr const char* name = "RtlSetUserValueHeap";
  static constexpr WindowsRole role = WindowsRole::kLookAtBlock;
  using Signature = ULONG_PTR(HANDLE heap, ULONG flags, void* block, void* value);
};

struct RtlSetUserFlagsHeap {
  static constexpr const char* name = "RtlSetUserFlagsHeap";
  static constexpr WindowsRole role = WindowsRole::kLookAtBlock;
  using Signature = ULONG_PTR(HANDLE heap, ULONG flags, void* block, ULONG clear, ULONG set);
};

struct NtAllocateVirtualMemory {
  static constexpr const char* name = "NtAllocateVirtualMemory";
  static constexpr WindowsRole role = WindowsRole::kAllocatePages;
  using Signature = NTSTATUS(HANDLE process, void** address, ULONG_PTR zero_bits, SIZE_T* bytes,
                             ULONG type, ULONG protection);
  static PagesRequest request(HANDLE process, void** address, ULONG_PTR, SIZE_T* bytes, ULONG type,
                              ULONG) noexcept {
    return {process, address, bytes, (type & MEM_COMMIT) != 0};
  }
};

struct NtAllocateVirtualMemoryEx {
  static constexpr const char* name = "NtAllocateVirtualMemoryEx";
  static constexpr WindowsRole role = WindowsRole::kAllocatePages;
  using Signature = NTSTATUS(HANDLE process, void** address, SIZE_T* bytes, ULONG type,
                             ULONG protection, void* parameters, ULONG parameter_count);
  static PagesRequest request(HANDLE process, void** address, SIZE_T* bytes, ULONG type, ULONG,
                              void*, ULONG) noexcept {
    return {process, address, bytes, (type & MEM_COMMIT) != 0};
  }
};

struct NtFreeVirtualMemory {
  static constexpr const char* name = "NtFreeVirtualMemory";
  static constexpr WindowsRole role = WindowsRole::kFreePages;
  using Signature = NTSTATUS(HANDLE process, void** address, SIZE_T* bytes, ULONG type);
};

struct NtMapViewOfSection {
  static constexpr const char* name = "NtMapViewOfSection";
  static constexpr WindowsRole role = WindowsRole::kMapView;
  using Signature = NTSTATUS(HANDLE section, HANDLE process, void** address, ULONG_PTR zero_bits,
                             SIZE_T commit, LARGE_INTEGER* offset, SIZE_T* bytes, ULONG inherit,
                             ULONG type, ULONG protection);
  static PagesRequest request(HANDLE, HANDLE process, void** address, ULONG_PTR, SIZE_T,
                              LARGE_INTEGER*, SIZE_T* bytes, ULONG, ULONG, ULONG) noexcept {
    return {process, address, bytes};
  }
};

struct NtMapViewOfSectionEx {
  static constexpr const char* name = "NtMapViewOfSectionEx";
  static constexpr WindowsRole role = WindowsRole::kMapView;
  using Signature = NTSTATUS(HANDLE section, HANDLE process, void** address, LARGE_INTEGER* offset,
                             SIZE_T* bytes, ULONG type, ULONG protection, void* parameters,
                             ULONG parameter_count);
  static PagesRequest request(HANDLE, HANDLE process, void** address, LARGE_INTEGER*, SIZE_T* bytes,
                              ULONG, ULONG, void*, ULONG) noexcept {
    return {process, address, bytes};
  }
};

struct NtUnmapViewOfSection {
  static constexpr const char* name = "NtUnmapViewOfSection";
  static constexpr WindowsRole role = WindowsRole::kUnmapView;
  using Signature = NTSTATUS(HANDLE process, void* address);
};

struct NtUnmapViewOfSectionEx {
  static constexpr const char* name = "NtUnmapViewOfSectionEx";
  static constexpr WindowsRole role = WindowsRole::kUnmapView;
  using Signature = NTSTATUS(HANDLE process, void* address, ULONG flags);
};

}  // namespace ntdll

/// Functions that allocate and free. Some Windows versions lack functions whose name ends in Ex.
using WindowsFunctions =
    FunctionList<ntdll::RtlAllocateHeap, ntdll::RtlReAllocateHeap, ntdll::RtlFreeHeap,
                 ntdll::RtlCreateHeap, ntdll::RtlDestroyHeap, ntdll::NtAllocateVirtualMemory,
                 ntdll::NtAllocateVirtualMemoryEx, ntdll::NtFreeVirtualMemory,
                 ntdll::NtMapViewOfSection, ntdll::NtMapViewOfSectionEx,
                 ntdll::NtUnmapViewOfSection, ntdll::NtUnmapViewOfSectionEx>;

/// Functions that take a block's address. A checked block's address differs from the heap block's.
using WindowsBlockFunctions =
    FunctionList<ntdll::RtlSizeHeap, ntdll::RtlValidateHeap, ntdll::RtlGetUserInfoHeap,
                 ntdll::RtlSetUserValueHeap, ntdll::RtlSetUserFlagsHeap>;

/// Originals of the functions of ntdll.dll, and flags that control their handlers. Thread-safe;
/// readable inside malloc.
template <EventSink Sink>
class WindowsOriginals : public OriginalFunctions<WindowsOriginals<Sink>> {
 public:
  /// Returns true while a tracker records. Otherwise handlers report nothing.
  static bool recording() noexcept { return recording_.load(std::memory_order_acquire); }
  static void set_recording(bool on) noexcept { recording_.store(on, std::memory_order_release); }

  /// Returns true if a `CheckingSink` checks blocks. Checking begins when all entries are
  /// installed. It never ends, because live checked blocks may begin inside a heap block, and must
  /// be freed through the hook.
  static bool checking() noexcept { return checking_.load(std::memory_order_acquire); }
  static void begin_checking() noexcept { checking_.store(true, std::memory_order_release); }

 private:
  static inline constinit std::atomic<bool> recording_{false};
  static inline constinit std::atomic<bool> checking_{false};
};

}  // namespace alloctap
