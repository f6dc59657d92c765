// 12, 13, 15, 16, and input that is no function: each refused with its reason, and left as it was.
#include <absl/strings/escaping.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "alloctap/hook/inline/function_patch.hpp"
#include "alloctap/message_text.hpp"
#include "alloctap/os/memory_map.hpp"
#include "alloctap/os/memory_protection.hpp"
#include "alloctap/os/virtual_memory.hpp"
#include "alloctap/status.hpp"
#include "tests/contract/function_patch/targets.hpp"
#include "tests/support/address_space.hpp"

namespace {

using alloctap::FunctionPatch;
using alloctap::PatchTarget;
using alloctap::os::protect_pages;
using namespace alloctap::testing;

Target original = nullptr;
TARGET_ABI int add_thousand(int x, TargetHelper helper) {
  return call_target(original, x, helper) + 1000;
}
const void* const kReplacement = reinterpret_cast<const void*>(&add_thousand);

PatchTarget target_of(Target target, const std::byte* end, const char* name = "") {
  const auto* start = reinterpret_cast<const std::byte*>(target);
  return {.address = start, .bytes = static_cast<std::size_t>(end - start), .name = name};
}

/// The target and what lies behind it.
std::string memory_at(const PatchTarget& target) {
  return {static_cast<const char*>(target.address), target.bytes + 16};
}

void check_message(const alloctap::Status& status, const PatchTarget& target, const char* reason) {
  const std::string text(status.message());
  INFO(text);
  CHECK(text.starts_with(alloctap::join_text(
      "FunctionPatch: ", target.name, " at 0x",
      alloctap::hex_text(reinterpret_cast<std::uintptr_t>(target.address)), ", ")));
  const std::string bytes = absl::BytesToHexString(memory_at(target).substr(0, 16));
  CHECK(text.find(alloctap::join_text("bytes ", bytes, ": ")) != std::string::npos);
  CHECK(text.find(reason) != std::string::npos);
}

/// All that is free where a jump from `around` leads to, taken until this is destroyed.
class TakenMemory {
 public:
  explicit TakenMemory(const void* around) {
    const std::uintptr_t reach = kBranchReach;
    const std::uintptr_t place = reinterpret_cast<std::uintptr_t>(around) & ~(kAddressStep - 1);
    const std::uintptr_t end = place + reach + kAddressStep;
    std::vector<std::pair<std::uintptr_t, std::uintptr_t>> gaps;
    std::uintptr_t at = place > reach ? place - reach : 1 << 16;
    std::array<char, std::size_t{1} << 16> buffer{};
    alloctap::os::visit_memory_map(buffer, [&](const alloctap::os::MemoryRegion& region) {
      if (region.start > at) gaps.emplace_back(at, std::min(region.start, end));
      if (region.reserved) gaps.emplace_back(region.start, region.end);
      at = std::max(at, (region.end + kAddressStep - 1) & ~(kAddressStep - 1));
      return at < end;
    });
    if (at < end) gaps.emplace_back(at, end);
    for (const auto& [from, to] : gaps) take(from, to);
  }
  ~TakenMemory() {
    for (const auto& [start, bytes] : taken_) give_addresses_back(start, bytes);
  }
  TakenMemory(const TakenMemory&) = delete;
  TakenMemory& operator=(const TakenMemory&) = delete;

 private:
  /// In halves where something is mapped that the system does not tell of: an emulator's own.
  void take(std::uintptr_t from, std::uintptr_t to) {
    if (take_addresses(from, to - from)) {
      taken_.emplace_back(from, to - from);
      return;
    }
    if (to - from <= kAddressStep) return;
    const std::uintptr_t middle = from + (to - from) / kAddressStep / 2 * kAddressStep;
    take(from, middle);
    take(middle, to);
  }
  std::vector<std::pair<std::uintptr_t, std::size_t>> taken_;
};

/// A jump as another tool writes it over a function, and takes away again.
class OtherTool {
 public:
  explicit OtherTool(Target target) : code_(reinterpret_cast<unsigned char*>(target)) {
    std::memcpy(kept_.data(), code_, kept_.size());
  }
  void jump_to(Target destination) const {
    write(jump_bytes(reinterpret_cast<std::uintptr_t>(code_),
                     reinterpret_cast<std::uintptr_t>(destination)));
  }
  void restore() const { write(kept_); }
  const JumpBytes& kept() const { return kept_; }
  JumpBytes now() const {
    JumpBytes bytes{};
    std::memcpy(bytes.data(), code_, bytes.size());
    return bytes;
  }

 private:
  void write(const JumpBytes& bytes) const {
    const std::uintptr_t page = reinterpret_cast<std::uintptr_t>(code_) & ~std::uintptr_t{4095};
    protect_pages(page, 8192, {.readable = true, .writable = true, .executable = true});
    std::memcpy(code_, bytes.data(), bytes.size());
    auto* const first = reinterpret_cast<char*>(code_);
    __builtin___clear_cache(first, first + bytes.size());
    protect_pages(page, 8192, {.readable = true, .executable = true});
  }
  unsigned char* code_;
  JumpBytes kept_{};
};

TARGET_ABI int other_replacement(int x, TargetHelper) { return x + 500; }

}  // namespace

TEST_CASE("what cannot be patched is refused by name, address, bytes and reason, and not touched") {
  struct Row {
    PatchTarget target;
    const char* reason;
  };
#define REFUSED(name, reason) {target_of(&target_##name, target_##name##_end, #name), reason},
  const Row rows[] = {REFUSED_TARGETS(REFUSED)};
#undef REFUSED
  for (const Row& row : rows) {
    const std::string before = memory_at(row.target);
    const auto patch = FunctionPatch::prepare(row.target, kReplacement);
    CHECK(patch.status().code() == alloctap::StatusCode::kUnimplemented);
    check_message(patch.status(), row.target, row.reason);
    CHECK(memory_at(row.target) == before);
  }
}

