// The files by which Linux presents RDMA devices, as values: the contents that
// /sys/class/infiniband, /sys/class/infiniband_verbs and /dev/infiniband would have if our devices
// were kernel devices.
//
// Nothing here accesses a file system. namespace.h mounts a tree for a program; the preload library
// answers from one. There is no PCI identity, because there is no such device. Counters are those
// of all programs that use a device (docs/metrics.md).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/config/config.h"
#include "host/devices/device.h"
#include "host/diagnostics/records.h"

namespace nerve::sysfs {

inline constexpr std::string_view kDevices = "/sys/class/infiniband";
inline constexpr std::string_view kVerbsDevices = "/sys/class/infiniband_verbs";
inline constexpr std::string_view kNodes = "/dev/infiniband";

enum class NodeKind : std::uint32_t { kFolder, kFile, kLink, kCharDevice };

struct Node {
  std::string path;
  NodeKind kind{};
  std::string text;              // contents, or the target of a link: always an absolute path
  std::uint32_t minor_number{};  // of a character device
  friend bool operator==(const Node&, const Node&) = default;
};

// A directory comes before its entries.
using Tree = std::vector<Node>;

// The parts of a tree that depend on the machine and not on its devices.
struct Surroundings {
  std::string all_cpus;  // a mask in the format of sysfs: "3" or "ffffffff,ffffffff"
  std::vector<host::DeviceRecord> traffic{};  // per device; empty: none so far
};

[[nodiscard]] Surroundings look_around();
[[nodiscard]] Tree make_tree(std::span<const host::Device> devices, const Surroundings& around);

// True for the path of a counter, whose contents change.
[[nodiscard]] bool is_counter(std::string_view path);

// The tree for the devices that a process with this configuration would find, with their current
// counters. What one process reads never decreases, although other programs end.
[[nodiscard]] Tree current_tree(const host::Config& config);
// The same with the configuration of this process.
[[nodiscard]] Tree current_tree();

}  // namespace nerve::sysfs
