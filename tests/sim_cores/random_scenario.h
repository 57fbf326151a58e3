// A scenario of any kind of link, routing, congestion control, job and fault.
#pragma once

#include <cstdint>
#include <string>

#include "base/prng.h"

namespace nerve::sim {

template <std::size_t N>
std::string one_of(Prng& prng, const char* const (&words)[N]) {
  return words[prng.below(N)];
}

inline std::string line(const std::string& key, const std::string& word) {
  return key + " = \"" + word + "\"\n";
}

inline std::string job(Prng& prng) {
  static constexpr const char* kKinds[] = {"permutation", "incast",     "all-to-all",
                                           "all-reduce",  "all-gather", "random"};
  const std::string kind = one_of(prng, kKinds);
  std::string text = "[[job]]\n" + line("kind", kind);
  text += line("size", std::to_string(prng.between(1, 400)) + " KB");
  if (kind == "random") text += "load = 0.5\nrequests = 100\n";
  if (kind == "random" && prng.chance(500)) text += line("qps", "per-flow");
  if (prng.chance(300)) text += line("start", std::to_string(prng.below(50'000)) + " ns");
  return text;
}

inline std::string fault(Prng& prng) {
  const std::string at = std::to_string(prng.below(60'000)) + " ns";
  std::string text = "[[fault]]\n" + line("at", at) + line("from", "leaf0") + line("to", "spine1");
  switch (prng.below(3)) {
    case 0:
      return text + line("kind", "down") + line("reroute", "5 us");
    case 1:
      return text + line("kind", "slow") + line("rate", "25 Gb/s");
    default:
      return text + line("kind", "errors") + "bit_error_rate = 1e-7\n";
  }
}

inline std::string random_scenario(std::uint64_t seed) {
  static constexpr const char* kTopologies[] = {"leaf-spine", "leaf-spine", "fat-tree",
                                                "rail-optimised", "dragonfly"};
  static constexpr const char* kRoutings[] = {"ecmp", "spray", "adaptive", "flowlet"};
  static constexpr const char* kControls[] = {"none",  "dcqcn", "timely",
                                              "swift", "hpcc",  "learned"};
  Prng prng{seed};
  const std::string topology = one_of(prng, kTopologies);
  const bool rails = topology == "rail-optimised";
  std::string text = "seed = " + std::to_string(seed) + "\n[servers]\n";
  text += "count = " + std::to_string(rails ? prng.between(4, 8) : 16) + "\n";
  text += rails ? "gpus = 4\n" : "gpus = 1\n";
  if (prng.chance(200)) text += line("post_delay", std::to_string(prng.between(1, 900)) + " ns");
  text += "[fabric]\n" + line("topology", topology) + line("nic_rate", "100 Gb/s");
  if (topology == "leaf-spine") text += "nics_per_leaf = 4\nspines = 2\n";
  const bool infiniband = prng.chance(300);
  if (infiniband) text += line("link", "infiniband");
  const bool valiant = topology == "dragonfly" && prng.chance(500);
  const bool controlled = !infiniband && !valiant && prng.chance(200);
  const std::string routing = controlled ? "controlled" : one_of(prng, kRoutings);
  text += line("routing", valiant ? "valiant" : routing);
  if (!infiniband && prng.chance(200)) text += line("pfc_watchdog", "10 us");
  // Parts of Ultra Ethernet, from a generator of their own.
  Prng ultra{seed ^ 0x0e7eU};
  const bool trims = !infiniband && routing == "ecmp" && ultra.chance(500);
  if (trims) text += "trimming = true\n";
  if (ultra.chance(200)) text += "link_retry = true\n";
  const std::string control = infiniband ? "none" : one_of(prng, kControls);
  text += "[nic]\n" + line("congestion", trims && ultra.chance(700) ? "nscc" : control);
  const bool sprays = trims && !valiant && ultra.chance(700);
  if (sprays) text += line("spray", "entropy");
  const bool grants = trims && ultra.chance(400);
  if (grants) text += "receiver_credits = true\n";
  if (prng.chance(300) && !sprays && !grants) text += line("recovery", "selective-repeat");
  if (prng.chance(200)) text += "[nic.hardware]\nmodelled = true\ncached_qps = 8\n";
  if (prng.chance(200)) text += "[nic.admission]\nlimit = \"200 KB\"\nchunk = \"50 KB\"\n";
  for (std::uint64_t jobs = prng.between(1, 3); jobs > 0; --jobs) text += job(prng);
  if (topology == "leaf-spine" && prng.chance(500)) text += fault(prng);
  return text;
}

}  // namespace nerve::sim
