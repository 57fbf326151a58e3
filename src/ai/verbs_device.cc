#include "ai/verbs_device.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "ai/transport.h"

namespace nerve::ai {
namespace {

struct FreeDevices {
  void operator()(ibv_device** list) const { ibv_free_device_list(list); }
};

bool maps_ipv4(const ibv_gid& gid) {
  static constexpr std::uint8_t kPrefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::memcmp(gid.raw, kPrefix, sizeof kPrefix) == 0;
}

bool is_loopback(const ibv_gid& gid) {
  static constexpr std::uint8_t kV6[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  return (maps_ipv4(gid) && gid.raw[12] == 127) || std::memcmp(gid.raw, kV6, sizeof kV6) == 0;
}

}  // namespace

void VerbsDevice::swap(VerbsDevice& other) noexcept {
  std::swap(context, other.context);
  std::swap(pd, other.pd);
  std::swap(channel, other.channel);
  std::swap(cq, other.cq);
  std::swap(port, other.port);
  std::swap(port_attr, other.port_attr);
  std::swap(gid_index, other.gid_index);
  std::swap(gid, other.gid);
  std::swap(on_demand, other.on_demand);
  std::swap(read_depth, other.read_depth);
}

VerbsDevice::~VerbsDevice() {
  if (cq != nullptr) ibv_destroy_cq(cq);
  if (channel != nullptr) ibv_destroy_comp_channel(channel);
  if (pd != nullptr) ibv_dealloc_pd(pd);
  if (context != nullptr) ibv_close_device(context);
}

bool VerbsDevice::find_port() {
  ibv_device_attr attr{};
  if (ibv_query_device(context, &attr) != 0) return false;
  read_depth = std::clamp(std::min(attr.max_qp_rd_atom, attr.max_qp_init_rd_atom), 1, 16);
  for (std::uint8_t number = 1; number <= attr.phys_port_cnt; ++number) {
    if (ibv_query_port(context, number, &port_attr) == 0 && port_attr.state == IBV_PORT_ACTIVE) {
      port = number;
      return true;
    }
  }
  return false;
}

// RoCEv2 with an IPv4 address if there is one: the one that crosses routers in most networks.
void VerbsDevice::choose_gid() {
  int best = -1;
  for (int index = 0; index < port_attr.gid_tbl_len; ++index) {
    ibv_gid_entry entry{};
    if (ibv_query_gid_ex(context, port, static_cast<std::uint32_t>(index), &entry, 0) != 0) {
      continue;
    }
    const bool v2 = entry.gid_type == IBV_GID_TYPE_ROCE_V2;
    const int score = (v2 ? 2 : 0) + (maps_ipv4(entry.gid) ? 1 : 0);
    if (score <= best) continue;
    best = score;
    gid = entry.gid;
    gid_index = index;
  }
  if (best < 0) ibv_query_gid(context, port, 0, &gid);
}

Result<VerbsDevice, Error> VerbsDevice::open(ibv_device* device, int cq_entries) {
  VerbsDevice made;
  const std::string name = ibv_get_device_name(device);
  const auto refused = [&](const std::string& what) {
    return failure(Error::Kind::kSystem, name + ": " + what + ": " + std::strerror(errno));
  };
  made.context = ibv_open_device(device);
  if (made.context == nullptr) return refused("cannot open the device");
  if (!made.find_port()) {
    return failure(Error::Kind::kUsage, name + " has no active port; see ibv_devinfo");
  }
  made.choose_gid();
  ibv_device_attr_ex more{};
  if (ibv_query_device_ex(made.context, nullptr, &more) == 0) {
    constexpr std::uint32_t kNeeded = IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ;
    made.on_demand = (more.odp_caps.general_caps & IBV_ODP_SUPPORT) != 0 &&
                     (more.odp_caps.per_transport_caps.rc_odp_caps & kNeeded) == kNeeded;
  }
  made.pd = ibv_alloc_pd(made.context);
  if (made.pd == nullptr) return refused("cannot allocate a protection domain");
  made.channel = ibv_create_comp_channel(made.context);
  if (made.channel == nullptr) return refused("cannot create a completion channel");
  made.cq = ibv_create_cq(
      made.context,
      std::min(cq_entries, more.orig_attr.max_cqe > 0 ? more.orig_attr.max_cqe : cq_entries),
      nullptr, made.channel, 0);
  if (made.cq == nullptr) {
    return refused("cannot create a completion queue of " + std::to_string(cq_entries) +
                   " entries");
  }
  return made;
}

Result<std::vector<VerbsDevice>, Error> open_devices(const std::vector<std::string>& names,
                                                     int cq_entries) {
  int count = 0;
  const std::unique_ptr<ibv_device*, FreeDevices> list{ibv_get_device_list(&count)};
  std::vector<VerbsDevice> devices;
  std::vector<VerbsDevice> loopback;
  std::string known;
  for (int i = 0; i < count; ++i) {
    ibv_device* device = list.get()[i];
    const std::string name = ibv_get_device_name(device);
    known += (known.empty() ? "" : ", ") + name;
    if (!names.empty()) continue;
    auto opened = VerbsDevice::open(device, cq_entries);
    if (!opened) continue;
    (is_loopback(opened->gid) ? loopback : devices).push_back(std::move(*opened));
  }
  for (const std::string& wanted : names) {
    bool found = false;
    for (int i = 0; i < count && !found; ++i) {
      if (wanted != ibv_get_device_name(list.get()[i])) continue;
      auto opened = VerbsDevice::open(list.get()[i], cq_entries);
      if (!opened) return passed_on(opened);
      devices.push_back(std::move(*opened));
      found = true;
    }
    if (!found) {
      return failure(Error::Kind::kUsage, "no RDMA device is called '" + wanted +
                                              "'; there are: " + (known.empty() ? "none" : known));
    }
  }
  if (devices.empty()) devices = std::move(loopback);
  if (devices.empty()) {
    return failure(Error::Kind::kSystem,
                   "no RDMA device with an active port; run the program under `nerve run --`, or "
                   "choose the transport tcp");
  }
  while (devices.size() > kMaxDevices) devices.pop_back();
  return devices;
}

}  // namespace nerve::ai
