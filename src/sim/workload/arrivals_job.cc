#include <algorithm>
#include <cmath>

#include "sim/workload/chance.h"
#include "sim/workload/flows_job.h"
#include "sim/workload/words.h"

namespace nerve::sim {

double mean_gap(const FlowsSpec& work, Rate rate_of_rank, std::uint32_t senders) {
  const double bytes_per_second = work.load * static_cast<double>(senders) *
                                  static_cast<double>(rate_of_rank.bits_per_second()) / 8;
  return static_cast<double>(work.bytes) * 1e12 / bytes_per_second;
}

ArrivalsJob::ArrivalsJob(const JobSpec& spec, const FlowsSpec& work, JobContext context,
                         std::vector<ListedFlow> listed)
    : TimedJob{spec, std::move(context)},
      work_{work},
      book_{this->context(), on_front_end(), work.qps},
      listed_{std::move(listed)},
      prng_{this->context().seed},
      flows_{work.pattern == FlowPattern::kList ? static_cast<std::uint32_t>(listed_.size())
                                                : work.requests} {
  if (work.pattern != FlowPattern::kList) {
    const std::uint32_t ranks = this->context().ranks();
    const std::uint32_t senders = work.pattern == FlowPattern::kKvCache ? ranks / 2 : ranks;
    const double gap = mean_gap(work, book_.lines().rate_of_rank(), senders);
    mean_gap_ = static_cast<std::uint64_t>(std::llround(gap));
  }
  book_.expect(flows_);
}

void ArrivalsJob::begin() { schedule_next(); }

void ArrivalsJob::schedule_next() {
  Duration wait{};
  if (listed_.empty()) {
    wait = Duration{static_cast<std::int64_t>(exponential(prng_, mean_gap_))};
  } else {
    wait = std::max(began() + listed_[next_].start - now(), Duration::zero());
  }
  context().messenger.plan(now() + wait, {context().number, 0, next_});
}

void ArrivalsJob::on_timer(const Token&) {
  send_next();
  // In lists many flows often start at the same time.
  while (next_ < listed_.size() && began() + listed_[next_].start <= now()) send_next();
  if (next_ < flows_) schedule_next();
}

void ArrivalsJob::send_next() {
  const ListedFlow flow = listed_.empty() ? draw() : listed_[next_];
  book_.send(next_, flow.from, flow.to, flow.bytes);
  ++next_;
}

ListedFlow ArrivalsJob::draw() {
  const std::uint32_t ranks = context().ranks();
  ListedFlow flow;
  if (work_.pattern == FlowPattern::kKvCache) {
    const std::uint32_t prefill = ranks / 2;
    flow.from = static_cast<std::uint32_t>(prng_.below(prefill));
    flow.to = prefill + static_cast<std::uint32_t>(prng_.below(ranks - prefill));
    flow.bytes = work_.bytes;
    return flow;
  }
  flow.from = static_cast<std::uint32_t>(prng_.below(ranks));
  flow.to = static_cast<std::uint32_t>((flow.from + prng_.between(1, ranks - 1)) % ranks);
  flow.bytes = std::max<std::uint64_t>(exponential(prng_, work_.bytes), 1);
  return flow;
}

std::uint64_t ArrivalsJob::bytes_planned() const {
  if (listed_.empty()) return flows_ * work_.bytes;
  std::uint64_t bytes = 0;
  for (const ListedFlow& flow : listed_) bytes += flow.bytes;
  return bytes;
}

JobResult ArrivalsJob::result() const {
  JobResult result = blank_result();
  result.work = std::string{words_of(work_.pattern)} + ", " + std::to_string(flows_) + " flows, " +
                std::to_string(context().ranks()) + " ranks";
  if (listed_.empty()) {
    result.work += ", load " + number_in_words(work_.load) + ", " + bytes_in_words(work_.bytes) +
                   (work_.pattern == FlowPattern::kRandom ? " on average" : " each");
  }
  book_.add_to(result);
  return result;
}

}  // namespace nerve::sim
