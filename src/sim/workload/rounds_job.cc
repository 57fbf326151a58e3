#include <numeric>
#include <utility>

#include "sim/workload/flows_job.h"
#include "sim/workload/words.h"

namespace nerve::sim {
namespace {

// A cyclic permutation of all ranks (Sattolo): no rank sends to itself, no two to the same.
std::vector<std::uint32_t> permutation(std::uint32_t ranks, std::uint64_t seed) {
  Prng prng{seed};
  std::vector<std::uint32_t> to(ranks);
  std::iota(to.begin(), to.end(), 0U);
  for (std::uint32_t i = ranks - 1; i > 0; --i) std::swap(to[i], to[prng.below(i)]);
  return to;
}

}  // namespace

RoundsJob::RoundsJob(const JobSpec& spec, const FlowsSpec& work, JobContext context)
    : TimedJob{spec, std::move(context)},
      work_{work},
      book_{this->context(), on_front_end()},
      senders_(this->context().ranks()) {
  find_targets();
  find_bound();
  std::uint32_t runners = 0;
  for (std::uint32_t rank = 0; rank < this->context().ranks(); ++rank) {
    if (flows_of(rank) > 0) ++runners;
  }
  laps_.emplace(work.repeat, runners);
  book_.expect(std::uint64_t{work.repeat} * targets_.size());
}

void RoundsJob::find_targets() {
  const std::uint32_t ranks = context().ranks();
  std::vector<std::uint32_t> permuted;
  if (work_.pattern == FlowPattern::kPermutation) permuted = permutation(ranks, context().seed);
  first_.push_back(0);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    switch (work_.pattern) {
      case FlowPattern::kPermutation:
        targets_.push_back(permuted[rank]);
        break;
      case FlowPattern::kShift:
        targets_.push_back((rank + work_.shift % ranks) % ranks);
        break;
      case FlowPattern::kIncast:
        if (rank > 0) targets_.push_back(0);
        break;
      case FlowPattern::kCheckpoint:
        targets_.push_back(ranks + rank % static_cast<std::uint32_t>(context().storage.size()));
        break;
      default:  // each rank to every other, beginning with the next
        for (std::uint32_t i = 1; i < ranks; ++i) targets_.push_back((rank + i) % ranks);
    }
    first_.push_back(static_cast<std::uint32_t>(targets_.size()));
  }
}

void RoundsJob::find_bound() {
  const std::uint32_t ranks = context().ranks();
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    for (std::uint32_t i = first_[rank]; i < first_[rank + 1]; ++i) {
      const std::uint32_t to = targets_[i];
      if (to < ranks) {
        book_.lines().add(rank, to, work_.bytes);
      } else {
        book_.lines().add_to_storage(rank, to - ranks, work_.bytes);
      }
    }
  }
  bound_ = book_.lines().busiest();
  floor_ = book_.lines().busiest_nic();
}

void RoundsJob::begin() {
  for (std::uint32_t rank = 0; rank < context().ranks(); ++rank) send_round(rank);
}

void RoundsJob::send_round(std::uint32_t rank) {
  Sender& sender = senders_[rank];
  sender.to_deliver = sender.to_acknowledge = flows_of(rank);
  const auto first = static_cast<std::uint32_t>(sender.round * targets_.size());
  for (std::uint32_t i = first_[rank]; i < first_[rank + 1]; ++i) {
    book_.send(first + i, rank, targets_[i], work_.bytes);
  }
}

void RoundsJob::delivered(const Token& token) {
  book_.delivered(token);
  Sender& sender = senders_[token.subject];
  if (--sender.to_deliver > 0) return;
  laps_->ended(sender.round, now());
  if (sender.to_acknowledge == 0) next_round(token.subject);
}

void RoundsJob::acknowledged(const Token& token) {
  Sender& sender = senders_[token.subject];
  if (--sender.to_acknowledge == 0 && sender.to_deliver == 0) next_round(token.subject);
}

// TCP may acknowledge a message before the application has it. A round ends when all its messages
// are both acknowledged and delivered.
void RoundsJob::next_round(std::uint32_t rank) {
  if (++senders_[rank].round < work_.repeat) send_round(rank);
}

JobResult RoundsJob::result() const {
  JobResult result = blank_result();
  result.work = std::string{words_of(work_.pattern)} + " of " + bytes_in_words(work_.bytes) +
                " each, " + std::to_string(context().ranks()) + " ranks";
  if (work_.repeat > 1) result.work += ", " + std::to_string(work_.repeat) + " times";
  result.steps = laps_->durations(began());
  result.bound = bound_;
  result.floor = floor_;
  result.bound_is = "what the busiest NIC or interconnect carries, at line rate with headers";
  book_.add_to(result);
  return result;
}

}  // namespace nerve::sim
