/// Makes code pages temporarily writable.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloctap/hook/inline/patch_record.hpp"
#include "alloctap/os/memory_protection.hpp"
#include "alloctap/os/virtual_memory.hpp"

namespace alloctap {

/// Write access to the pages that a patch changes. The pages stay executable meanwhile, because
/// other threads run them. `restore` restores their exact protection.
class WritableText {
 public:
  explicit WritableText(const PatchRecord& record) noexcept : record_(record) {}

  [[nodiscard]] bool make() const noexcept {
    if (!protect(first(), writable(record_.first_page))) return false;
    if (last() == first() || protect(last(), writable(record_.last_page))) return true;
    static_cast<void>(protect(first(), record_.first_page));
    return false;
  }

  [[nodiscard]] bool restore() const noexcept {
    const bool restored = protect(first(), record_.first_page);
    return (last() == first() || protect(last(), record_.last_page)) && restored;
  }

 private:
  [[nodiscard]] std::uintptr_t first() const noexcept { return page_of(record_.patch.start()); }
  [[nodiscard]] std::uintptr_t last() const noexcept { return page_of(record_.patch.end() - 1); }

  static std::uintptr_t page_of(std::uintptr_t address) noexcept {
    return address & ~(os::page_size() - 1);
  }
  static os::Protection writable(os::Protection protection) noexcept {
    protection.writable = true;
    return protection;
  }
  static bool protect(std::uintptr_t page, os::Protection protection) noexcept {
    return os::protect_pages(page, os::page_size(), protection);
  }

  const PatchRecord& record_;
};

}  // namespace alloctap
