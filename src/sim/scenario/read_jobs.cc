#include <algorithm>

#include "sim/scenario/job_kind.h"
#include "sim/scenario/keys.h"
#include "sim/scenario/tables.h"
#include "sim/scenario/words.h"

namespace nerve::sim::scenario_file {
namespace {

using Names = std::vector<std::string_view>;

// A key of another kind of job gets a different error than an unknown key.
Names names_of_other_kinds() {
  Names names{"model", "parallelism"};
  add_names(flows_keys(), names);
  add_names(collective_keys(), names);
  add_names(training_keys(), names);
  add_names(simai_keys(), names);
  add_names(chakra_keys(), names);
  return names;
}

void refuse_other_kinds(const TableAt& table, std::string_view kind, Names& known) {
  for (const std::string_view name : names_of_other_kinds()) {
    if (!table.has(name) || std::ranges::find(known, name) != known.end()) continue;
    table.wrong(name, "a job of kind \"" + std::string{kind} + "\" has no such key");
    known.push_back(name);  // report it only once
  }
}

template <class Spec>
void read_work(const TableAt& table, std::string_view kind, std::span<const Key<Spec>> all,
               Names known, Spec& spec) {
  const std::vector<Key<Spec>> keys = keys_for(all, kind);
  add_names(std::span<const Key<Spec>>{keys}, known);
  refuse_other_kinds(table, kind, known);
  refuse_others(table, known);
  read_keys(table, std::span<const Key<Spec>>{keys}, spec);
}

void read_model(const TableAt& table, TrainingSpec& training) {
  if (!table.has("model")) {
    table.wrong("", "model is missing; write [job.model] with parameters, layers and hidden");
  }
  read_table(table, "model", model_keys(), training.model);
  read_table(table, "parallelism", parallelism_keys(), training.parallelism);
}

void read_stragglers(const TableAt& table, JobSpec& job) {
  const std::vector<const Node*> nodes = find_tables(table, "straggler");
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const TableAt one{*nodes[i], table.path_of("straggler." + std::to_string(i)), table.errors};
    Names names;
    add_names(straggler_keys(), names);
    refuse_others(one, names);
    read_keys(one, straggler_keys(), job.stragglers.emplace_back());
  }
}

void read_job(const TableAt& table, JobSpec& job) {
  Names known{"straggler"};
  add_names(job_keys(), known);
  read_keys(table, job_keys(), job);
  read_stragglers(table, job);
  const Node* said = table.node.find("kind");
  const std::string_view kind = name_of(kind_of(job.work), kJobKinds);
  if (said == nullptr || said->text != kind)
    return;  // already reported; the other keys depend on it
  if (auto* flows = std::get_if<FlowsSpec>(&job.work)) {
    read_work(table, kind, flows_keys(), std::move(known), *flows);
  } else if (auto* collective = std::get_if<CollectiveSpec>(&job.work)) {
    read_work(table, kind, collective_keys(), std::move(known), *collective);
  } else if (auto* training = std::get_if<TrainingSpec>(&job.work)) {
    known.insert(known.end(), {"model", "parallelism"});
    read_work(table, kind, training_keys(), std::move(known), *training);
    read_model(table, *training);
  } else if (auto* simai = std::get_if<SimaiSpec>(&job.work)) {
    read_work(table, kind, simai_keys(), std::move(known), *simai);
  } else if (auto* chakra = std::get_if<ChakraSpec>(&job.work)) {
    read_work(table, kind, chakra_keys(), std::move(known), *chakra);
  }
}

// Gives each job a unique name.
void name_jobs(std::vector<JobSpec>& jobs) {
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (!jobs[i].name.empty()) continue;
    jobs[i].name = name_of(kind_of(jobs[i].work), kJobKinds);
    if (jobs.size() > 1) jobs[i].name += " " + std::to_string(i);
  }
}

}  // namespace

void read_jobs(const TableAt& document, Scenario& scenario) {
  const std::vector<const Node*> nodes = find_tables(document, "job");
  if (nodes.empty()) {
    document.wrong("job", "there is no job; write [[job]] with kind = \"all-reduce\"");
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const TableAt table{*nodes[i], "job." + std::to_string(i), document.errors};
    read_job(table, scenario.jobs.emplace_back());
  }
  name_jobs(scenario.jobs);
}

}  // namespace nerve::sim::scenario_file
