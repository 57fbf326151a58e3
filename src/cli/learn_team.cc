#include "cli/learn_team.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace nerve::cli {
namespace {

// What a rank has done: whether that was all it had to do, and its outcomes in order.
sim::Packed packed(const Result<std::vector<LearnOutcome>, LearnEnd>& mine) {
  sim::Packed message;
  sim::Packer to{message};
  to.put(mine.has_value());
  if (!mine) return message;
  for (const LearnOutcome& outcome : *mine) {
    to.put(outcome.figures);
    to.put_text(outcome.trouble);
  }
  return message;
}

}  // namespace

Result<LearnTeam, std::string> LearnTeam::gather() {
  if (started_by_mpi() && deaths_go_unnoticed()) {
    return Unexpected{
        std::string{"with mpirun --enable-recovery the others would wait for ever for a rank that "
                    "died; leave it out"}};
  }
  auto ranks = MpiRanks::find();
  if (!ranks) return Unexpected{ranks.error()};
  return LearnTeam{*std::move(ranks)};
}

std::string LearnTeam::trouble_of_all(const std::string& mine) {
  return ranks_ == nullptr ? mine : sim::first_trouble(*ranks_, mine);
}

std::string LearnTeam::difference(const std::vector<sim::Term>& terms) {
  return ranks_ == nullptr ? std::string{} : sim::agree(*ranks_, terms);
}

// Rank r of n does the runs r, r + n, r + 2n, ...
Result<std::vector<LearnOutcome>, LearnEnd> LearnTeam::run(const std::vector<LearnRun>& runs,
                                                           std::size_t jobs,
                                                           const LearnTick& tick) {
  if (ranks_ == nullptr) {
    const std::size_t cores = std::max(std::thread::hardware_concurrency(), 1U);
    return run_learning(runs, jobs > 0 ? jobs : cores, tick);
  }
  std::vector<LearnRun> share;
  for (std::size_t i = ranks_->rank(); i < runs.size(); i += ranks_->count()) {
    share.push_back(runs[i]);
  }
  const auto mine = run_learning(share, std::max<std::size_t>(jobs, 1), tick);
  const std::vector<sim::Packed> out(ranks_->count(), packed(mine));
  std::vector<sim::Packed> in(ranks_->count());
  if (!ranks_->exchange(out, in)) return Unexpected{LearnEnd::kRankLost};
  in[ranks_->rank()] = out.front();
  std::vector<LearnOutcome> all(runs.size());
  for (std::size_t rank = 0; rank < in.size(); ++rank) {
    sim::Unpacker from{in[rank]};
    if (!from.take<bool>()) return Unexpected{LearnEnd::kInterrupted};
    for (std::size_t i = rank; i < runs.size(); i += in.size()) {
      all[i].figures = from.take<LearnFigures>();
      all[i].trouble = from.take_text();
    }
    if (!from.intact()) return Unexpected{LearnEnd::kRankLost};
  }
  return all;
}

}  // namespace nerve::cli
