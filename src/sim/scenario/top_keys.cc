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
    {"name", "for people, and for the folder that results go to",
     [](Value& v, Scenario& s) { v.text(s.name); }, "the file's"},
    {"description", "what it asks; the report begins with it",
     [](Value& v, Scenario& s) { v.text(s.description); }, "none"},
    {"seed", "all the chance there is: the same seed gives the same results",
     [](Value& v, Scenario& s) { v.count(s.seed, 0, std::numeric_limits<std::int64_t>::max()); }},
    {"until", "jobs that take longer are given up, in simulated time",
     [](Value& v, Scenario& s) { v.time(s.until, microseconds{1}, hours{24}); }},
};

constexpr Key<FaultSpec> kFault[] = {
    {"at", "when it happens",
     [](Value& v, FaultSpec& f) { v.time(f.at, Duration{}, hours{24}); }, kNeeded},
    {"kind", "the cable fails; is as new; is slower; damages packets; or a NIC pauses its switch without end",
     [](Value& v, FaultSpec& f) { v.word(f.kind, kFaults); }, kNeeded},
    {"from", "one end of the cable, by name: nic12, leaf0, spine1; the NIC of a storm",
     [](Value& v, FaultSpec& f) { v.text(f.from); }, kNeeded},
    {"to", "its other end",
     [](Value& v, FaultSpec& f) { v.text(f.to); }, kNeeded, "down, up, slow, errors"},
    {"rate", "what is left of the cable, each way",
     [](Value& v, FaultSpec& f) { v.rate(f.rate); }, kNeeded, "slow"},
    {"bit_error_rate", "the chance of a bit to be damaged: 1e-9",
     [](Value& v, FaultSpec& f) { v.number(f.bit_error_rate, 1e-18, 1e-2); }, kNeeded, "errors"},
    {"reroute", "until switches use other ways",
     [](Value& v, FaultSpec& f) { v.time(f.reroute, Duration{}, seconds{100}); }, "", "down, up"},
    {"lasts", "how long",
     [](Value& v, FaultSpec& f) { v.time(f.lasts, Duration{1000}, hours{24}); }, "to the end", "storm"},
};

constexpr Key<OutputSpec> kOutput[] = {
    {"sample_every", "between two samples of queues and links",
     [](Value& v, OutputSpec& o) { v.time(o.sample_every, Duration{10'000}, seconds{10}); },
     "a thousandth of the run"},
    {"top_ports", "ports whose queue is kept over time",
     [](Value& v, OutputSpec& o) { v.count(o.top_ports, 0, 4096); }},
};
// clang-format on

}  // namespace

std::span<const Key<Scenario>> top_keys() { return kTop; }
std::span<const Key<FaultSpec>> fault_keys() { return kFault; }
std::span<const Key<OutputSpec>> output_keys() { return kOutput; }

}  // namespace nerve::sim::scenario_file
