#include "name_cache.hpp"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <alloctap/os/thread.hpp>
#include <alloctap/os/thread_local.hpp>
#include <alloctap/runtime/arena.hpp>
#include <alloctap/symbol/module_table.hpp>
#include <array>
#include <atomic>
#include <climits>
#include <cstring>

namespace alloctap::run {
namespace {

constexpr std::size_t kSlots = 1 << 16;
constexpr std::size_t kMaxProbes = 32;
constexpr std::size_t kRecordBytes = 30 << 20;

struct Slot {
  /// 0 if the slot is free.
  std::atomic<std::uint64_t> key;
  /// The position of the record, plus one; 0 until it is written.
  std::atomic<std::uint32_t> record;
};

/// All zero when the system maps it.
struct Table {
  /// The thread that is finding names; 0 if there is none.
  std::atomic<std::uint32_t> turn;
  std::atomic<std::uint32_t> used_bytes;
  std::array<Slot, kSlots> slots;
  /// For each address the number of its frames; for each frame a `FrameHeader` and two texts.
  std::array<char, kRecordBytes> records;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

struct FrameHeader {
  std::uint32_t line = 0;
  std::uint32_t function_bytes = 0;
  std::uint32_t file_bytes = 0;
};

constinit Table* table = nullptr;

/// FNV-1a of 64 bits, with words in the place of bytes.
class Hash {
 public:
  void add(std::uint64_t word) noexcept {
    value_ = (value_ ^ word) * 0x100000001b3;
    value_ ^= value_ >> 32;
  }
  void add(std::string_view text) noexcept {
    for (const char c : text) add(static_cast<unsigned char>(c));
  }
  [[nodiscard]] std::uint64_t value() const noexcept { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

/// Returns a key that is neither 0 nor, for the scan of memory, an address.
std::uint64_t key_of(const CodeAddress& code) noexcept {
  constexpr std::uint64_t kNoAddress = std::uint64_t{1} << 63;
  Hash hash;
  if (code.module != nullptr) {
    hash.add(code.module->path);
    hash.add({reinterpret_cast<const char*>(code.module->build_id), code.module->build_id_bytes});
    hash.add(code.module->bias);
  }
  hash.add(code.address);
  return hash.value() | kNoAddress;
}

/// Returns the slot of `key`, or a free one for it, or nullptr.
Slot* find_slot(std::uint64_t key) noexcept {
  for (std::size_t i = 0; i < kMaxProbes; ++i) {
    Slot& slot = table->slots[(key + i) % kSlots];
    const std::uint64_t found = slot.key.load(std::memory_order_acquire);
    if (found == key || found == 0) return &slot;
  }
  return nullptr;
}

template <class T>
T take(const char*& next) noexcept {
  T value;
  std::memcpy(&value, next, sizeof value);
  next += sizeof value;
  return value;
}

std::string_view take_text(const char*& next, std::size_t bytes) noexcept {
  const std::string_view text(next, bytes);
  next += bytes;
  return text;
}

void put(char*& next, const void* bytes, std::size_t count) noexcept {
  std::memcpy(next, bytes, count);
  next += count;
}

std::size_t record_bytes(std::span<const SourceFrame> frames) noexcept {
  std::size_t bytes = sizeof(std::uint32_t);
  for (const SourceFrame& frame : frames) {
    bytes += sizeof(FrameHeader) + frame.function.size() + frame.file.size();
  }
  return bytes;
}

void write_record(char* next, std::span<const SourceFrame> frames) noexcept {
  const auto count = static_cast<std::uint32_t>(frames.size());
  put(next, &count, sizeof count);
  for (const SourceFrame& frame : frames) {
    const FrameHeader header{.line = frame.line,
                             .function_bytes = static_cast<std::uint32_t>(frame.function.size()),
                             .file_bytes = static_cast<std::uint32_t>(frame.file.size())};
    put(next, &header, sizeof header);
    put(next, frame.function.data(), frame.function.size());
    put(next, frame.file.data(), frame.file.size());
  }
}

/// Returns false if there is no room.
bool reserve_record(std::size_t bytes, std::uint32_t& start) noexcept {
  start = table->used_bytes.load(std::memory_order_relaxed);
  do {
    if (bytes > kRecordBytes - start) return false;
  } while (!table->used_bytes.compare_exchange_weak(
      start, start + static_cast<std::uint32_t>(bytes), std::memory_order_relaxed));
  return true;
}

/// Returns false after two seconds without a change. os/futex.hpp works within one process only.
bool wait_for_change(std::uint32_t turn) noexcept {
  constexpr timespec kTimeoutNs{.tv_sec = 2, .tv_nsec = 0};
  ::syscall(SYS_futex, &table->turn, FUTEX_WAIT, turn, &kTimeoutNs);
  return table->turn.load() != turn;
}

}  // namespace

void NameCache::create() noexcept {
  const os::ErrnoGuard preserve_error;
  const long pages = ::syscall(SYS_mmap, nullptr, sizeof(Table), PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
  if (pages == -1) return;
  table = reinterpret_cast<Table*>(pages);
  ArenaRegions::add(table, sizeof(Table));
}

bool NameCache::exists() noexcept { return table != nullptr; }

bool NameCache::find(const CodeAddress& code, std::size_t place, Symbols& symbols) noexcept {
  const std::uint64_t key = key_of(code);
  const Slot* const slot = find_slot(key);
  if (slot == nullptr || slot->key.load(std::memory_order_relaxed) != key) return false;
  const std::uint32_t record = slot->record.load(std::memory_order_acquire);
  if (record == 0) return false;
  const char* next = table->records.data() + record - 1;
  for (auto left = take<std::uint32_t>(next); left > 0; --left) {
    const auto header = take<FrameHeader>(next);
    const std::string_view function = take_text(next, header.function_bytes);
    const std::string_view file = take_text(next, header.file_bytes);
    symbols.add(place, {.function = function, .file = file, .line = header.line});
  }
  return true;
}

void NameCache::add(const CodeAddress& code, std::span<const SourceFrame> frames) noexcept {
  const std::uint64_t key = key_of(code);
  Slot* const slot = find_slot(key);
  std::uint64_t found = 0;
  std::uint32_t start = 0;
  if (slot == nullptr || !slot->key.compare_exchange_strong(found, key) ||
      !reserve_record(record_bytes(frames), start)) {
    return;
  }
  write_record(table->records.data() + start, frames);
  slot->record.store(start + 1, std::memory_order_release);
}

bool NameCache::take_turn() noexcept {
  const os::ErrnoGuard preserve_error;
  std::uint32_t holder = 0;
  const auto mine = static_cast<std::uint32_t>(os::current_thread_id());
  if (table->turn.compare_exchange_strong(holder, mine)) return true;
  return !wait_for_change(holder) && table->turn.compare_exchange_strong(holder, mine);
}

void NameCache::end_turn() noexcept {
  const os::ErrnoGuard preserve_error;
  auto mine = static_cast<std::uint32_t>(os::current_thread_id());
  table->turn.compare_exchange_strong(mine, 0);
  ::syscall(SYS_futex, &table->turn, FUTEX_WAKE, INT_MAX);
}

}  // namespace alloctap::run
