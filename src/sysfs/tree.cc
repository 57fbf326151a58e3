#include "sysfs/tree.h"

#include <endian.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <mutex>

#include "host/config/config.h"
#include "host/devices/identity.h"
#include "host/diagnostics/port_counters.h"
#include "host/host.h"

namespace nerve::sysfs {
namespace {

template <class... Numbers>
std::string format(const char* how, Numbers... numbers) {
  std::array<char, 64> text{};
  // NOLINTNEXTLINE(cert-err33-c): every format below is shorter
  std::snprintf(text.data(), text.size(), how, numbers...);
  return text.data();
}

std::string guid_text(std::uint64_t guid) {
  return format("%04x:%04x:%04x:%04x\n", static_cast<unsigned>(guid >> 48U),
                static_cast<unsigned>(guid >> 32U & 0xffffU),
                static_cast<unsigned>(guid >> 16U & 0xffffU),
                static_cast<unsigned>(guid & 0xffffU));
}

std::string gid_text(const wire::Gid& gid) {
  std::string text;
  for (std::size_t i = 0; i < gid.bytes.size(); i += 2) {
    text += format(i == 0 ? "%02x%02x" : ":%02x%02x", std::to_integer<unsigned>(gid.bytes[i]),
                   std::to_integer<unsigned>(gid.bytes[i + 1]));
  }
  return text + "\n";
}

// Same as libibverbs reports (verbs/lid.h): the last 16 bits of the first IPv4 address.
unsigned lid_of(const host::Device& device) {
  for (const wire::Gid& gid : device.gids) {
    if (!gid.is_ipv4()) continue;
    return std::to_integer<unsigned>(gid.bytes[14]) << 8U |
           std::to_integer<unsigned>(gid.bytes[15]);
  }
  return 0;
}

class Builder {
 public:
  void folder(const std::string& path) { tree_.push_back({path, NodeKind::kFolder, "", 0}); }
  void file(const std::string& path, std::string text) {
    tree_.push_back({path, NodeKind::kFile, std::move(text), 0});
  }
  void link(const std::string& path, std::string target) {
    tree_.push_back({path, NodeKind::kLink, std::move(target), 0});
  }
  void char_device(const std::string& path, std::uint32_t minor_number) {
    tree_.push_back({path, NodeKind::kCharDevice, "", minor_number});
  }
  Tree take() { return std::move(tree_); }

