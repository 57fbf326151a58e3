// `nerve doctor`: checks interfaces and their devices, the UDP port, and the kernel's offloads.
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
  std::string detail = fmt::format("{} IPv4, {} IPv6", four, six);
  if (!ipv6.works) return {Verdict::kNote, "addresses", detail + "; " + ipv6.reason, ""};
  return {Verdict::kOk, "addresses", std::move(detail), ""};
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
    findings.push_back(
        {Verdict::kMissing, wanted.name, fmt::format("no interface is called {}", wanted.interface),
         "`ip link` lists the interfaces; change NERVE_DEVICES, or devices in nerve.toml"});
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
  if (check.free) return {Verdict::kOk, name, "free", ""};
  if (check.usable()) {
    return {Verdict::kOk, name, "shared by running programs: " + users_text(check.users), ""};
  }
  const bool needed = config.transport != host::Transport::kShm;
  return {
      needed ? Verdict::kMissing : Verdict::kNote, name,
      check.users.empty() ? check.reason : "held by " + users_text(check.users),
      "end that program, or use another port on all peers: nerve run --port 4792; programs on this "
      "machine need no port with --transport shm"};
}

Finding offload(std::string name, std::string detail, const host::Ability& ability) {
  if (ability.works) return {Verdict::kOk, std::move(name), std::move(detail), ""};
  return {Verdict::kNote, std::move(name),
          ability.reason + "; packets are passed one by one, which is slower",
          "use a newer kernel or container runtime"};
}

Finding buffers(const host::Checkup& checkup, const host::Config& config) {
  // The kernel reports twice the requested size, because it counts its own overhead.
  const auto got =
      static_cast<std::uint64_t>(std::min(checkup.send_buffer, checkup.receive_buffer));
  const std::string detail =
      fmt::format("{} send, {} receive for each socket",
                  host::bytes_text(static_cast<std::uint64_t>(checkup.send_buffer)),
                  host::bytes_text(static_cast<std::uint64_t>(checkup.receive_buffer)));
  if (got >= config.socket_buffer) return {Verdict::kOk, "udp buffers", detail, ""};
  return {Verdict::kNote, "udp buffers", detail + "; bursts from many peers may be lost",
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
  findings.push_back(offload("trains out", "sent in one call (UDP_SEGMENT)", checkup.segmentation));
  findings.push_back(
      offload("trains in", "received in one call (UDP_GRO)", checkup.receive_coalescing));
  findings.push_back(buffers(checkup, config));
}

}  // namespace nerve::cli
