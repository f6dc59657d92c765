#include "preload/standard_error.hpp"

#include <alloctap/os/windows/api.hpp>
#include <atomic>
#include <cstdint>

namespace alloctap::run {
namespace {

/// What file functions of alloctap call a descriptor; -1 where there is none.
constinit std::atomic<int> copy{-1};

}  // namespace

void note_standard_error() noexcept {
  HANDLE own = nullptr;
  const HANDLE process = ::GetCurrentProcess();
  const HANDLE original = ::GetStdHandle(STD_ERROR_HANDLE);
  if (original == nullptr || original == INVALID_HANDLE_VALUE) return;
  if (::DuplicateHandle(process, original, process, &own, 0, FALSE, DUPLICATE_SAME_ACCESS) == 0) {
    return;
  }
  copy = static_cast<int>(reinterpret_cast<std::intptr_t>(own));
}

void drop_standard_error() noexcept {
  const int mine = copy.exchange(-1);
  if (mine >= 0) ::CloseHandle(reinterpret_cast<HANDLE>(static_cast<std::intptr_t>(mine)));
}

int standard_error() noexcept { return copy; }

void note_standard_output() noexcept {}

int standard_output() noexcept { return -1; }

}  // namespace alloctap::run
