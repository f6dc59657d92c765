#include "program_environment.hpp"

#include <elf.h>

#include <alloctap/os/virtual_memory.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "final_report.hpp"
#include "loadable_program.hpp"

namespace alloctap::run {
namespace {

/// "NAME=VALUE" as this process got them; nullptr if they are not hidden.
constinit const char* hidden_preload = nullptr;
constinit char* hidden_settings = nullptr;

bool sets(const char* entry, std::string_view name) noexcept {
  return std::strncmp(entry, name.data(), name.size()) == 0 && entry[name.size()] == '=';
}

char* find(char* const* environment, std::string_view name) noexcept {
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    if (sets(*environment, name)) return *environment;
  }
  return nullptr;
}

/// Returns the entry that the program finds in the place of `entry`, or nullptr if it finds none.
/// `users_preload` is the user's own LD_PRELOAD, or nullptr.
char* without_settings(char* entry, char* users_preload) noexcept {
  if (sets(entry, kPreloadVariable)) return users_preload;
  const bool is_ours = sets(entry, kSettingsVariable) || sets(entry, kUsersPreloadVariable);
  return is_ours ? nullptr : entry;
}

/// The null pointer at the end of an environment, now and before entries were taken out.
struct Ends {
  char** now;
  char** before;
};

/// Takes the settings out of `environment` and restores the user's LD_PRELOAD.
Ends keep_users_entries(char** environment) noexcept {
  char* users = find(environment, kUsersPreloadVariable);
  // Its name ends in "LD_PRELOAD".
  if (users != nullptr) users += std::strlen(kUsersPreloadVariable) - std::strlen(kPreloadVariable);
  char** end = environment;
  char** entry = environment;
  for (; *entry != nullptr; ++entry) {
    char* const kept = without_settings(*entry, users);
    if (kept != nullptr) *end++ = kept;
  }
  *end = nullptr;
  return {.now = end, .before = entry};
}

bool has_settings(char* const* environment) noexcept {
  return find(environment, kSettingsVariable) != nullptr;
}

std::size_t whole_pages(std::size_t bytes) noexcept {
  const std::size_t page = os::page_size();
  return (bytes + page - 1) / page * page;
}

/// Some programs find the auxiliary vector (getauxval(3)) behind the first null pointer of the
/// environment. With two entries less, they first find one there that says it is to be ignored.
void keep_auxiliary_vector_findable(char** end, char** end_before) noexcept {
  if (end_before - end == 2) end[1] = reinterpret_cast<char*>(std::uintptr_t{AT_IGNORE});
}

/// Returns the path of the preloaded object, which is the first in LD_PRELOAD.
std::string_view own_object() noexcept {
  const std::string_view objects = hidden_preload + std::strlen(kPreloadVariable) + 1;
  return objects.substr(0, objects.find(':'));
}

/// Writes texts one behind the other, each ended by '\0'.
class TextWriter {
 public:
  explicit TextWriter(void* place) noexcept : next_(static_cast<char*>(place)) {}

  /// Writes one text of several parts; returns where it begins.
  template <class... Texts>
  char* write(Texts... texts) noexcept {
    char* const start = next_;
    (append(texts), ...);
    *next_++ = '\0';
    return start;
  }

 private:
  void append(std::string_view text) noexcept {
    std::memcpy(next_, text.data(), text.size());
    next_ += text.size();
  }

  char* next_;
};

/// An environment of the program with the settings added.
class FullEnvironment {
 public:
  explicit FullEnvironment(char* const* environment) noexcept
      : entries_(environment), users_(find(environment, kPreloadVariable)) {
    while (environment != nullptr && environment[count_] != nullptr) ++count_;
    if (users_ != nullptr) users_value_ = users_ + std::strlen(kPreloadVariable) + 1;
  }

