// Feeds bytes to all that reads unwind tables, as a module's memory, as call frame instructions or
// as an expression. What is read lies in a block of exactly its size, so that AddressSanitizer sees
// every byte too far; what comes out is checked for what callers rely on.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>

#include "alloctap/elf/call_frame_step.hpp"
#include "alloctap/elf/find_row.hpp"

namespace {

using namespace alloctap::elf;

void require(bool holds) {
  if (!holds) std::abort();
}

/// A copy of the input behind which nothing may be read.
class Image {
 public:
  explicit Image(std::span<const std::uint8_t> input)
      : bytes_(new std::byte[input.size()]), size_(input.size()) {
    if (size_ != 0) std::memcpy(bytes_.get(), input.data(), size_);
  }

  [[nodiscard]] std::span<const std::byte> span() const { return {bytes_.get(), size_}; }
  [[nodiscard]] std::uintptr_t low() const {
    return reinterpret_cast<std::uintptr_t>(bytes_.get());
  }

  /// The image is also the stack.
  bool read_word(std::uintptr_t address, std::uintptr_t& word) const noexcept {
    const std::uintptr_t offset = address - low();
    if (size_ < sizeof word || offset > size_ - sizeof word) return false;
    std::memcpy(&word, bytes_.get() + offset, sizeof word);
    return true;
  }

  /// Some registers are known, and point into the image.
  [[nodiscard]] RegisterFile registers() const {
    RegisterFile registers;
    for (const std::size_t number : {0U, 3U, 6U, 7U, 12U, 16U}) {
      registers.set(number, low() + 8 * number);
    }
    return registers;
  }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  std::size_t size_;
};

void step(const Image& image, const CallFrameRow& row) {
  const auto read_word = [&image](std::uintptr_t address, std::uintptr_t& word) noexcept {
    return image.read_word(address, word);
  };
  const CallFrameStep caller = step_to_caller(row, image.registers(), read_word);
  if (caller.outcome != CallFrameStep::Outcome::kCaller) return;
  require(caller.pc != 0);
  constexpr unsigned kSp = alloctap::arch::DwarfRegisters::kStackPointer;
  const bool is_plain = row.registers[kSp].kind == RegisterRule::Kind::kUnspecified;
  require(!is_plain || caller.registers.get(kSp) == caller.cfa);
}

/// Rows follow one another from the beginning to the end.
void run_rows(const Image& image, const FrameDescription& description) {
  CallFrameInterpreter interpreter(description);
  std::uintptr_t reached = description.begin;
  while (interpreter.next()) {
    const CallFrameRow& row = interpreter.row();
    require(row.begin == reached && row.end > row.begin && row.end <= description.end);
    require(row.return_address_register < RegisterFile::kCount);
    reached = row.end;
    step(image, row);
  }
  require(interpreter.status() != UnwindStatus::kNoDescription);
  require(interpreter.status() != UnwindStatus::kFound || reached == description.end);
}

void find(const Image& image, const UnwindTables& tables, std::uintptr_t pc) {
  CallFrameRow row;
  RowSearch search;
  if (find_row(tables, pc, row, search) != UnwindStatus::kFound) return;
  require(row.begin <= pc && pc < row.end);
  step(image, row);
}

void run_tables(const Image& image, std::size_t header) {
  constexpr std::size_t kMaxEntries = 64;
  const std::size_t size = image.span().size();
  const UnwindTables tables{image.low() + (size == 0 ? 0 : header % size), image.low(),
                            image.low() + size};
  visit_frame_entries(tables, kMaxEntries, [&](std::uintptr_t, const FrameEntry& entry) {
    const auto description = decode_frame_description(tables, entry);
    if (!description) return true;
    run_rows(image, *description);
    find(image, tables, description->begin);
    find(image, tables, description->end - 1);
    return true;
  });
  for (std::uintptr_t pc = image.low(); pc < image.low() + size; pc += 1 + size / 16) {
    find(image, tables, pc);
  }
}

/// The first bytes are what a CIE would say.
void run_instructions(const Image& image) {
  ByteReader reader(image.span());
  FrameDescription description;
  description.common.code_alignment = reader.read<std::uint8_t>();
  description.common.data_alignment = reader.read<std::int8_t>();
  description.common.return_address_register = reader.read<std::uint8_t>() % 20U;
  description.common.pointer_encoding = reader.read<std::uint8_t>();
  description.begin = reader.read<std::uint16_t>();
  description.end = description.begin + reader.read<std::uint16_t>();
  description.common.instructions = reader.read_bytes(reader.read<std::uint8_t>());
  description.instructions = reader.rest();
  if (reader.ok()) run_rows(image, description);
}

void run_expression(const Image& image) {
  const auto read_word = [&image](std::uintptr_t address, std::uintptr_t& word) noexcept {
    return image.read_word(address, word);
  };
  const RegisterFile registers = image.registers();
  static_cast<void>(DwarfExpression(image.span(), registers, read_word).evaluate(image.low()));
}

}  // namespace

/// The first byte chooses what the others are; two more of tables say where their header is.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const std::span<const std::uint8_t> input(data, size);
  switch (data[0] % 4) {
    case 0:
      run_instructions(Image(input.subspan(1)));
      break;
    case 1:
      run_expression(Image(input.subspan(1)));
      break;
    default:
      run_tables(Image(input.subspan(3)), data[1] + 256U * data[2]);
  }
  return 0;
}
