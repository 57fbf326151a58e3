#include "host/seal/policy.h"

#include <arpa/inet.h>

#include <algorithm>
#include <string>

#include "host/config/setting_values.h"

namespace nerve::host {
namespace {

constexpr unsigned kGidBits = 128;
constexpr unsigned kMappedBits = 96;  // in front of an IPv4 address

struct Address {
  wire::Gid gid;
  unsigned bits_before{};  // of the address itself
};

std::optional<Address> parse_base(const std::string& text) {
  Address address;
  if (text.find('\0') != std::string::npos) return std::nullopt;
  if (::inet_pton(AF_INET6, text.c_str(), address.gid.bytes.data()) == 1) return address;
  in_addr ipv4{};
  if (::inet_pton(AF_INET, text.c_str(), &ipv4) != 1) return std::nullopt;
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(&ipv4);
  address.gid = wire::Gid::ipv4(bytes[0], bytes[1], bytes[2], bytes[3]);
  address.bits_before = kMappedBits;
  return address;
}

bool contains(const SealNetwork& network, const wire::Gid& gid) {
  const auto bit = [](const wire::Gid& of, unsigned i) {
    return of.bytes[i / 8] >> (7 - i % 8) & std::byte{1};
  };
  for (unsigned i = 0; i < network.bits; ++i) {
    if (bit(network.base, i) != bit(gid, i)) return false;
  }
  return true;
}

// "10.0.0.0/8=require".
std::optional<SealNetwork> parse_network(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return std::nullopt;
  const auto mode = parse_seal_mode(text.substr(equals + 1));
  const std::string_view range = text.substr(0, equals);
  const std::size_t slash = range.find('/');
  const auto address = parse_base(std::string{range.substr(0, slash)});
  if (!mode || !address) return std::nullopt;
  unsigned bits = kGidBits - address->bits_before;
  if (slash != std::string_view::npos) {
    const auto given = parse_count(range.substr(slash + 1), 0, bits);
    if (!given) return std::nullopt;
    bits = static_cast<unsigned>(*given);
  }
  return SealNetwork{.base = address->gid, .bits = address->bits_before + bits, .mode = *mode};
}

}  // namespace

SealMode SealPolicy::mode_for(const wire::Gid& peer) const {
  const SealNetwork* best = nullptr;
  for (const SealNetwork& network : networks) {
    if (contains(network, peer) && (best == nullptr || network.bits >= best->bits)) best = &network;
  }
  return best != nullptr ? best->mode : mode;
}

bool SealPolicy::any() const {
  return mode != SealMode::kOff || std::ranges::any_of(networks, [](const SealNetwork& network) {
           return network.mode != SealMode::kOff;
         });
}

std::optional<wire::Gid> parse_address(std::string_view text) {
  const auto address = parse_base(std::string{text});
  return address ? std::optional{address->gid} : std::nullopt;
}

std::optional<SealMode> parse_seal_mode(std::string_view text) {
  if (text == "off") return SealMode::kOff;
  if (text == "prefer") return SealMode::kPrefer;
  if (text == "require") return SealMode::kRequire;
  return std::nullopt;
}

std::optional<std::vector<SealNetwork>> parse_seal_networks(std::string_view text) {
  std::vector<SealNetwork> networks;
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
    const auto network = parse_network(one);
    if (!network) return std::nullopt;
    networks.push_back(*network);
  }
  return networks;
}

}  // namespace nerve::host
