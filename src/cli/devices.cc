// `nerve devices`: lists the devices that a verbs program will find on this machine.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "host/config/config.h"
#include "host/host.h"
#include "wire/describe.h"

namespace nerve::cli {
namespace {

constexpr const char* kDevicesFooter = R"(
Every network interface that is up and has an address is a device; the loopback interface is one only if
there is no other. NERVE_DEVICES=NAME=IFACE,... selects others. The GID table holds the interface's
addresses; programs select an entry (-g in ibv_rc_pingpong, -x in perftest).

--json prints one object per line: name, interface, state, active_mtu, node_guid, gids.

Exit code: 0  there is a device, and no requested device is missing
           1  there is none, or a requested one is missing)";

// In the format of ibv_devinfo.
std::string guid_text(std::uint64_t guid) {
  return fmt::format("{:04x}:{:04x}:{:04x}:{:04x}", guid >> 48U, guid >> 32U & 0xffffU,
                     guid >> 16U & 0xffffU, guid & 0xffffU);
}

void print_text(const host::Device& device) {
  fmt::print("{}  interface {}, {}, mtu {}, guid {}\n", device.name, device.interface,
             device.up ? "up" : "down", nic::bytes(device.active_mtu), guid_text(device.node_guid));
  for (std::size_t i = 0; i < device.gids.size(); ++i) {
    fmt::print("  gid {:<2}  {}\n", i, to_string(device.gids[i]));
  }
}

void print_json(const host::Device& device) {
  nlohmann::ordered_json line{{"name", device.name},
                              {"interface", device.interface},
                              {"state", device.up ? "up" : "down"},
                              {"active_mtu", nic::bytes(device.active_mtu)},
                              {"node_guid", guid_text(device.node_guid)},
                              {"gids", nlohmann::json::array()}};
  for (const wire::Gid& gid : device.gids) line["gids"].push_back(to_string(gid));
  fmt::print("{}\n", line.dump());
}

// Reports requested devices whose interface does not exist; false if there are any.
bool all_there(const std::vector<host::Device>& devices) {
  bool all = true;
  for (const host::DeviceName& wanted : host::load_process_config().devices) {
    if (std::ranges::find(devices, wanted.name, &host::Device::name) != devices.end()) continue;
    fmt::print(stderr, "nerve devices: {}={}: no such interface; `ip link` lists the interfaces\n",
               wanted.name, wanted.interface);
    all = false;
  }
  return all;
}

int list_devices(bool json) {
  const std::vector<host::Device> devices = host::Host::current().devices();
  for (const host::Device& device : devices) json ? print_json(device) : print_text(device);
  const bool all = all_there(devices);
  if (devices.empty() && all) {
    fmt::print(
        stderr,
        "nerve devices: no devices: no interface is up and has an address; try: ip link set lo "
        "up\n");
  }
  return devices.empty() || !all ? kExitFailed : kExitOk;
}

}  // namespace

void add_devices(CLI::App& program, int& exit_code) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command = program.add_subcommand("devices", "List the RDMA devices of this machine");
  command->add_flag("--json", *json, "JSON, one object per line");
  command->footer(kDevicesFooter);
  command->callback([json, &exit_code] { exit_code = list_devices(*json); });
}

}  // namespace nerve::cli
