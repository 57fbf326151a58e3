// Memory behind a slow copy engine, for worlds: reads and writes of the host's memory take a random
// time, and reads overtake each other.
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <list>
#include <vector>

#include "base/late_memory.h"
#include "base/prng.h"
#include "tests/dst/event_queue.h"

namespace nerve::dst {

class LateStore final : public LateMemory {
 public:
  LateStore(std::uint64_t seed, EventQueue& events) : prng_{seed}, events_{events} {}

  Fetched fetch(const Wanted& wanted) override {
    for (Read& read : reads_) {
      const std::uint64_t into = wanted.address - read.address;
      if (read.engine != wanted.engine || read.message != wanted.message ||
          into + wanted.length > read.bytes.size() || into > read.bytes.size()) {
        continue;
      }
      if (events_.now() < read.ready) return {.progress = Progress::kLater};
      if (!read.done) std::memcpy(read.bytes.data(), pointer(read.address), read.bytes.size());
      read.done = true;
      const std::uint64_t there = (read.bytes.size() - into) / wanted.length;
      return {.progress = Progress::kDone,
              .bytes = read.bytes.data() + into,
              .parts = static_cast<std::uint32_t>(std::min<std::uint64_t>(there, 1 + wanted.more))};
    }
    const std::uint64_t ahead = std::min<std::uint64_t>(wanted.follow, prng_.below(20'000));
    reads_.push_back({.engine = wanted.engine,
                      .message = wanted.message,
                      .address = wanted.address,
                      .bytes = std::vector<std::byte>(wanted.length + ahead),
                      .ready = events_.now() + delay(),
                      .done = false});
    return {.progress = Progress::kLater};
  }
  // Keeps some for the same message, which may be sent again.
  void release(const void* engine) override {
    std::size_t kept = 0;
    for (auto read = reads_.end(); read != reads_.begin();) {
      --read;
      if (read->done && read->engine == engine && ++kept > kKept) read = reads_.erase(read);
    }
  }

  void write(std::uint64_t address, Bytes from) override {
    Time ready = events_.now() + delay();
    if (!writes_.empty()) ready = std::max(ready, writes_.back().ready);
    writes_.push_back({address, {from.begin(), from.end()}, ready});
    ++written_;
  }
  // Copies within this process, as a GPU would from the memory of one host to another's: what is
  // there when it lands.
  void begin_copy(std::uint64_t to, std::uint64_t from, std::uint32_t length) {
    Time ready = events_.now() + delay();
    if (!writes_.empty()) ready = std::max(ready, writes_.back().ready);
    writes_.push_back({to, {}, ready, from, length});
    ++written_;
  }
  [[nodiscard]] Ticket written() const override { return written_; }
  Progress landed(Ticket /*after*/, Ticket last) override {
    land(events_.now());
    return written_ - writes_.size() >= last ? Progress::kDone : Progress::kLater;
  }

  // Waits for every write.
  void settle() {
    if (!writes_.empty()) land(writes_.back().ready);
  }

  void read(std::uint64_t address, MutableBytes into) override {
    settle();
    std::memcpy(into.data(), pointer(address), into.size());
  }
  std::uint64_t compare_swap(std::uint64_t address, std::uint64_t expected,
                             std::uint64_t desired) override {
    const std::uint64_t before = word(address);
    if (before == expected) store_word(address, desired);
    return before;
  }
  std::uint64_t fetch_add(std::uint64_t address, std::uint64_t addend) override {
    const std::uint64_t before = word(address);
    store_word(address, before + addend);
    return before;
  }
  void store_word(std::uint64_t address, std::uint64_t value) override {
    settle();
    std::memcpy(pointer(address), &value, sizeof value);
  }

 private:
  static constexpr std::size_t kKept = 8;

  struct Read {
    const void* engine;
    std::uint64_t message;
    std::uint64_t address;
    std::vector<std::byte> bytes;
    Time ready;
    bool done;
  };
  struct Write {
    std::uint64_t address;
    std::vector<std::byte> bytes;
    Time ready;
    std::uint64_t from{};  // a copy
    std::uint32_t length{};
  };

  static std::byte* pointer(std::uint64_t address) { return reinterpret_cast<std::byte*>(address); }
  Duration delay() { return std::chrono::nanoseconds{prng_.between(0, 20'000)}; }
  void land(Time until) {
    while (!writes_.empty() && writes_.front().ready <= until) {
      const Write& write = writes_.front();
      if (write.length > 0) {
        std::memmove(pointer(write.address), pointer(write.from), write.length);
      } else if (!write.bytes.empty()) {
        std::memcpy(pointer(write.address), write.bytes.data(), write.bytes.size());
      }
      writes_.pop_front();
    }
  }
  std::uint64_t word(std::uint64_t address) {
    settle();
    std::uint64_t value{};
    std::memcpy(&value, pointer(address), sizeof value);
    return value;
  }

  Prng prng_;
  EventQueue& events_;
  std::list<Read> reads_;  // addresses of its bytes are given out
  std::deque<Write> writes_;
  Ticket written_{};
};

}  // namespace nerve::dst
