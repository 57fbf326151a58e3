#include "sim/plan/shrink.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/scenario/units.h"

namespace nerve::sim::plan {
namespace {

constexpr std::uint64_t kSmallestMessage = 256'000;
constexpr std::uint32_t kFewestServers = 2;
constexpr std::uint32_t kMostModelParts = 16;

class Shrinking {
 public:
  Shrinking(const Study& study, const Option& option)
      : study_{study}, option_{option}, candidate_{option.candidate} {}

  std::optional<Shrunk> shrink() {
    Scenario scenario = packet_scenario(study_, option_, 1);
    double packets = packets_of(*option_.flow, scenario);
    const Scenario whole = scenario;
    // Layers first: they repeat. Then what keeps the shape of the network.
    while (packets > study_.spec.packets) {
      const bool smaller = halve_layers(scenario, packets) || halve_batches(scenario, packets) ||
                           halve_model(scenario, packets) || halve_servers(scenario, packets) ||
                           halve_messages(scenario, packets);
      if (!smaller) return std::nullopt;
    }
    std::string how = difference(whole, scenario);
    return Shrunk{std::move(scenario), std::move(how)};
  }

 private:
  bool halve_layers(Scenario& scenario, double& packets) {
    return each_training(scenario, packets, [](TrainingSpec& training) {
      const std::uint32_t half = training.model.layers / 2;
      if (half < 2 * training.parallelism.pipeline) return false;
      training.model.parameters *= static_cast<double>(half) / training.model.layers;
      training.model.layers = half;
      return true;
    });
  }

  bool halve_batches(Scenario& scenario, double& packets) {
    return each_training(scenario, packets, [](TrainingSpec& training) {
      const std::uint32_t half = training.micro_batches / 2;
      if (half < 2 * training.parallelism.pipeline) return false;
      training.micro_batches = half;
      return true;
    });
  }

  // Messages and compute of everything, by the same factor.
  bool halve_model(Scenario& scenario, double& packets) {
    if (model_parts_ >= kMostModelParts) return false;
    const bool any = each_training(scenario, packets, [](TrainingSpec& training) {
      if (training.model.hidden % 2 != 0 || training.bucket_bytes < 2 * kSmallestMessage) {
        return false;
      }
      training.model.hidden /= 2;
      training.model.parameters /= 2;
      training.bucket_bytes /= 2;
      return true;
    });
    if (any) model_parts_ *= 2;
    return any;
  }

  template <class Halve>
  bool each_training(Scenario& scenario, double& packets, Halve halve) {
    bool any = false;
    for (JobSpec& job : scenario.jobs) {
      auto* training = std::get_if<TrainingSpec>(&job.work);
      if (training != nullptr && halve(*training)) any = true;
    }
    if (any) packets /= 2;
    return any;
  }

  // Reads the plan again with half of the servers, and keeps what was halved in its jobs.
  bool halve_servers(Scenario& scenario, double& packets) {
    const std::uint32_t half = candidate_.servers / 2;
    if (candidate_.servers % 2 != 0 || half < kFewestServers) return false;
    Candidate smaller = candidate_;
    smaller.servers = half;
    auto overrides = overrides_of(smaller, study_.spec, study_.prices);
    if (!overrides) return false;
    auto read = scenario_of(study_.spec, *overrides);
    if (!read || read->jobs.size() != scenario.jobs.size()) return false;
    for (std::size_t i = 0; i < scenario.jobs.size(); ++i) keep(scenario.jobs[i], read->jobs[i]);
    read->name = scenario.name;
    read->back_end.nic_delay = scenario.back_end.nic_delay;
    read->back_end.trunk_delay = scenario.back_end.trunk_delay;
    scenario = *std::move(read);
    candidate_ = smaller;
    packets /= 2;
    return true;
  }

  static void keep(const JobSpec& from, JobSpec& to) {
    if (const auto* training = std::get_if<TrainingSpec>(&from.work)) {
      auto& other = std::get<TrainingSpec>(to.work);
      other.model = training->model;
      other.bucket_bytes = training->bucket_bytes;
      other.micro_batches = training->micro_batches;
    } else if (const auto* flows = std::get_if<FlowsSpec>(&from.work)) {
      std::get<FlowsSpec>(to.work).bytes = flows->bytes;
    } else if (const auto* collective = std::get_if<CollectiveSpec>(&from.work)) {
      std::get<CollectiveSpec>(to.work).bytes = collective->bytes;
    }
  }

