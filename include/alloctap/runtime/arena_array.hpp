/// A growable array in the tracker's arena.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

#include "alloctap/macros.hpp"
#include "alloctap/runtime/arena.hpp"

namespace alloctap {

/// The code of `ArenaArray` that does not depend on the element type. It is compiled only once.
class ArenaStorage {
 public:
  constexpr ArenaStorage() noexcept = default;
  ArenaStorage(ArenaStorage&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  ArenaStorage& operator=(ArenaStorage&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }

  void clear() noexcept { size_ = 0; }
  /// Removes the elements at index `size` and above.
  void shrink(std::size_t size) noexcept { size_ = std::min(size, size_); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

 protected:
  ~ArenaStorage() = default;

  void release(std::size_t element_bytes) noexcept {
    if (data_ != nullptr) Arena::deallocate(data_, capacity_ * element_bytes);
  }

  /// Moves the elements to new memory for `capacity` elements. Returns false if out of memory.
  [[nodiscard]] ALLOCTAP_NOINLINE bool move_to(std::size_t capacity,
                                               std::size_t element_bytes) noexcept {
    void* const data = Arena::allocate_dense(capacity * element_bytes);
    if (data == nullptr) return false;
    if (size_ > 0) std::memcpy(data, data_, size_ * element_bytes);
    release(element_bytes);
    data_ = data;
    capacity_ = capacity;
    return true;
  }

  void* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

/// An array of trivially copyable values, like std::vector, but reports out of memory as a result.
/// Move-only; constant-initialized when empty. Not thread-safe; may be used inside malloc.
template <class T>
class ArenaArray : public ArenaStorage {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  constexpr ArenaArray() noexcept = default;
  ArenaArray(ArenaArray&&) noexcept = default;
  ArenaArray& operator=(ArenaArray&&) noexcept = default;
  ~ArenaArray() { release(sizeof(T)); }

  /// Appends `value`. Returns false without changes if out of memory.
  [[nodiscard]] bool push_back(const T& value) noexcept {
    if (size_ == capacity_ && !reserve(capacity_ == 0 ? kFirstCapacity : capacity_ * 2)) {
      return false;
    }
    data()[size_++] = value;
    return true;
  }

  /// Grows the capacity to at least `capacity` elements. Returns false if out of memory.
  [[nodiscard]] bool reserve(std::size_t capacity) noexcept {
    return capacity <= capacity_ || move_to(capacity, sizeof(T));
  }

  /// Sets the size to `size`; new elements are value-initialized. The capacity grows geometrically.
  /// Returns false without changes if out of memory.
  [[nodiscard]] bool resize(std::size_t size) noexcept {
    if (!grow_to(size)) return false;
    for (std::size_t i = size_; i < size; ++i) data()[i] = T{};
    size_ = size;
    return true;
  }

  /// Like `resize`, but leaves new elements uninitialized.
  [[nodiscard]] bool resize_for_overwrite(std::size_t size) noexcept {
    if (!grow_to(size)) return false;
    size_ = size;
    return true;
  }

  T& operator[](std::size_t index) noexcept { return data()[index]; }
  const T& operator[](std::size_t index) const noexcept { return data()[index]; }
  T* begin() noexcept { return data(); }
  T* end() noexcept { return data() + size_; }
  const T* begin() const noexcept { return data(); }
  const T* end() const noexcept { return data() + size_; }
  T* data() noexcept { return static_cast<T*>(data_); }
  const T* data() const noexcept { return static_cast<const T*>(data_); }
  T& back() noexcept { return data()[size_ - 1]; }

 private:
  static constexpr std::size_t kFirstCapacity = 16;

  [[nodiscard]] bool grow_to(std::size_t size) noexcept {
    return size <= capacity_ || reserve(std::max(size, capacity_ * 2));
  }
};

}  // namespace alloctap
