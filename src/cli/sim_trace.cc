#include "cli/sim_trace.h"

#include <fmt/format.h>

#include <set>

#include "cli/page_file.h"
#include "cli/run_folder.h"
#include "cli/trace_document.h"
#include "cli/trace_page.h"
#include "host/diagnostics/trace_names.h"
#include "sim/host/sim_nic.h"
#include "wire/describe.h"

namespace nerve::cli {
namespace {

std::uint64_t address_of(const sim::NicTrace& nic) {
  return host::short_trace_address(sim::gid_of(nic.node()));
}

// Only the QPs that are connected to the other NIC.
RecordedTrace recorded(const sim::NicTrace& nic, const sim::NicTrace& peer, std::uint32_t gpu) {
  RecordedTrace trace{.pid = gpu,
                      .program = fmt::format("GPU {}", gpu),
                      .device = fmt::format("NIC {}", nic.node().value()),
                      .address = wire::to_string(sim::gid_of(nic.node())),
                      .addresses = {address_of(nic)},
                      .lost = nic.lost(),
                      .records{}};
  std::set<std::uint32_t> qpns;
  for (const nic::TraceRecord& record : nic.records()) {
    if (record.step == nic::TraceStep::kModifyQp && record.id == address_of(peer)) {
      qpns.insert(record.qpn);
    }
  }
  for (const nic::TraceRecord& record : nic.records()) {
    if (qpns.contains(record.qpn)) trace.records.push_back(record);
  }
  return trace;
}

}  // namespace

bool write_sim_trace(const sim::Scenario& scenario, const sim::RunTrace& trace,
                     const std::string& folder, bool quiet) {
  const sim::NicTrace& from = trace.nics[0];
  const sim::NicTrace& to = trace.nics[1];
  TraceDocument document = make_trace_document(
      scenario.name, {recorded(from, to, trace.from), recorded(to, from, trace.to)});
  document.simulated = true;
  if (document.messages.empty()) {
    document.notes.push_back(
        fmt::format("GPUs {} and {} sent each other no messages by RDMA", trace.from, trace.to));
  }
  const auto page = read_page("trace.html");
  if (!page) {
    fmt::print(stderr, "nerve sim: {}\n", page.error());
    return false;
  }
  const std::string json = trace_json(document);
  if (!write_file("sim", folder + "/trace.json", json) ||
      !write_file("sim", folder + "/trace.html", trace_page(*page, json))) {
    return false;
  }
  if (quiet) return true;
  for (const std::string& note : document.notes) fmt::print(stderr, "nerve sim: {}\n", note);
  fmt::print(stderr, "nerve sim: {} messages in {}/trace.html\n", document.messages.size(), folder);
  return true;
}

}  // namespace nerve::cli