TEST_CASE("what is no code is refused, and not touched") {
  static int number = 7;
  const auto refuse = [](const PatchTarget& target) {
    const auto patch = FunctionPatch::prepare(target, kReplacement);
    CHECK(patch.status().code() == alloctap::StatusCode::kInvalidArgument);
    return patch.status();
  };
  const PatchTarget data{.address = &number, .bytes = 4, .name = "data"};
  check_message(refuse(data), data, "its memory is not executable");
  CHECK(number == 7);
  const PatchTarget nameless{.address = target_many + 3, .name = "no symbol"};
  const std::string before = memory_at(nameless);
  check_message(refuse(nameless), nameless, "no exported symbol tells its length; state it");
  CHECK(memory_at(nameless) == before);
}

TEST_CASE("what is not mapped, wholly or in part, or cannot be read is refused") {
  constexpr std::size_t kBytes = kAddressStep;
  std::byte* const pages = map_code_before_gap();
  REQUIRE(pages != nullptr);
  std::memset(pages, 0x90, kBytes);
  const auto refusal = [](const void* address, std::size_t bytes) {
    const PatchTarget target{.address = address, .bytes = bytes, .name = "x"};
    const auto patch = FunctionPatch::prepare(target, kReplacement);
    CHECK(patch.status().code() == alloctap::StatusCode::kInvalidArgument);
    const std::string text(patch.status().message());
    CHECK(text.starts_with(
        alloctap::join_text("FunctionPatch: x at 0x",
                            alloctap::hex_text(reinterpret_cast<std::uintptr_t>(address)), ", ")));
    return text;
  };
  CHECK(refusal(nullptr, 10).ends_with("no bytes: nothing is mapped there"));
  CHECK(refusal(pages + kBytes, 10).ends_with("no bytes: nothing is mapped there"));
  CHECK(refusal(pages + kBytes - 4, 10).ends_with("bytes 90909090: nothing is mapped there"));
  // A processor without protection keys lets it be read all the same.
  REQUIRE(protect_pages(reinterpret_cast<std::uintptr_t>(pages), kBytes, {.executable = true}));
  CHECK(refusal(pages, 10).find("its memory cannot be read") != std::string::npos);
  alloctap::os::unmap_pages(pages, kBytes);
}

TEST_CASE("without free memory in reach there is an error, and with it there is none") {
  const PatchTarget target = target_of(&target_unreachable, target_unreachable_end, "far from all");
  const std::string before = memory_at(target);
  {
    const TakenMemory taken(target.address);
    const auto patch = FunctionPatch::prepare(target, kReplacement);
    CHECK(patch.status().code() == alloctap::StatusCode::kResourceExhausted);
    check_message(patch.status(), target,
                  "no memory is free where a jump would reach it; patch it ");
    CHECK(memory_at(target) == before);
    CHECK(call_target(&target_unreachable, 1, nullptr) == 8);
  }
  CHECK(FunctionPatch::prepare(target, kReplacement).ok());
}

TEST_CASE("a function has one patch at a time, whatever it is called") {
  const PatchTarget target = target_of(&target_pushes, target_pushes_end, "alias");
  auto patch = FunctionPatch::prepare(target, kReplacement);
  REQUIRE(patch.ok());
  const auto second = FunctionPatch::prepare(target, kReplacement);
  CHECK(second.status().code() == alloctap::StatusCode::kAlreadyExists);
  original = patch->original(&target_pushes);
  REQUIRE(patch->enable().ok());
  CHECK(FunctionPatch::prepare(target, kReplacement).status().code() ==
        alloctap::StatusCode::kAlreadyExists);
  const FunctionPatch moved = *std::move(patch);
  CHECK(call_target(&target_pushes, 1, nullptr) == 1008);
}

TEST_CASE("another tool's jump is moved like any other; restored in either order, nothing breaks") {
  const OtherTool tool(&target_one_instruction);
  const PatchTarget target = target_of(&target_one_instruction, target_one_instruction_end);
  tool.jump_to(&other_replacement);
  auto patch = FunctionPatch::prepare(target, kReplacement);
  REQUIRE(patch.ok());
  original = patch->original(&target_one_instruction);
  REQUIRE(patch->enable().ok());
  CHECK(target_one_instruction(1, nullptr) == 1501);
  REQUIRE(patch->disable().ok());
  CHECK(target_one_instruction(1, nullptr) == 501);

  REQUIRE(patch->enable().ok());
  tool.restore();
  CHECK(patch->disable().code() == alloctap::StatusCode::kFailedPrecondition);
  CHECK(target_one_instruction(1, nullptr) == 8);
  CHECK(tool.now() == tool.kept());
}

TEST_CASE("bytes that changed since they were looked at are not patched") {
  const OtherTool tool(&target_landing_pad_one_instruction);
  auto patch = FunctionPatch::prepare(
      target_of(&target_landing_pad_one_instruction, target_landing_pad_one_instruction_end),
      kReplacement);
  REQUIRE(patch.ok());
  const OtherTool behind(reinterpret_cast<Target>(
      reinterpret_cast<std::uintptr_t>(&target_landing_pad_one_instruction) + 4));
  behind.jump_to(&other_replacement);
  CHECK(patch->enable().code() == alloctap::StatusCode::kFailedPrecondition);
  CHECK(target_landing_pad_one_instruction(1, nullptr) == 501);
  behind.restore();
  CHECK(patch->enable().ok());
}
