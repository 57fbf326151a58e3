#include "sim/why/variants.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/scenario/words.h"
#include "sim/why/cause.h"

namespace nerve::sim {
namespace {

constexpr std::uint64_t kMostRate = 100'000'000'000'000;  // that a scenario may have

// In the largest unit that leaves a whole number.
std::string rate_value(std::uint64_t bits_per_second) {
  constexpr std::uint64_t kGiga = 1'000'000'000;
  const std::uint64_t rate = std::min(bits_per_second, kMostRate);
  return rate % kGiga == 0 ? fmt::format("{} Gb/s", rate / kGiga)
                           : fmt::format("{} Mb/s", rate / (kGiga / 1000));
}

std::string size_value(std::uint64_t bytes) {
  constexpr std::uint64_t kMega = 1'000'000;
  constexpr std::uint64_t kMebi = 1U << 20U;
  if (bytes % kMega == 0) return fmt::format("{} MB", bytes / kMega);
  if (bytes % kMebi == 0) return fmt::format("{} MiB", bytes / kMebi);
  return fmt::format("{} B", bytes);
}

class Proposals {
 public:
  Proposals(const scenario_file::Node& document, const Scenario& scenario, const RunResult& result,
            std::size_t job)
      : document_{document},
        scenario_{scenario},
        result_{result},
        number_{job},
        front_{scenario.jobs[job].on_front_end && scenario.front_end},
        network_{front_ ? *scenario.front_end : scenario.back_end},
        nics_{front_ ? scenario.front_end_nics : scenario.nics} {}

  [[nodiscard]] std::vector<Variant> all() {
    for (const CauseResult& cause : result_.why[number_].causes) {
      cause_ = cause.kind;
      propose();
    }
    return std::move(variants_);
  }

 private:
  [[nodiscard]] std::string fabric(std::string_view key) const {
    return fmt::format("{}.{}", front_ ? "front_end" : "fabric", key);
  }
  [[nodiscard]] std::string nic(std::string_view key) const {
    return fmt::format("{}.{}", front_ ? "front_end.nic" : "nic", key);
  }
  // job.0, or job if the file has one without a list.
  static std::string entry(const scenario_file::Node& table, std::string_view name,
                           std::size_t number) {
    const scenario_file::Node* const found = table.find(name);
    const bool one = found != nullptr && found->type == scenario_file::NodeType::kTable;
    return one ? std::string{name} : fmt::format("{}.{}", name, number);
  }
  [[nodiscard]] const scenario_file::Node* job_table() const {
    const scenario_file::Node* const jobs = document_.find("job");
    if (jobs == nullptr || jobs->type != scenario_file::NodeType::kList) return jobs;
    return number_ < jobs->children.size() ? &jobs->children[number_] : nullptr;
  }

  void add(std::vector<Override> set) {
    if (set.empty()) return;
    const auto same = [&](const Variant& other) { return other.set == set; };
    if (std::ranges::none_of(variants_, same)) variants_.push_back({cause_, std::move(set)});
  }

  void propose() {
    const auto is = [this](Cause cause) { return cause_ == name_of(cause); };
    if (is(Cause::kCollisions)) return spread();
    if (is(Cause::kTooFewCables)) return more_cables();
    if (is(Cause::kIncast)) return control();
    if (is(Cause::kPauses)) return without_pauses();
    if (is(Cause::kLosses)) return without_losses();
    if (is(Cause::kHeldBack)) return other_control();
    if (is(Cause::kCableDown)) return without({FaultKind::kDown});
    if (is(Cause::kSlowCable)) return without({FaultKind::kRate});
    if (is(Cause::kSlowGpu)) return without_stragglers();
    if (is(Cause::kInterconnect)) return faster_interconnect();
    if (is(Cause::kLatency)) return fewer_steps();
    if (is(Cause::kExposed) || is(Cause::kBusyNics)) return faster_nics();
  }

  // Packets of a flow overtake each other when they are sprayed.
  void spread() {
    const bool tcp = nics_.transport == Transport::kTcp;
    if (network_.switches.path_choice != PathChoice::kSpray && !tcp) {
      std::vector<Override> set{{fabric("routing"), "spray"}};
      if (nics_.recovery == Recovery::kGoBackN && scenario_.fidelity == Fidelity::kPacket) {
        set.push_back({nic("recovery"), "selective-repeat"});
      }
      add(std::move(set));
    }
    if (tcp) return add({{fabric("routing"), "flowlet"}});
    constexpr std::uint32_t kMany = 8;
    if (nics_.qps_per_pair < kMany) add({{nic("qps_per_pair"), std::to_string(kMany)}});
  }

  void more_cables() {
    if (network_.oversubscription > 1) add({{fabric("oversubscription"), "1"}});
    std::uint64_t fastest = 0;
    for (const LinkResult& link : result_.links) {
      const bool trunk = result_.nodes[link.from].is_switch && result_.nodes[link.to].is_switch;
      if (trunk) fastest = std::max(fastest, link.rate_bps);
    }
    if (fastest == 0 || network_.topology == TopologyKind::kFile) return;
    add({{fabric("trunk_rate"), rate_value(2 * fastest)}});
  }

  void control() {
    larger_buffers();
    other_control();
    admission();
  }

  void admission() {
    const bool there = nics_.admission.limit > 0 || nics_.transport == Transport::kTcp;
    if (there || scenario_.fidelity == Fidelity::kFlow) return;
    add({{nic("admission.limit"), "2 MB"}});
  }

