#include <limits>

#include "sim/scenario/keys.h"
#include "sim/scenario/words.h"

namespace nerve::sim::scenario_file {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::seconds;

// clang-format off
constexpr Key<Scenario> kTop[] = {
    {"name", "shown in reports; names the results folder",
     [](Value& v, Scenario& s) { v.text(s.name); }, "name of the file"},
    {"description", "the question it answers; shown at the top of the report",
     [](Value& v, Scenario& s) { v.text(s.description); }, "none"},
    {"seed", "seed of all random choices: the same seed gives the same results",
     [](Value& v, Scenario& s) { v.count(s.seed, 0, std::numeric_limits<std::int64_t>::max()); }},
    {"fidelity", "each packet, or messages as flows with fair rates: much faster, without queues and losses",
     [](Value& v, Scenario& s) { v.word(s.fidelity, kFidelities); }},
    {"until", "simulated time limit; jobs that are not done by then are stopped",
     [](Value& v, Scenario& s) { v.time(s.until, microseconds{1}, hours{24}); }},
};

constexpr Key<FaultSpec> kFault[] = {
    {"at", "when it begins",
     [](Value& v, FaultSpec& f) { v.time(f.at, Duration{}, hours{24}); }, kRequired},
    {"kind", "the cable fails, is restored, slows down or damages packets; or a NIC pauses its switch continuously",
     [](Value& v, FaultSpec& f) { v.word(f.kind, kFaults); }, kRequired},
    {"from", "one end of the cable, by name: nic12, leaf0, spine1; for a storm, the NIC",
     [](Value& v, FaultSpec& f) { v.text(f.from); }, kRequired},
    {"to", "its other end",
     [](Value& v, FaultSpec& f) { v.text(f.to); }, kRequired, "down, up, slow, errors"},
    {"rate", "the reduced rate, in each direction",
     [](Value& v, FaultSpec& f) { v.rate(f.rate); }, kRequired, "slow"},
    {"bit_error_rate", "probability of an error per bit: 1e-9",
     [](Value& v, FaultSpec& f) { v.number(f.bit_error_rate, 1e-18, 1e-2); }, kRequired, "errors"},
    {"reroute", "delay until switches use other paths",
     [](Value& v, FaultSpec& f) { v.time(f.reroute, Duration{}, seconds{100}); }, "", "down, up"},
    {"lasts", "duration",
     [](Value& v, FaultSpec& f) { v.time(f.lasts, Duration{1000}, hours{24}); }, "to the end of the run", "storm"},
};

constexpr Key<OutputSpec> kOutput[] = {
    {"sample_every", "interval between samples of queues and links",
     [](Value& v, OutputSpec& o) { v.time(o.sample_every, Duration{10'000}, seconds{10}); },
     "about 1/1000 of the run"},
    {"top_ports", "number of ports whose queue length is recorded over time",
     [](Value& v, OutputSpec& o) { v.count(o.top_ports, 0, 4096); }},
};
// clang-format on

}  // namespace

std::span<const Key<Scenario>> top_keys() { return kTop; }
std::span<const Key<FaultSpec>> fault_keys() { return kFault; }
std::span<const Key<OutputSpec>> output_keys() { return kOutput; }

}  // namespace nerve::sim::scenario_file
