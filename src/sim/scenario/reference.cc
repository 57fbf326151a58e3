#include "sim/scenario/reference.h"

#include "sim/scenario/keys.h"

namespace nerve::sim {
namespace {

using namespace scenario_file;

template <class Spec>
void add(const std::string& table, std::span<const Key<Spec>> keys, std::vector<ScenarioKey>& all) {
  for (const Key<Spec>& key : keys) {
    KeyWords words;
    Value asked{words};
    Spec none{};
    key.read(asked, none);
    std::string meaning{key.meaning};
    if (!key.only_for.empty()) meaning += " (" + std::string{key.only_for} + ")";
    all.push_back({table, std::string{key.name}, words.takes,
                   key.fallback.empty() ? words.fallback : std::string{key.fallback}, meaning});
  }
}

}  // namespace

std::vector<ScenarioKey> scenario_keys() {
  std::vector<ScenarioKey> all;
  add("", top_keys(), all);
  add("[servers]", server_keys(), all);
  add("[fabric]", network_keys(), all);
  add("[fabric.buffer]", buffer_keys(), all);
  add("[fabric.ecn]", ecn_keys(), all);
  add("[nic]", nic_keys(), all);
  add("[nic.hardware]", hardware_keys(), all);
  add("[nic.admission]", admission_keys(), all);
  add("[nic.dcqcn]", dcqcn_keys(), all);
  add("[nic.timely]", timely_keys(), all);
  add("[nic.swift]", swift_keys(), all);
  add("[nic.hpcc]", hpcc_keys(), all);
  add("[nic.nscc]", nscc_keys(), all);
  add("[tcp]", tcp_keys(), all);
  add("[storage]", storage_keys(), all);
  add("[[job]]", job_keys(), all);
  add("[[job]] of messages", flows_keys(), all);
  add("[[job]] of a collective", collective_keys(), all);
  add("[[job]] of training", training_keys(), all);
  add("[[job]] of a SimAI workload", simai_keys(), all);
  add("[[job]] of Chakra traces", chakra_keys(), all);
  add("[job.model]", model_keys(), all);
  add("[job.parallelism]", parallelism_keys(), all);
  add("[[job.straggler]]", straggler_keys(), all);
  add("[[fault]]", fault_keys(), all);
  add("[output]", output_keys(), all);
  return all;
}

std::string markdown_row(const ScenarioKey& key) {
  return "| `" + key.name + "` | " + key.takes + " | " + key.fallback + " | " + key.meaning + " |";
}

}  // namespace nerve::sim