  /// The size, in whole pages.
  [[nodiscard]] std::size_t bytes() const noexcept {
    constexpr std::size_t kNameBytes = 2 * sizeof kUsersPreloadVariable + 8;
    const std::size_t texts =
        kNameBytes + own_object().size() + 2 * users_value_.size() + library().size();
    return whole_pages(pointer_bytes() + texts);
  }

  /// Writes it to `place`, which has `bytes()` bytes.
  char** write(void* place) const noexcept {
    auto** const entries = static_cast<char**>(place);
    TextWriter text(static_cast<char*>(place) + pointer_bytes());
    char* const preload =
        text.write(kPreloadVariable, "=", own_object(), ":", users_value_, ":", library());
    char** next = entries;
    for (std::size_t i = 0; i < count_; ++i) {
      *next++ = entries_[i] == users_ ? preload : entries_[i];
    }
    *next++ = users_ == nullptr ? preload : text.write(kUsersPreloadVariable, "=", users_value_);
    *next++ = hidden_settings;
    *next = nullptr;
    return entries;
  }

 private:
  /// The library that the hook needs in front of the C library; may be empty.
  static std::string_view library() noexcept {
    return description_of(report_settings().hook.choice).needed_library;
  }

  [[nodiscard]] std::size_t pointer_bytes() const noexcept {
    constexpr std::size_t kAdded = 3;
    return (count_ + kAdded) * sizeof(char*);
  }

  char* const* entries_;
  std::size_t count_ = 0;
  /// The program's own LD_PRELOAD, if it has one.
  const char* users_;
  std::string_view users_value_;
};

/// Whether a program that this process becomes gets the settings. False if they are not hidden, and
/// in children.
bool passes_settings() noexcept { return hidden_settings != nullptr && report_owed(); }

void say_untracked(const char* path) noexcept {
  char line[512];
  std::snprintf(
      line, sizeof line,
      "'%.300s', which the program becomes, cannot be tracked: it is of another machine or "
      "C library, static, or setuid; there is no report",
      path);
  print_line(line);
}

}  // namespace

void hide_settings(char** environment) noexcept {
  if (find(environment, kPreloadVariable) == nullptr) return;
  hidden_preload = find(environment, kPreloadVariable);
  hidden_settings = find(environment, kSettingsVariable);
  const Ends ends = keep_users_entries(environment);
  keep_auxiliary_vector_findable(ends.now, ends.before);
}

bool depends_on_program(char* const* environment) noexcept {
  return passes_settings() || has_settings(environment);
}

PassedEnvironment::PassedEnvironment(const char* path, char* const* environment, Heir heir) noexcept
    : passed_(environment) {
  const bool is_followed = has_settings(environment);
  const bool is_to_be_tracked = is_followed || (heir == Heir::kSelf && passes_settings());
  if (!is_to_be_tracked) return;
  const bool is_loadable = path == nullptr || is_loadable_into(path);
  if (is_followed) {
    if (!is_loadable) take_settings_out();
  } else if (is_loadable) {
    add_settings();
  } else {
    say_untracked(path);
  }
}

void PassedEnvironment::add_settings() noexcept {
  const FullEnvironment full(passed_);
  bytes_ = full.bytes();
  memory_ = os::map_pages(bytes_);
  if (memory_ != nullptr) passed_ = full.write(memory_);
}

void PassedEnvironment::take_settings_out() noexcept {
  std::size_t count = 0;
  while (passed_[count] != nullptr) ++count;
  bytes_ = whole_pages((count + 1) * sizeof(char*));
  memory_ = os::map_pages(bytes_);
  if (memory_ == nullptr) return;
  auto** const kept = static_cast<char**>(memory_);
  std::memcpy(kept, passed_, (count + 1) * sizeof(char*));
  keep_users_entries(kept);
  passed_ = kept;
}

PassedEnvironment::~PassedEnvironment() noexcept {
  if (memory_ != nullptr) os::unmap_pages(memory_, bytes_);
}

}  // namespace alloctap::run
