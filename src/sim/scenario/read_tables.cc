#include <filesystem>

#include "sim/scenario/keys.h"
#include "sim/scenario/tables.h"

namespace nerve::sim::scenario_file {
namespace {

using Names = std::vector<std::string_view>;

// Reads [fabric] or [front_end] with their nested tables.
void read_network(const TableAt& document, std::string_view name, Names tables,
                  NetworkSpec& network) {
  const Node* node = find_table(document, name);
  if (node == nullptr) return;
  const TableAt table{*node, std::string{name}, document.errors};
  tables.insert(tables.end(), {"buffer", "ecn"});
  add_names(network_keys(), tables);
  refuse_others(table, tables);
  read_keys(table, network_keys(), network);
  read_table(table, "buffer", buffer_keys(), network.switches.buffer);
  read_table(table, "ecn", ecn_keys(), network.switches.marking);
}

// Reads [nic] or [front_end.nic].
void read_nic(const TableAt& in, NicSpec& nic) {
  const Node* node = find_table(in, "nic");
  if (node == nullptr) return;
  const TableAt table{*node, in.path_of("nic"), in.errors};
  Names names{"hardware", "admission", "dcqcn", "timely", "swift", "hpcc", "nscc"};
  add_names(nic_keys(), names);
  refuse_others(table, names);
  read_keys(table, nic_keys(), nic);
  read_table(table, "hardware", hardware_keys(), nic.hardware);
  read_table(table, "admission", admission_keys(), nic.admission);
  read_table(table, "dcqcn", dcqcn_keys(), nic.flow_control.dcqcn);
  read_table(table, "timely", timely_keys(), nic.flow_control.timely);
  read_table(table, "swift", swift_keys(), nic.flow_control.swift);
  read_table(table, "hpcc", hpcc_keys(), nic.flow_control.hpcc);
  read_table(table, "nscc", nscc_keys(), nic.flow_control.nscc);
}

void read_front_end(const TableAt& document, Scenario& scenario) {
  const Node* node = find_table(document, "front_end");
  if (node == nullptr) return;
  scenario.front_end.emplace();
  scenario.front_end->nic_rate = Rate::gigabits(100);
  read_network(document, "front_end", {"nic"}, *scenario.front_end);
  scenario.front_end_nics.transport = Transport::kTcp;
  read_nic({*node, "front_end", document.errors}, scenario.front_end_nics);
}

void read_faults(const TableAt& document, Scenario& scenario) {
  const std::vector<const Node*> nodes = find_tables(document, "fault");
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const TableAt table{*nodes[i], "fault." + std::to_string(i), document.errors};
    Names names;
    add_names(fault_keys(), names);
    refuse_others(table, names);
    // The required keys depend on the kind.
    FaultSpec& fault = scenario.faults.emplace_back();
    const Node* kind = table.node.find("kind");
    const auto keys = keys_for(fault_keys(), kind != nullptr ? kind->text : std::string_view{});
    read_keys(table, std::span<const Key<FaultSpec>>{keys}, fault);
  }
}

void name_it(const std::string& file, Scenario& scenario) {
  if (scenario.name.empty()) scenario.name = std::filesystem::path{file}.stem().string();
  if (scenario.name.empty()) scenario.name = "scenario";
}

}  // namespace

void read_tables(const TableAt& document, Scenario& scenario) {
  Names names{"fabric", "front_end", "servers", "storage", "nic", "tcp", "job", "fault", "output"};
  add_names(top_keys(), names);
  refuse_others(document, names);
  read_keys(document, top_keys(), scenario);
  name_it(document.errors.file(), scenario);
  read_network(document, "fabric", {}, scenario.back_end);
  read_front_end(document, scenario);
  if (!document.has("servers")) {
    document.wrong("servers", "is missing; write [servers] with count = 8");
  }
  read_table(document, "servers", server_keys(), scenario.servers);
  if (document.has("storage")) {
    scenario.storage.emplace();
    scenario.storage->on_front_end = scenario.front_end.has_value();
    read_table(document, "storage", storage_keys(), *scenario.storage);
  }
  read_nic(document, scenario.nics);
  read_table(document, "tcp", tcp_keys(), scenario.tcp);
  read_faults(document, scenario);
  read_table(document, "output", output_keys(), scenario.output);
}

}  // namespace nerve::sim::scenario_file
