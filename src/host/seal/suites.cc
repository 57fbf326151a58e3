#include "host/seal/suites.h"

#include <algorithm>

#include "base/cpu.h"

namespace nerve::host {
namespace {

using seal::Suite;

struct Named {
  std::string_view name;
  Suite suite;
};
constexpr Named kNames[] = {{"aes128-gcm", Suite::kAes128Gcm},
                            {"aes256-gcm", Suite::kAes256Gcm},
                            {"chacha20-poly1305", Suite::kChaCha20Poly1305},
                            {"aes256-gmac", Suite::kAes256Gmac}};

}  // namespace

std::string name_of(Suite suite) {
  const auto* const found = std::ranges::find(kNames, suite, &Named::suite);
  return found != std::end(kNames) ? std::string{found->name} : "unknown";
}

std::optional<std::vector<Suite>> parse_suites(std::string_view text) {
  if (text == "auto") return default_suites();
  std::vector<Suite> suites;
  while (!text.empty()) {
    const std::string_view name = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), name.size() + 1));
    const auto* const found = std::ranges::find(kNames, name, &Named::name);
    if (found == std::end(kNames)) return std::nullopt;
    suites.push_back(found->suite);
  }
  if (suites.empty()) return std::nullopt;
  return suites;
}

std::vector<Suite> default_suites() {
  std::vector<Suite> suites{Suite::kAes128Gcm, Suite::kAes256Gcm, Suite::kChaCha20Poly1305};
  if (!cpu_features().aes) std::rotate(suites.begin(), suites.begin() + 2, suites.end());
  return suites;
}

}  // namespace nerve::host
