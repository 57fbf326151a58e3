#include "cli/sample_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "host/diagnostics/counter_names.h"

namespace nerve::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostEnded = 64;

Json qps_json(const std::vector<host::QpReport>& qps) {
  Json list = Json::array();
  for (const host::QpReport& qp : qps) {
    list.push_back({{"device", qp.device},
                    {"number", qp.number},
                    {"type", qp.type},
                    {"state", qp.state},
                    {"peer", qp.peer},
                    {"address", qp.address},
                    {"path", qp.path},
                    {"rate", qp.rate}});
  }
  return list;
}

Json running_json(const host::ProcessReport& report) {
  return {
      {"pid", report.pid},          {"program", report.program},   {"running", true},
      {"answers", report.answered}, {"counters", report.counters}, {"qps", qps_json(report.qps)}};
}

Json ended_json(const host::ProcessRecord& record) {
  const host::DeviceCounters total = record.total();
  Json counters = Json::object();
  for (const host::CounterName& counter : host::counter_names()) {
    counters[std::string{counter.name}] = counter.value(total);
  }
  return {{"pid", record.pid}, {"program", record.program},       {"running", false},
          {"answers", false},  {"counters", std::move(counters)}, {"qps", Json::array()}};
}

std::vector<const host::ProcessRecord*> youngest_ended(const host::Records& records) {
  std::vector<const host::ProcessRecord*> ended;
  for (const host::ProcessRecord& record : records.processes) {
    if (!record.alive) ended.push_back(&record);
  }
  std::ranges::sort(ended, std::greater{}, &host::ProcessRecord::started);
  if (ended.size() > kMostEnded) ended.resize(kMostEnded);
  return ended;
}

}  // namespace

std::string sample_json(const Sample& sample) {
  Json devices = Json::array();
  for (const DeviceState& device : sample.devices) {
    devices.push_back({{"name", device.name}, {"up", device.up}});
  }
  Json programs = Json::array();
  for (const host::ProcessReport& report : sample.processes) {
    programs.push_back(running_json(report));
  }
  for (const host::ProcessRecord* record : youngest_ended(sample.records)) {
    programs.push_back(ended_json(*record));
  }
  const Json all{{"at", sample.at.count()}, {"devices", devices}, {"programs", programs}};
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace nerve::cli
