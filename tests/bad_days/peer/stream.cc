#include "tests/bad_days/peer/stream.h"

#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "tests/bad_days/peer/pattern.h"

namespace bad_days {
namespace {

// Areas of memory, each with a place for every round of the window.
constexpr std::size_t kWritten = 0;  // the leader's source, the follower's destination
constexpr std::size_t kReadBack = 1;
constexpr std::size_t kToSend = 2;
constexpr std::size_t kReceived = 3;
constexpr std::size_t kAreas = 4;

constexpr std::size_t kNumber = sizeof(std::uint64_t);  // precedes the contents of a message
constexpr std::uint64_t kOtherContents = 0x5eed;        // a SEND has other contents than a WRITE

constexpr unsigned kKindShift = 56;
constexpr std::uint64_t kBeatEvery = 50;

std::size_t area_size(const Options& options) { return options.largest + kNumber; }

std::string text(const char* format, auto... values) {
  char line[200];
  std::snprintf(line, sizeof line, format, values...);
  return line;
}

bool wrong(Outcome& outcome, std::string what) {
  outcome = {Outcome::Kind::kWrong, std::move(what)};
  return false;
}

}  // namespace

std::size_t Stream::memory_for(const Options& options) {
  return kAreas * options.window * area_size(options);
}

Stream::Stream(const Options& options, Endpoint& endpoint)
    : options_{options}, endpoint_{endpoint}, rounds_(options.window) {}

std::size_t Stream::place(std::size_t area, std::uint64_t round) const {
  return (area * options_.window + round % options_.window) * area_size(options_);
}

bool Stream::receive_into(std::uint64_t slot) {
  const auto length = static_cast<std::uint32_t>(area_size(options_));
  return endpoint_.post_receive(
      {.id = kReceiveBit | slot, .at = place(kReceived, slot), .length = length, .remote_at = 0});
}

bool Stream::prepare() {
  for (std::uint64_t slot = 0; slot < options_.window; ++slot) {
    if (!receive_into(slot)) return false;
  }
  return true;
}

bool Stream::post_step(std::uint64_t round, Kind kind) {
  const std::uint32_t length = rounds_[round % options_.window].length;
  const std::uint64_t id = static_cast<std::uint64_t>(kind) << kKindShift | round;
  const std::size_t written = place(kWritten, round);
  switch (kind) {
    case Kind::kWrite:
      return endpoint_.post_send(IBV_WR_RDMA_WRITE, {id, written, length, written});
    case Kind::kRead:
      return endpoint_.post_send(IBV_WR_RDMA_READ, {id, place(kReadBack, round), length, written});
    default:
      return endpoint_.post_send(IBV_WR_SEND, {id, place(kToSend, round),
                                               static_cast<std::uint32_t>(kNumber) + length, 0});
  }
}

bool Stream::begin_round() {
  const std::uint64_t round = begun_++;
  const std::uint32_t length = size_of_round(options_.seed, round, options_.largest);
  rounds_[round % options_.window] = {.length = length, .open = 4};
  const auto memory = endpoint_.memory();
  Pattern{options_.seed, round}.fill(memory.subspan(place(kWritten, round), length));
  const auto message = memory.subspan(place(kToSend, round), kNumber + length);
  std::memcpy(message.data(), &round, kNumber);
  Pattern{options_.seed ^ kOtherContents, round}.fill(message.subspan(kNumber));
  if (options_.pause_us > 0) ::usleep(static_cast<useconds_t>(options_.pause_us));
  if (!post_step(round, Kind::kWrite)) return false;
  if (options_.window == 1) return true;  // the others follow one by one
  return post_step(round, Kind::kRead) && post_step(round, Kind::kSend);
}

bool Stream::close_one(std::uint64_t round) {
  if (--rounds_[round % options_.window].open == 0) ++finished_;
  return true;
}

bool Stream::check_read(std::uint64_t round, Outcome& outcome) {
  const std::uint32_t length = rounds_[round % options_.window].length;
  const auto got = endpoint_.memory().subspan(place(kReadBack, round), length);
  const std::size_t good = Pattern{options_.seed, round}.compare(got);
  if (good == length) return true;
  return wrong(outcome, text("read of round %" PRIu64 ": byte %zu of %u", round, good, length));
}

bool Stream::take_message(const Completion& done, Outcome& outcome) {
  const std::uint64_t slot = done.id & ~kReceiveBit;
  const auto memory = endpoint_.memory();
  const auto message = memory.subspan(place(kReceived, slot), done.length);
  const std::uint64_t round = finished_;
  const std::uint32_t length = size_of_round(options_.seed, round, options_.largest);
  std::uint64_t number = 0;
  if (done.length != kNumber + length) {
    return wrong(outcome, text("message %" PRIu64 " has %u bytes", round, done.length));
  }
  std::memcpy(&number, message.data(), kNumber);
  if (number != round) {
    return wrong(outcome, text("message %" PRIu64 " instead of %" PRIu64, number, round));
  }
  if (Pattern{options_.seed ^ kOtherContents, round}.compare(message.subspan(kNumber)) != length) {
    return wrong(outcome, text("contents of message %" PRIu64, round));
  }
  const auto written = memory.subspan(place(kWritten, round), length);
  if (const auto good = Pattern{options_.seed, round}.compare(written); good != length) {
    return wrong(outcome, text("write of round %" PRIu64 ": byte %zu of %u", round, good, length));
  }
  ++finished_;
  if (!receive_into(slot)) return false;
  std::memcpy(&memory[place(kToSend, round)], &round, kNumber);
  const std::uint64_t id = static_cast<std::uint64_t>(Kind::kAnswer) << kKindShift | round;
  return endpoint_.post_send(IBV_WR_SEND, {id, place(kToSend, round), kNumber, 0});
}

bool Stream::take_answer(const Completion& done, Outcome& outcome) {
  const std::uint64_t slot = done.id & ~kReceiveBit;
  std::uint64_t round = 0;
  std::memcpy(&round, &endpoint_.memory()[place(kReceived, slot)], kNumber);
  if (done.length != kNumber || round != answered_) {
    return wrong(outcome, text("answer %" PRIu64 " instead of %" PRIu64, round, answered_));
  }
  ++answered_;
  return receive_into(slot) && close_one(round);
}

bool Stream::take(const Completion& done, Outcome& outcome) {
  if (done.status != IBV_WC_SUCCESS) {
    outcome = {Outcome::Kind::kDead,
               text("status=%d since_ms=%" PRIu64 " at_ms=%" PRIu64, static_cast<int>(done.status),
                    endpoint_.waiting_since_ms(), done.at_ms)};
    return false;
  }
  const bool leads = options_.role == Role::kLead;
  const auto kind = static_cast<Kind>(done.id >> kKindShift);
  if (kind != Kind::kProbe) progress_ms_ = now_ms();
  if ((done.id & kReceiveBit) != 0) {
    return leads ? take_answer(done, outcome) : take_message(done, outcome);
  }
  const std::uint64_t round = done.id & ((std::uint64_t{1} << kKindShift) - 1);
  if (!leads || kind == Kind::kProbe) return true;
  if (kind == Kind::kRead && !check_read(round, outcome)) return false;
  if (options_.window == 1 && kind == Kind::kWrite && !post_step(round, Kind::kRead)) return false;
  if (options_.window == 1 && kind == Kind::kRead && !post_step(round, Kind::kSend)) return false;
  return close_one(round);
}

bool Stream::probe() {
  // A process that waits for a message does not notice when its peer dies or stops: like any
  // program, it has to probe. It reads more than a few bytes, because those would be read directly
  // from the memory of a stopped peer and prove nothing.
  if (endpoint_.outstanding() > 0) return true;
  const std::uint64_t id = static_cast<std::uint64_t>(Kind::kProbe) << kKindShift;
  const auto length = static_cast<std::uint32_t>(area_size(options_));
  return endpoint_.post_send(IBV_WR_RDMA_READ, {id, place(kReadBack, 0), length, 0});
}

void Stream::tell_beat() {
  const std::uint64_t now = now_ms();
  if (now - beat_ms_ < kBeatEvery) return;
  beat_ms_ = now;
  std::printf("beat %" PRIu64 " %" PRIu64 "\n", finished_, now);
  std::fflush(stdout);
}

Outcome Stream::run(const std::atomic<bool>& stop) {
  Outcome outcome{Outcome::Kind::kRefused, "a call failed"};
  progress_ms_ = now_ms();
  const bool leads = options_.role == Role::kLead;
  for (std::uint64_t turn = 0, idle = 0;; ++turn) {
    if (turn % 64 == 0) tell_beat();
    const bool enough = stop || (options_.rounds > 0 && begun_ >= options_.rounds);
    while (leads && !enough && begun_ - finished_ < options_.window) {
      if (!begin_round()) return outcome;
    }
    if (const auto done = endpoint_.next()) {
      idle = 0;
      if (!take(*done, outcome)) return outcome;
      continue;
    }
    if (leads && enough && finished_ == begun_) break;
    if (options_.wait == Wait::kPoll && ++idle % 1000 != 0) continue;
    const auto other = endpoint_.other();
    if (other == Endpoint::Other::kDone && endpoint_.outstanding() == 0) break;
    const bool silent = options_.ask_ms > 0 && now_ms() - progress_ms_ > options_.ask_ms;
    if ((silent || other == Endpoint::Other::kGone) && !probe()) return outcome;
    if (now_ms() - progress_ms_ > options_.patience_ms) {
      return {Outcome::Kind::kHang, text("no progress since %" PRIu64, progress_ms_)};
    }
  }
  if (leads) endpoint_.tell_done();
  return {Outcome::Kind::kOk, text("rounds=%" PRIu64, finished_)};
}

}  // namespace bad_days
