/// A libdwfl session for one module.
#pragma once

#include <elfutils/libdwfl.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#include "alloctap/symbol/libdw_files.hpp"
#include "alloctap/symbol/module_table.hpp"

namespace alloctap::libdw {

/// A libdwfl session that contains one module, loaded at the addresses that its file states. Not
/// thread-safe; allocates from the host.
class DebugModule {
 public:
  /// Opens the module. `get` returns nullptr if the module's file was deleted or replaced.
  explicit DebugModule(const Module& module) : session_(::dwfl_begin(&kCallbacks)) {
    OpenFile code = find_code_file(module);
    if (session_ == nullptr || !code.file.is_open()) return;
    constexpr bool kAtItsOwnAddresses = true;
    module_ = ::dwfl_report_elf(session_.get(), "", code.path.c_str(), code.file.descriptor(), 0,
                                kAtItsOwnAddresses);
    // On success, libdwfl owns the descriptor.
    if (module_ != nullptr) code.file.release();
    ::dwfl_report_end(session_.get(), nullptr, nullptr);
  }

  [[nodiscard]] Dwfl_Module* get() const noexcept { return module_; }

 private:
  struct End {
    void operator()(Dwfl* session) const noexcept { ::dwfl_end(session); }
  };

  /// The callback find_debuginfo for libdwfl. Returns a descriptor or -1, and a path that libdwfl
  /// frees. Replaces libdwfl's callback, which may contact debuginfod servers.
  static int find_debug_information(Dwfl_Module* module, void**, const char*, Dwarf_Addr,
                                    const char* path, const char* link, GElf_Word checksum,
                                    char** found) noexcept try {
    // libdwfl also calls this for supplementary files (DWARF 5, 7.3.6), whose links have no
    // checksum. libdw finds such files itself.
    if (link != nullptr && checksum == 0) return -1;
    const unsigned char* bits = nullptr;
    GElf_Addr place = 0;
    const int size = ::dwfl_module_build_id(module, &bits, &place);
    if (size <= 0 || path == nullptr) return -1;
    const BuildId id(reinterpret_cast<const std::byte*>(bits), static_cast<std::size_t>(size));
    OpenFile file = find_debug_file(id, path, link == nullptr ? "" : link);
    if (!file.file.is_open()) return -1;
    *found = ::strdup(file.path.c_str());
    return file.file.release();
  } catch (...) {
    return -1;
  }

  static constexpr Dwfl_Callbacks kCallbacks{.find_elf = &::dwfl_build_id_find_elf,
                                             .find_debuginfo = &find_debug_information,
                                             .section_address = &::dwfl_offline_section_address,
                                             .debuginfo_path = nullptr};

  std::unique_ptr<Dwfl, End> session_;
  Dwfl_Module* module_ = nullptr;
};

}  // namespace alloctap::libdw
