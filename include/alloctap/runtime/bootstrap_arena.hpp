/// A static bump allocator for calls during which the program's allocator must not be called.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace alloctap {

/// A bump allocator in a static buffer; its memory is never reused.
///
/// Serves dlsym while hooks resolve the original functions, and the tracker while the program's
/// allocator may be locked (`UseInternalArena`). Hooks check each freed pointer with `owns`, so any
/// code may free blocks of the buffer. Thread-safe; runs inside malloc.
class BootstrapArena {
 public:
  static constexpr std::size_t kBytes = 256 * 1024;
  static constexpr std::size_t kAlignment = 16;

  /// Returns `bytes` zeroed bytes, aligned to `alignment` (a power of two); nullptr if exhausted.
  [[nodiscard]] static void* allocate(std::size_t bytes,
                                      std::size_t alignment = kAlignment) noexcept {
    if (bytes > kBytes || alignment > kBytes) return nullptr;
    const std::size_t padding = alignment > kAlignment ? alignment : 0;
    const std::size_t whole = sizeof(Header) + padding + round_up(bytes, kAlignment);
    std::size_t offset = used_.load(std::memory_order_relaxed);
    do {
      if (kBytes - offset < whole) return nullptr;
    } while (!used_.compare_exchange_weak(offset, offset + whole, std::memory_order_relaxed));
    const auto base = reinterpret_cast<std::uintptr_t>(buffer_.data()) + offset + sizeof(Header);
    const std::uintptr_t address = round_up(base, alignment < kAlignment ? kAlignment : alignment);
    reinterpret_cast<Header*>(address)[-1].bytes = bytes;
    return reinterpret_cast<void*>(address);
  }

  /// Returns whether `pointer` lies in the buffer, by one comparison, cheap enough for every free.
  [[nodiscard]] static bool owns(const void* pointer) noexcept {
    return reinterpret_cast<std::uintptr_t>(pointer) -
               reinterpret_cast<std::uintptr_t>(buffer_.data()) <
           kBytes;
  }

  [[nodiscard]] static std::span<const std::byte> extent() noexcept { return buffer_; }

  /// Returns the requested size of a block. Precondition: `owns(pointer)`.
  [[nodiscard]] static std::size_t size_of(const void* pointer) noexcept {
    return static_cast<const Header*>(pointer)[-1].bytes;
  }

 private:
  struct alignas(kAlignment) Header {
    std::size_t bytes;
  };

  static constexpr std::size_t round_up(std::size_t value, std::size_t alignment) noexcept {
    return (value + alignment - 1) & ~(alignment - 1);
  }

  alignas(4096) static inline constinit std::array<std::byte, kBytes> buffer_{};
  static inline constinit std::atomic<std::size_t> used_{0};
};

}  // namespace alloctap
