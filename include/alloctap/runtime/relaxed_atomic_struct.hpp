/// A struct that one thread writes and other threads copy without a data race.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace alloctap {

/// A struct stored as relaxed atomic words. A copy that races with a store may mix old and new
/// words, so it suits only data that tolerates mixing. Constant-initialized as zeros; may be used
/// inside malloc.
template <class T>
class RelaxedAtomicStruct {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  void store(const T& value) noexcept {
    std::array<std::uint64_t, kWords> words{};
    std::memcpy(words.data(), &value, sizeof(T));
    for (std::size_t i = 0; i < kWords; ++i) words_[i].store(words[i], std::memory_order_relaxed);
  }

  [[nodiscard]] T load() const noexcept {
    std::array<std::uint64_t, kWords> words;
    for (std::size_t i = 0; i < kWords; ++i) words[i] = words_[i].load(std::memory_order_relaxed);
    T value;
    std::memcpy(static_cast<void*>(&value), words.data(), sizeof(T));
    return value;
  }

 private:
  static constexpr std::size_t kWords = (sizeof(T) + 7) / 8;

  std::array<std::atomic<std::uint64_t>, kWords> words_{};
};

}  // namespace alloctap
