#include "sim/crew.h"

#include <chrono>

namespace nerve::sim {
namespace {

// Windows follow each other quickly, and a thread that sleeps in between wakes up late. It spins
// for a while, and then lets other programs run but stays awake. Where there are fewer CPUs than
// threads, spinning would take the time of those that are waited for.
constexpr std::chrono::microseconds kSpins{30};
constexpr std::chrono::milliseconds kStaysAwake{1};
constexpr int kBetweenLooksAtTheClock = 64;

template <class Value>
bool changes(const std::atomic<Value>& value, Value old) {
  for (int i = 0; i < kBetweenLooksAtTheClock; ++i) {
    if (value.load(std::memory_order_acquire) != old) return true;
  }
  return false;
}

template <class Value>
void wait_while(const std::atomic<Value>& value, Value old, bool spin) {
  using Clock = std::chrono::steady_clock;
  if (changes(value, old)) return;
  const Clock::time_point begin = Clock::now();
  for (Clock::duration waited{}; spin && waited < kStaysAwake; waited = Clock::now() - begin) {
    if (waited > kSpins) std::this_thread::yield();
    if (changes(value, old)) return;
  }
  value.wait(old, std::memory_order_acquire);
}

}  // namespace

Crew::Crew(std::uint32_t count, std::function<void(std::uint32_t)> work)
    : work_{std::move(work)}, spins_{count <= std::thread::hardware_concurrency()}, done_(count) {
  for (std::uint32_t i = 1; i < count; ++i) threads_.emplace_back([this, i] { serve(i); });
}

Crew::~Crew() {
  over_ = true;
  begun_.number.fetch_add(1, std::memory_order_release);
  begun_.number.notify_all();
  for (std::thread& one : threads_) one.join();
}

void Crew::run() {
  const std::uint32_t last = begun_.number.fetch_add(1, std::memory_order_release);
  if (!threads_.empty()) begun_.number.notify_all();
  work_(0);
  for (std::size_t i = 1; i < done_.size(); ++i) wait_while(done_[i].number, last, spins_);
}

void Crew::serve(std::uint32_t number) {
  std::atomic<std::uint32_t>& done = done_[number].number;
  for (std::uint32_t seen = 0;;) {
    wait_while(begun_.number, seen, spins_);
    if (over_) return;
    ++seen;
    work_(number);
    done.store(seen, std::memory_order_release);
    done.notify_one();
  }
}

}  // namespace nerve::sim