  bool halve_messages(Scenario& scenario, double& packets) {
    bool any = false;
    const auto halve = [&any](std::uint64_t& bytes) {
      if (bytes / 2 < kSmallestMessage) return;
      bytes /= 2;
      any = true;
    };
    for (JobSpec& job : scenario.jobs) {
      if (auto* flows = std::get_if<FlowsSpec>(&job.work)) {
        if (flows->file.empty()) halve(flows->bytes);
      } else if (auto* collective = std::get_if<CollectiveSpec>(&job.work)) {
        halve(collective->bytes);
      }
    }
    if (any) packets /= 2;
    return any;
  }

  static std::string difference(const Scenario& whole, const Scenario& small) {
    std::string text;
    const auto say = [&text](const std::string& words) {
      text += (text.empty() ? "" : ", ") + words;
    };
    if (small.servers.count != whole.servers.count) {
      say(fmt::format("{} servers instead of {}", small.servers.count, whole.servers.count));
    }
    for (std::size_t i = 0; i < whole.jobs.size(); ++i) {
      compare(whole.jobs[i], small.jobs[i], say);
    }
    return text;
  }

  template <class Say>
  static void compare(const JobSpec& whole, const JobSpec& small, Say say) {
    const auto bytes = [&say](std::uint64_t before, std::uint64_t after) {
      if (before == after) return;
      say(fmt::format("messages of {} instead of {}", scenario_file::bytes_text(after),
                      scenario_file::bytes_text(before)));
    };
    if (const auto* a = std::get_if<TrainingSpec>(&whole.work)) {
      const auto& b = std::get<TrainingSpec>(small.work);
      if (a->model.layers != b.model.layers) {
        say(fmt::format("{} layers instead of {}", b.model.layers, a->model.layers));
      }
      if (a->model.hidden != b.model.hidden) {
        say(fmt::format("messages and compute of a layer divided by {}",
                        a->model.hidden / b.model.hidden));
      }
      if (a->micro_batches != b.micro_batches) {
        say(fmt::format("{} micro-batches instead of {}", b.micro_batches, a->micro_batches));
      }
    } else if (const auto* flows = std::get_if<FlowsSpec>(&whole.work)) {
      bytes(flows->bytes, std::get<FlowsSpec>(small.work).bytes);
    } else if (const auto* collective = std::get_if<CollectiveSpec>(&whole.work)) {
      bytes(collective->bytes, std::get<CollectiveSpec>(small.work).bytes);
    }
  }

  const Study& study_;
  const Option& option_;
  Candidate candidate_;
  std::uint32_t model_parts_{1};
};

}  // namespace

double packets_of(const Figures& flow, const Scenario& scenario) {
  constexpr double kHops = 4;  // a packet is on about as many cables
  const double packet = scenario.nics.transport == Transport::kTcp
                            ? scenario.tcp.mtu
                            : static_cast<double>(nic::bytes(scenario.nics.mtu));
  return flow.link_bytes / kHops / packet;
}

std::optional<Shrunk> shrink(const Study& study, const Option& option) {
  return Shrinking{study, option}.shrink();
}

Scenario estimate_scenario(const Study& study, const Option& option) {
  Scenario scenario = packet_scenario(study, option, 1);
  scenario.fidelity = Fidelity::kFlow;
  // What flows do not know: the same estimate serves all of these.
  if (option.candidate.network == NetworkKind::kLossyRoce) {
    scenario.back_end.switches.buffer.lossless = BufferConfig{}.lossless;
    scenario.nics.recovery = Recovery::kGoBackN;
  }
  return scenario;
}

Scenario packet_scenario(const Study& study, const Option& option, std::uint32_t seed) {
  auto scenario = scenario_of(study.spec, option.overrides);
  CHECK(scenario.has_value());  // it was read before
  scenario->name = study.spec.name + " " + std::to_string(option.number);
  scenario->seed = seed;
  scenario->fidelity = Fidelity::kPacket;
  return *std::move(scenario);
}

}  // namespace nerve::sim::plan
