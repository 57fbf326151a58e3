// `nerve doctor`: interfaces and the devices they become, the UDP port, what the kernel does for
// it.
#include <fmt/format.h>

#include <algorithm>

#include "cli/finding.h"
#include "cli/kernel_numbers.h"
#include "host/config/config.h"
#include "host/devices/interfaces.h"
#include "host/diagnostics/amounts.h"
#include "host/network/port_users.h"
#include "wire/describe.h"

namespace nerve::cli {
namespace {

Finding addresses(const std::vector<host::Interface>& interfaces, const host::Ability& ipv6) {
  std::size_t four = 0;
  std::size_t six = 0;
  for (const host::Interface& interface : interfaces) {
    for (const wire::Gid& gid : interface.addresses) ++(gid.is_ipv4() ? four : six);
  }
  std::string tells = fmt::format("{} IPv4, {} IPv6", four, six);
  if (!ipv6.works) return {Verdict::kNote, "addresses", tells + "; " + ipv6.reason, ""};
  return {Verdict::kOk, "addresses", std::move(tells), ""};
}

std::string device_text(const host::Device& device) {
  std::string gid = "no address yet";
  for (std::size_t i = 0; i < device.gids.size(); ++i) {
    if (i > 0 && !device.gids[i].is_ipv4()) continue;
    gid = fmt::format("gid {} is {}", i, to_string(device.gids[i]));
  }
  return fmt::format("interface {}, {}, mtu {}, {}", device.interface, device.up ? "up" : "down",
                     nic::bytes(device.active_mtu), gid);
}

void devices(const std::vector<host::Interface>& interfaces, const host::Config& config,
             Findings& findings) {
  const auto found = host::choose_devices(interfaces, config.devices);
  for (const host::Device& device : found) {
    findings.push_back({device.up ? Verdict::kOk : Verdict::kNote, device.name, device_text(device),
                        device.up ? "" : fmt::format("ip link set {} up", device.interface)});
  }
  for (const host::DeviceName& wanted : config.devices) {
    if (std::ranges::find(found, wanted.name, &host::Device::name) != found.end()) continue;
    findings.push_back({Verdict::kMissing, wanted.name,
                        fmt::format("no interface is called {}", wanted.interface),
                        "`ip link` lists them; NERVE_DEVICES, or devices in nerve.toml, names it"});
  }
  if (found.empty() && config.devices.empty()) {
    findings.push_back({Verdict::kMissing, "devices", "no interface is up and has an address",
                        "ip link set lo up"});
  }
}

std::string users_text(const std::vector<host::PortUser>& users) {
  std::string text;
  for (const host::PortUser& user : users) {
    text += text.empty() ? "" : ", ";
    text += user.pid != 0 ? fmt::format("{} ({})", user.pid, user.program)
                          : fmt::format("a process of user {}", user.uid);
  }
  return text;
}

Finding udp_port(const host::Config& config) {
  const host::PortCheck check = host::check_port(config.port);
  const std::string name = fmt::format("udp port {}", config.port);
  if (check.free) return {Verdict::kOk, name, "free; the first program takes it", ""};
  if (check.usable()) {
    return {Verdict::kOk, name, "shared by the programs that run: " + users_text(check.users), ""};
  }
  const bool needed = config.transport != host::Transport::kShm;
  return {
      needed ? Verdict::kMissing : Verdict::kNote, name,
      check.users.empty() ? check.reason : "held by " + users_text(check.users),
      "end it, or give every peer another port: nerve run --port 4792; between programs of this "
      "machine --transport shm needs none"};
}

Finding offload(std::string name, std::string tells, const host::Ability& ability) {
  if (ability.works) return {Verdict::kOk, std::move(name), std::move(tells), ""};
  return {Verdict::kNote, std::move(name), ability.reason + "; packets go one by one, slower",
          "a newer kernel, or container runtime, knows it"};
}

Finding buffers(const host::Checkup& checkup, const host::Config& config) {
  // The kernel tells twice what was asked for: its own records count as well.
  const auto got =
      static_cast<std::uint64_t>(std::min(checkup.send_buffer, checkup.receive_buffer));
  const std::string tells =
      fmt::format("{} out, {} in for each socket",
                  host::bytes_text(static_cast<std::uint64_t>(checkup.send_buffer)),
                  host::bytes_text(static_cast<std::uint64_t>(checkup.receive_buffer)));
  if (got >= config.socket_buffer) return {Verdict::kOk, "udp buffers", tells, ""};
  return {Verdict::kNote, "udp buffers", tells + "; bursts of many peers may be lost",
          fmt::format("sudo sysctl -w net.core.rmem_max={0} net.core.wmem_max={0}",
                      config.socket_buffer)};
}

}  // namespace

void examine_network(const host::Checkup& checkup, Findings& findings) {
  const host::Config config = host::load_process_config();
  const std::vector<host::Interface> interfaces = host::list_interfaces();
  findings.push_back(addresses(interfaces, checkup.ipv6));
  devices(interfaces, config, findings);
  findings.push_back(udp_port(config));
  findings.push_back(
      offload("trains out", "leave in one call (UDP_SEGMENT)", checkup.segmentation));
  findings.push_back(
      offload("trains in", "arrive in one call (UDP_GRO)", checkup.receive_coalescing));
  findings.push_back(buffers(checkup, config));
}

}  // namespace nerve::cli
