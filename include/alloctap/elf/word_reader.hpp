/// The concept of a stack reader for unwind table interpreters, and a type-erased reference to one.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace alloctap::elf {

/// A callable that reads the word at an address, aligned or not. Returns false if the word is not
/// readable, or if the reader finds that the word is not in the stack.
template <class Reader>
concept WordReader = requires(Reader& reader, std::uintptr_t address, std::uintptr_t& word) {
  { reader(address, word) } noexcept -> std::same_as<bool>;
};

/// A non-owning, type-erased reference to a `WordReader`. It keeps the large table interpreters
/// from being instantiated for each kind of memory.
class WordReaderRef {
 public:
  template <class Reader>
    requires(WordReader<std::remove_reference_t<Reader>> &&
             !std::is_function_v<std::remove_reference_t<Reader>> &&
             !std::same_as<std::remove_cvref_t<Reader>, WordReaderRef>)
  // NOLINTNEXTLINE(google-explicit-constructor): converts implicitly, like std::function_ref
  WordReaderRef(Reader&& reader) noexcept
      : reader_(const_cast<void*>(static_cast<const void*>(&reader))),
        read_(&read_by<std::remove_reference_t<Reader>>) {}

  bool operator()(std::uintptr_t address, std::uintptr_t& word) const noexcept {
    return read_(reader_, address, word);
  }

 private:
  using Read = bool (*)(void*, std::uintptr_t, std::uintptr_t&) noexcept;

  template <class Reader>
  static bool read_by(void* reader, std::uintptr_t address, std::uintptr_t& word) noexcept {
    return (*static_cast<Reader*>(reader))(address, word);
  }

  void* reader_;
  Read read_;
};

}  // namespace alloctap::elf
