#include "tests/bad_days/worlds/settings.h"

#include <cstdlib>
#include <vector>

#include "base/prng.h"

namespace worlds {
namespace {

void set(const char* name, const std::string& value) {
  if (!value.empty()) ::setenv(name, value.c_str(), 1);
}

// "loss=1.7%": random, up to the limit, in tenths of a percent.
std::string rate(const char* word, std::uint64_t limit_per_mille, nerve::Prng& prng) {
  const std::uint64_t tenths = prng.between(1, limit_per_mille);
  return std::string{word} + "=" + std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) +
         "%";
}

}  // namespace

std::string Settings::describe() const {
  std::string text = faults.empty() ? "no faults" : faults;
  if (!ring_size.empty()) text += ", ring_size=" + ring_size;
  if (!congestion.empty()) text += ", congestion=" + congestion;
  if (!offloads.empty()) text += ", offloads=" + offloads;
  if (noise) text += ", noise";
  return text;
}

Settings draw_settings(std::uint64_t first_seed, bool udp) {
  nerve::Prng prng{first_seed * 0x1'0001U + (udp ? 1 : 0)};
  Settings s;
  s.udp = udp;
  // Some rings are almost always full, others never.
  if (!udp && prng.chance(300)) s.ring_size = "64K";
  if (udp && prng.chance(300)) s.offloads = "off";
  if (prng.chance(300)) s.congestion = "dcqcn";
  s.noise = prng.chance(250);
  if (prng.chance(350)) return s;
  std::vector<std::string> words;
  if (prng.chance(600)) words.push_back(rate("loss", 40, prng));
  if (prng.chance(300)) words.push_back(rate("corrupt", 20, prng));
  const std::size_t losing = words.size();
  s.loses = losing > 0;
  if (prng.chance(400)) words.push_back(rate("dup", 40, prng));
  if (prng.chance(400)) words.push_back(rate("reorder", 40, prng));
  if (prng.chance(300)) {
    // Delayed packets are overtaken by others.
    const std::uint64_t longest = std::uint64_t{20} << prng.below(7);
    words.push_back("delay=" + std::to_string(prng.between(1, 10)) + "%:10us.." +
                    std::to_string(longest) + "us");
  }
  s.repeats = words.size() > losing;
  if (prng.chance(300)) words.push_back(rate("ecn", 300, prng));
  for (const std::string& word : words) s.faults += (s.faults.empty() ? "" : ",") + word;
  return s;
}

void apply(const Settings& settings, std::uint64_t first_seed, std::uint64_t side) {
  const std::string seed = ";seed=" + std::to_string(2 * first_seed + side);
  set("NERVE_FAULT", settings.faults.empty() ? std::string{} : settings.faults + seed);
  set("NERVE_RING_SIZE", settings.ring_size);
  set("NERVE_CONGESTION", settings.congestion);
  set("NERVE_OFFLOADS", settings.offloads);
}

}  // namespace worlds