  void larger_buffers() {
    if (has_credits(network_.switches.kind)) return;
    constexpr std::uint64_t kMore = 4;
    constexpr std::uint64_t kMost = std::uint64_t{1} << 40U;
    add({{fabric("buffer.size"),
          size_value(std::min(network_.switches.buffer.bytes * kMore, kMost))}});
  }

  void other_control() {
    if (nics_.transport == Transport::kTcp) return;
    for (const nic::CcAlgorithm one : {nic::CcAlgorithm::kNone, nic::CcAlgorithm::kSwift,
                                       nic::CcAlgorithm::kHpcc, nic::CcAlgorithm::kDcqcn}) {
      const bool needs_ethernet = one == nic::CcAlgorithm::kDcqcn || one == nic::CcAlgorithm::kHpcc;
      if (needs_ethernet && !is_ethernet(network_.switches.kind)) continue;
      if (one == nics_.flow_control.algorithm) continue;
      add({{nic("congestion"),
            std::string{scenario_file::name_of(one, scenario_file::kCongestion)}}});
    }
  }

  void without_pauses() {
    without({FaultKind::kStorm});
    control();
    if (has_credits(network_.switches.kind)) return;
    add({{fabric("pfc"), "false"}, {nic("recovery"), "selective-repeat"}});
  }

  void without_losses() {
    without({FaultKind::kErrors});
    if (network_.switches.buffer.lossless == 0 && nics_.transport == Transport::kRdma) {
      add({{fabric("pfc"), "true"}});
    }
    if (nics_.transport == Transport::kRdma && nics_.recovery == Recovery::kGoBackN) {
      add({{nic("recovery"), "selective-repeat"}});
    }
  }

  // A fault at the longest time that a scenario may have never happens.
  void without(std::initializer_list<FaultKind> kinds) {
    std::vector<Override> set;
    for (std::size_t i = 0; i < scenario_.faults.size(); ++i) {
      if (std::ranges::find(kinds, scenario_.faults[i].kind) == kinds.end()) continue;
      set.push_back({entry(document_, "fault", i) + ".at", "24 h"});
    }
    add(std::move(set));
  }

  void without_stragglers() {
    const scenario_file::Node* const table = job_table();
    if (table == nullptr) return;
    std::vector<Override> set;
    for (std::size_t i = 0; i < scenario_.jobs[number_].stragglers.size(); ++i) {
      set.push_back(
          {entry(document_, "job", number_) + "." + entry(*table, "straggler", i) + ".slowdown",
           "1"});
    }
    add(std::move(set));
  }

  void faster_interconnect() {
    for (const std::uint64_t factor : {std::uint64_t{2}, std::uint64_t{16}}) {
      add({{"servers.interconnect",
            rate_value(factor * scenario_.servers.interconnect.bits_per_second())}});
    }
  }

  void fewer_steps() {
    const auto* const work = std::get_if<CollectiveSpec>(&scenario_.jobs[number_].work);
    if (work == nullptr || work->kind != CollectiveKind::kAllReduce) return;
    const std::string key = entry(document_, "job", number_) + ".algorithm";
    for (const auto one :
         {CollectiveAlgorithm::kHalvingDoubling, CollectiveAlgorithm::kHierarchical}) {
      if (one == work->algorithm) continue;
      // It needs servers with several ranks, for which auto chooses it.
      const bool chosen =
          scenario_.servers.gpus == 1 || work->algorithm == CollectiveAlgorithm::kAuto;
      if (one == CollectiveAlgorithm::kHierarchical && chosen) continue;
      add({{key, std::string{scenario_file::name_of(one, scenario_file::kAlgorithms)}}});
    }
  }

  void faster_nics() {
    if (network_.topology == TopologyKind::kFile) return;
    add({{fabric("nic_rate"), rate_value(2 * network_.nic_rate.bits_per_second())}});
  }

  const scenario_file::Node& document_;
  const Scenario& scenario_;
  const RunResult& result_;
  std::size_t number_;
  bool front_;
  const NetworkSpec& network_;
  const NicSpec& nics_;
  std::string cause_;
  std::vector<Variant> variants_;
};

}  // namespace

std::optional<std::size_t> job_to_explain(const RunResult& result) {
  std::optional<std::size_t> worst;
  double most = 0;
  for (std::size_t i = 0; i < result.why.size(); ++i) {
    const JobWhy& why = result.why[i];
    if (why.causes.empty() || why.floor <= Duration{}) continue;
    const double share =
        static_cast<double>(why.excess.count()) / static_cast<double>(why.floor.count());
    if (worst && share <= most) continue;
    worst = i;
    most = share;
  }
  return worst;
}

std::vector<Variant> variants_for(const scenario_file::Node& document, const Scenario& scenario,
                                  const RunResult& result, std::size_t job) {
  return Proposals{document, scenario, result, job}.all();
}

Trial trial_of(const Variant& variant, const RunResult& result, const RunResult& changed,
               std::size_t job) {
  Trial trial{.cause = variant.cause, .set = {}, .job = result.jobs[job].name, .error = {}};
  for (const Override& one : variant.set) trial.set.push_back(one.key + "=" + one.value);
  if (job >= changed.why.size() || job >= changed.jobs.size()) return trial;
  trial.done = changed.jobs[job].done;
  trial.took = changed.why[job].took;
  const JobWhy& before = result.why[job];
  if (trial.done && before.excess > Duration{}) {
    trial.takes_away = static_cast<double>((before.took - trial.took).count()) /
                       static_cast<double>(before.excess.count());
  }
  return trial;
}

}  // namespace nerve::sim
