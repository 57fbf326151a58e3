// The files by which Linux shows RDMA devices, as values: what /sys/class/infiniband,
// /sys/class/infiniband_verbs and /dev/infiniband would hold if our devices were the kernel's.
//
// Nothing here touches a file system. namespace.h mounts a tree for a program; the preload library
// answers from one. Only what is true is in it: there are no counters, for those of a process end
// with it, and no PCI identity, for there is no such device.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/devices/device.h"

namespace nerve::offer {

inline constexpr std::string_view kDevices = "/sys/class/infiniband";
inline constexpr std::string_view kVerbsDevices = "/sys/class/infiniband_verbs";
inline constexpr std::string_view kNodes = "/dev/infiniband";

enum class NodeKind : std::uint32_t { kFolder, kFile, kLink, kCharDevice };

struct Node {
  std::string path;
  NodeKind kind{};
  std::string text;              // contents, or where a link leads: always an absolute path
  std::uint32_t minor_number{};  // of a character device
  friend bool operator==(const Node&, const Node&) = default;
};

// A folder comes before what is in it.
using Tree = std::vector<Node>;

// What of a tree depends on the machine and not on its devices.
struct Surroundings {
  std::string all_cpus;  // a mask, as sysfs writes it: "3" or "ffffffff,ffffffff"
};

[[nodiscard]] Surroundings look_around();
[[nodiscard]] Tree make_tree(std::span<const host::Device> devices, const Surroundings& around);

// Of the devices that this process would find.
[[nodiscard]] Tree current_tree();

}  // namespace nerve::offer
