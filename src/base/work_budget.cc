#include "base/work_budget.h"

#include <malloc.h>

#include <cstdlib>
#include <ctime>

namespace inferens {
namespace {

// Reading the thread's CPU time is a system call.
constexpr int64_t kAllocationsPerClockRead = 512;
// What may still be allocated after a limit was passed, so that handlers and destructors on the way out can work.
constexpr int64_t kGraceBytes = int64_t{1} << 20;
constexpr int64_t kGraceAllocations = 4096;
constexpr Nanos kGraceTime = 100'000'000;

// The one place where a thread's budget can be found from operator new, which has no arguments for it.
thread_local WorkBudget* current_budget = nullptr;

Nanos thread_cpu_time() {
  timespec t = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<Nanos>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

}  // namespace

WorkBudget::WorkBudget(const Limits& limits)
    : limits_(limits), cpu_begin_(limits.cpu_time == INT64_MAX ? 0 : thread_cpu_time()), outer_(current_budget) {
  current_budget = this;
}

WorkBudget::~WorkBudget() {
  current_budget = outer_;
}

WorkBudget* WorkBudget::current() {
  return current_budget;
}

WorkBudget::Spent WorkBudget::find_spent() const {
  if (bytes_ > limits_.bytes) return Spent::kBytes;
  if (allocations_ > limits_.allocations) return Spent::kAllocations;
  const bool read_clock = limits_.cpu_time != INT64_MAX && allocations_ % kAllocationsPerClockRead == 0;
  if (read_clock && thread_cpu_time() - cpu_begin_ > limits_.cpu_time) return Spent::kCpuTime;
  return Spent::kNothing;
}

void WorkBudget::charge(size_t bytes) {
  bytes_ += static_cast<int64_t>(bytes);
  ++allocations_;
  const Spent now = find_spent();
  if (now == Spent::kNothing) return;
  bytes_ -= static_cast<int64_t>(bytes);
  if (spent_ == Spent::kNothing) spent_ = now;
  if (now == Spent::kBytes) limits_.bytes = bytes_ + static_cast<int64_t>(bytes) + kGraceBytes;
  if (now == Spent::kAllocations) limits_.allocations = allocations_ + kGraceAllocations;
  if (now == Spent::kCpuTime) limits_.cpu_time += kGraceTime;
  throw Exceeded();
}

namespace {

void* allocate(size_t bytes) {
  if (WorkBudget* budget = current_budget) {
    budget->charge(bytes);
    void* memory = std::malloc(bytes == 0 ? 1 : bytes);
    // What is refunded later is the block's size, so that is what counts.
    budget->refund(bytes);
    if (memory != nullptr) budget->add_held(malloc_usable_size(memory));
    return memory;
  }
  return std::malloc(bytes == 0 ? 1 : bytes);
}

void release(void* memory) {
  if (WorkBudget* budget = current_budget; budget != nullptr && memory != nullptr) {
    budget->refund(malloc_usable_size(memory));
  }
  std::free(memory);
}

}  // namespace
}  // namespace inferens

// All forms but those of over-aligned types: sanitizers bring forms of their own for what is left out here, and memory
// must go back to where it came from.
void* operator new(std::size_t bytes) {
  if (void* memory = inferens::allocate(bytes)) return memory;
  throw std::bad_alloc();
}

void* operator new[](std::size_t bytes) {
  return operator new(bytes);
}

void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return operator new(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void* operator new[](std::size_t bytes, const std::nothrow_t& tag) noexcept {
  return operator new(bytes, tag);
}

void operator delete(void* memory) noexcept {
  inferens::release(memory);
}

void operator delete[](void* memory) noexcept {
  inferens::release(memory);
}

void operator delete(void* memory, std::size_t) noexcept {
  inferens::release(memory);
}

void operator delete[](void* memory, std::size_t) noexcept {
  inferens::release(memory);
}

void operator delete(void* memory, const std::nothrow_t&) noexcept {
  inferens::release(memory);
}

void operator delete[](void* memory, const std::nothrow_t&) noexcept {
  inferens::release(memory);
}
