/// The bodies of snapshot/reach/reachability_scan.hpp.
#pragma once

#include "alloctap/macros.hpp"
#include "alloctap/snapshot/reach/reachability_scan.hpp"

namespace alloctap {

ALLOCTAP_INLINE ReachabilityScan::~ReachabilityScan() {
  frozen_.wait();
  if (results_ != nullptr) os::unmap_pages(results_, result_bytes_);
  if (stack_ != nullptr) Arena::deallocate_pages(stack_, os::kFreezeStack);
}

ALLOCTAP_INLINE Status ReachabilityScan::begin(const arch::RegisterValues& mine,
                                               bool all_blocks_known) {
  if (!tracker_.data.sampling.is_exact()) {
    return Status::failed_precondition(
        "leaks: a sampling policy leaves blocks out, so unreachable ones cannot be told from "
        "others; record every allocation, or ask for all that is live instead");
  }
  if (!os::may_copy_process()) {
    return Status::failed_precondition(
        "leaks: the program makes its children in another PID namespace, where a copy of it "
        "would "
        "have to be, too; ask for all that is live instead");
  }
  begun_ns_ = os::monotonic_ns();
  modules_ = ModuleTable::read();
  if (modules_.reading() == ModuleReading::kUnreadable) return no_memory_map();
  if (modules_.reading() == ModuleReading::kNoMemory || !prepare(mine)) return no_memory();
  order_.all_blocks_known = all_blocks_known;
  return freeze();
}

ALLOCTAP_INLINE Status ReachabilityScan::finish(Snapshot& snapshot) {
  frozen_.wait();
  using State = ScanResults::State;
  const State state = results_->state.load(std::memory_order_acquire);
  if (state == State::kNoMemory) return no_memory();
  if (state == State::kNoMemoryMap) return no_memory_map();
  if (state != State::kDone) {
    return Status::unavailable(
        "leaks: the copy of the process that was scanned ended before its time; something "
        "killed it, or memory that is a program's own could not be read");
  }
  add_to(snapshot);
  return Status();
}

ALLOCTAP_INLINE Status ReachabilityScan::no_memory() {
  return Status::resource_exhausted("leaks: the system has no memory for a scan");
}

ALLOCTAP_INLINE Status ReachabilityScan::no_memory_map() {
  return Status::unavailable(
      "leaks: the system does not describe the address space (/proc/self/maps); is /proc "
      "mounted?");
}

ALLOCTAP_INLINE bool ReachabilityScan::prepare(const arch::RegisterValues& mine) {
  stack_ = static_cast<std::byte*>(Arena::allocate_pages(os::kFreezeStack));
  const std::size_t stacks = tracker_.data.stacks.end_id() + kMoreStacks;
  result_bytes_ = round_up(sizeof(ScanResults) + stacks * sizeof(UnreachableSum));
  results_ = static_cast<ScanResults*>(os::map_shared_pages(result_bytes_));
  const std::size_t threads = os::count_threads() + kMoreThreads;
  if (stack_ == nullptr || results_ == nullptr || !threads_.resize_for_overwrite(threads)) {
    return false;
  }
  ::new (results_) ScanResults{.stacks = stacks};
  order_.results = results_;
  os::ThreadRegisters& own = *::new (threads_.data()) os::ThreadRegisters;
  own.id = os::current_thread_id();
  own.seen = true;
  own.stack_pointer = mine[arch::DwarfRegisters::kStackPointer];
  own.has_red_zone = false;
  own.thread_pointer = os::thread_pointer();
  own.thread_storage = os::thread_storage();
  own.count = mine.size();
  // Without a forked copy, unwinding could deadlock on a loader lock that a stopped thread holds.
  own.general_count = os::can_copy_process() ? mine.size() : 0;
  std::copy(mine.begin(), mine.end(), own.values.begin());
  return find_own_memory();
}

ALLOCTAP_INLINE bool ReachabilityScan::find_own_memory() {
  bool complete = true;
  const auto add = [&](const void* start, std::size_t bytes) {
    const auto address = reinterpret_cast<std::uintptr_t>(start);
    complete = own_memory_.push_back({address, address + bytes}) && complete;
  };
  add(results_, result_bytes_);
  const std::span<const std::byte> bootstrap = BootstrapArena::extent();
  add(bootstrap.data(), bootstrap.size());
  tracker_.data.for_each_table(add);
  if (!tracker_.own_module.empty()) {
    add(tracker_.own_module.data(), tracker_.own_module.size());
    order_.tracker_code = own_memory_.back();
    // Looks up `mblen`, because programs rarely take its address. If a program takes a function's
    // address, the address may be that of a PLT entry in the program.
    const auto inside = reinterpret_cast<std::uintptr_t>(&std::mblen);
    const os::LoadedModule library = os::find_module(inside);
    order_.c_library_code = {library.start, library.end};
  }
  order_.own_memory = {own_memory_.data(), own_memory_.size()};
  order_.modules = modules_.loaded();
  order_.earlier_blocks = tracker_.earlier_blocks;
  return complete && ArenaRegions::complete();
}

ALLOCTAP_INLINE Status ReachabilityScan::freeze() {
  const bool quiet = ThreadStates::stop_world();
  if (quiet && tracker_.data.flush_queue != nullptr) tracker_.data.flush_queue();
  const int error = quiet ? freeze_stopped() : 0;
  ThreadStates::resume_world();
  if (!quiet) {
    return Status::unavailable(
        "leaks: a thread was stopped inside the tracker; what is live is not known for sure");
  }
  if (error == 0) return Status();
  return Status::unavailable("leaks: cannot make a copy of the process to scan: ",
                             os::error_text(error), "; ask for all that is live instead");
}

ALLOCTAP_INLINE int ReachabilityScan::freeze_stopped() noexcept {
  const std::lock_guard hold_threads(ThreadStates::lock());
  const std::lock_guard hold_arena(Arena::lock());
  const std::lock_guard hold_regions(ArenaRegions::lock());
  const std::int64_t start_ns = os::monotonic_ns();
  const int error = frozen_.start({.body = &scan,
                                   .argument = this,
                                   .stack = {stack_, os::kFreezeStack},
                                   .threads = {threads_.data() + 1, threads_.size() - 1}});
  stopped_ns_ = os::monotonic_ns() - start_ns;
  return error;
}

ALLOCTAP_INLINE void ReachabilityScan::scan(void* argument, const os::FrozenState& state) noexcept {
  static_cast<ReachabilityScan*>(argument)->scan_frozen(state);
}

ALLOCTAP_INLINE void ReachabilityScan::scan_frozen(const os::FrozenState& state) noexcept {
  const ScopedUnlock lend_threads(ThreadStates::lock());
  const ScopedUnlock lend_arena(Arena::lock());
  const ScopedUnlock lend_regions(ArenaRegions::lock());
  order_.threads = {threads_.data(), 1 + state.threads};
  order_.all_threads_seen = state.unseen == 0;
  order_.unread_bytes = state.unread_bytes;
  // Treats all allocator memory as roots, because the stacks of unseen threads may be in it.
  if (state.unseen > 0) order_.all_blocks_known = false;
  if (tracker_.for_each_kept_pointer != nullptr) {
    tracker_.for_each_kept_pointer(&keep, &kept_pointers_);
    order_.kept_pointers = {kept_pointers_.data(), kept_pointers_.size()};
  }
  FrozenScan frozen(tracker_.data, order_);
  results_->state.store(frozen.run(), std::memory_order_release);
}

ALLOCTAP_INLINE void ReachabilityScan::keep(void* pointers, const void* pointer) noexcept {
  static_cast<void>(static_cast<ArenaArray<std::uintptr_t>*>(pointers)->push_back(
      reinterpret_cast<std::uintptr_t>(pointer)));
}

ALLOCTAP_INLINE void ReachabilityScan::add_to(Snapshot& snapshot) noexcept {
  UnreachableSum* const sums = results_->by_stack();
  for (StackSummary& stack : snapshot.stacks) {
    if (stack.stack < results_->stacks) stack.unreachable = within(sums[stack.stack], stack);
  }
  snapshot.scan = {.done = true,
                   .unseen_threads = frozen_.unseen(),
                   .unread_bytes = results_->unread_bytes,
                   .stopped_ns = stopped_ns_,
                   .scan_ns = os::monotonic_ns() - begun_ns_};
}

ALLOCTAP_INLINE UnreachableSum ReachabilityScan::within(UnreachableSum sum,
                                                        const StackSummary& stack) noexcept {
  sum.definite_allocations = std::min(sum.definite_allocations, stack.live_allocations);
  sum.definite_bytes = std::min(sum.definite_bytes, stack.live_bytes);
  sum.indirect_allocations =
      std::min(sum.indirect_allocations, stack.live_allocations - sum.definite_allocations);
  sum.indirect_bytes = std::min(sum.indirect_bytes, stack.live_bytes - sum.definite_bytes);
  return sum;
}

ALLOCTAP_INLINE std::size_t ReachabilityScan::round_up(std::size_t bytes) noexcept {
  const std::size_t page = os::page_size();
  return (bytes + page - 1) / page * page;
}

}  // namespace alloctap