 private:
  Tree tree_;
};

// There is one file per table entry. Those of empty entries contain zero, and their attributes
// cannot be read.
void add_gids(Builder& tree, const std::string& port, const host::Device& device) {
  tree.folder(port + "/gids");
  for (std::uint32_t i = 0; i < host::kGidTableSize; ++i) {
    const wire::Gid gid = i < device.gids.size() ? device.gids[i] : wire::Gid{};
    tree.file(port + "/gids/" + std::to_string(i), gid_text(gid));
  }
  tree.folder(port + "/gid_attrs");
  tree.folder(port + "/gid_attrs/types");
  tree.folder(port + "/gid_attrs/ndevs");
  for (std::size_t i = 0; i < device.gids.size(); ++i) {
    tree.file(port + "/gid_attrs/types/" + std::to_string(i), "RoCE v2\n");
    tree.file(port + "/gid_attrs/ndevs/" + std::to_string(i), device.interface + "\n");
  }
}

// In the units of Linux. Counters that mlx5 reports with some delay have none here.
void add_counters(Builder& tree, const std::string& port, const host::Device& device,
                  const Surroundings& around) {
  const auto found = std::ranges::find(around.traffic, device.name, &host::DeviceRecord::name);
  const host::DeviceCounters counters =
      found != around.traffic.end() ? found->counters : host::DeviceCounters{};
  tree.folder(port + "/counters");
  tree.folder(port + "/hw_counters");
  for (const host::PortCounter& counter : host::port_counters()) {
    const std::string folder = port + "/" + std::string{counter.folder};
    tree.file(folder + "/" + std::string{counter.file},
              std::to_string(counter.value(counters) / counter.unit) + "\n");
  }
}

void add_port(Builder& tree, const std::string& folder, const host::Device& device,
              const Surroundings& around) {
  tree.folder(folder + "/ports");
  const std::string port = folder + "/ports/1";
  tree.folder(port);
  tree.file(port + "/state", device.up ? "4: ACTIVE\n" : "1: DOWN\n");
  tree.file(port + "/phys_state", device.up ? "5: LinkUp\n" : "3: Disabled\n");
  tree.file(port + "/rate", host::kRateText);
  tree.file(port + "/link_layer", "Ethernet\n");
  tree.file(port + "/lid", format("0x%x\n", lid_of(device)));
  tree.file(port + "/lid_mask_count", "0\n");
  tree.file(port + "/sm_lid", "0x0\n");
  tree.file(port + "/sm_sl", "0\n");
  tree.file(port + "/cap_mask", format("0x%08x\n", host::kPortCapabilities));
  tree.folder(port + "/pkeys");
  tree.file(port + "/pkeys/0", "0xffff\n");
  add_gids(tree, port, device);
  add_counters(tree, port, device, around);
}

// No bus and no NUMA node: the engine runs on whichever CPU drives it.
void add_parent(Builder& tree, const std::string& folder, const host::Device& device,
                const Surroundings& around) {
  const std::string parent = folder + "/device";
  tree.folder(parent);
  tree.file(parent + "/numa_node", "-1\n");
  tree.file(parent + "/local_cpus", around.all_cpus + "\n");
  tree.file(parent + "/uevent", "DRIVER=nerve\n");
  tree.folder(parent + "/net");
  tree.link(parent + "/net/" + device.interface, "/sys/class/net/" + device.interface);
}

void add_device(Builder& tree, const host::Device& device, const Surroundings& around) {
  const std::string folder = std::string{kDevices} + "/" + device.name;
  tree.folder(folder);
  tree.file(folder + "/node_type", "1: CA\n");
  tree.file(folder + "/node_guid", guid_text(device.node_guid));
  tree.file(folder + "/sys_image_guid", guid_text(device.node_guid));
  tree.file(folder + "/node_desc", device.name + " on " + device.interface + "\n");
  tree.file(folder + "/fw_ver", std::string{host::kFirmware} + "\n");
  tree.file(folder + "/hca_type", "nerve\n");
  tree.file(folder + "/board_id", "nerve\n");
  add_port(tree, folder, device, around);
  add_parent(tree, folder, device, around);
}

void add_verbs_device(Builder& tree, const host::Device& device) {
  const std::string name = "uverbs" + std::to_string(device.index);
  const std::string folder = std::string{kVerbsDevices} + "/" + name;
  tree.folder(folder);
  tree.file(folder + "/ibdev", device.name + "\n");
  tree.file(folder + "/abi_version", "1\n");
  tree.file(folder + "/dev", format("%u:%u\n", host::kVerbsMajor, host::verbs_minor(device.index)));
  tree.link(folder + "/device", std::string{kDevices} + "/" + device.name + "/device");
}

}  // namespace

Surroundings look_around() {
  constexpr long kMost = 4096;
  const long found = ::sysconf(_SC_NPROCESSORS_CONF);
  const long cpus = found < 1 ? 1 : found > kMost ? kMost : found;
  Surroundings around;
  for (long first = (cpus - 1) / 32 * 32; first >= 0; first -= 32) {
    const long here = cpus - first < 32 ? cpus - first : 32;
    const auto mask = static_cast<unsigned>((std::uint64_t{1} << static_cast<unsigned>(here)) - 1);
    around.all_cpus += format(around.all_cpus.empty() ? "%x" : ",%08x", mask);
  }
  return around;
}

Tree make_tree(std::span<const host::Device> devices, const Surroundings& around) {
  Builder tree;
  tree.folder(std::string{kDevices});
  for (const host::Device& device : devices) add_device(tree, device, around);
  tree.folder(std::string{kVerbsDevices});
  tree.file(std::string{kVerbsDevices} + "/abi_version", "6\n");
  for (const host::Device& device : devices) add_verbs_device(tree, device);
  tree.folder(std::string{kNodes});
  for (const host::Device& device : devices) {
    tree.char_device(std::string{kNodes} + "/uverbs" + std::to_string(device.index),
                     host::verbs_minor(device.index));
  }
  return tree.take();
}

bool is_counter(std::string_view path) {
  return path.find("/ports/1/counters/") != std::string_view::npos ||
         path.find("/ports/1/hw_counters/") != std::string_view::npos;
}

namespace {

// Of all programs. One reader for the process, so that what a program reads does not shrink when
// another ends; a second thread, or the child of a fork, that finds it in use takes a fresh one.
std::vector<host::DeviceRecord> current_traffic() {
  static std::mutex in_use;
  static auto* const lasting = new host::RecordReader;
  const std::unique_lock guard{in_use, std::try_to_lock};
  if (guard) return lasting->read().by_device();
  return host::RecordReader{}.read().by_device();
}

}  // namespace

Tree current_tree(const host::Config& config) {
  Surroundings around = look_around();
  around.traffic = current_traffic();
  return make_tree(host::devices_of(config), around);
}

Tree current_tree() { return current_tree(host::load_config(host::process_environment()).config); }

}  // namespace nerve::sysfs
