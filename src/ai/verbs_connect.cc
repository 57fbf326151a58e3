#include <array>
#include <cerrno>
#include <cstring>

#include "ai/verbs_transport.h"

namespace nerve::ai {

Status VerbsTransport::create_lanes() {
  for (int peer = 0; peer < place_.size; ++peer) {
    if (peer == place_.rank) continue;
    for (int i = 0; i < 2 * lanes_; ++i) {
      const int number = i / 2;
      const auto which = static_cast<std::size_t>(i % 2);
      VerbsDevice& device = devices_[device_of(number)];
      ibv_qp_init_attr attr{};
      attr.send_cq = attr.recv_cq = device.cq;
      attr.qp_type = IBV_QPT_RC;
      attr.cap = {.max_send_wr = kSendDepth,
                  .max_recv_wr = kReceiveDepth,
                  .max_send_sge = 1,
                  .max_recv_sge = 1,
                  .max_inline_data = kInline};
      ibv_qp* qp = ibv_create_qp(device.pd, &attr);
      if (qp == nullptr) {
        return failure(
            Error::Kind::kSystem,
            std::string{device.name()} + ": cannot create a queue pair: " + std::strerror(errno));
      }
      lane_table_[index_of(peer, number) + which * second_qps()].qp = qp;
    }
  }
  return Done{};
}

std::string VerbsTransport::address_for(int peer) {
  MessageWriter writer;
  writer.number(static_cast<std::uint64_t>(lanes_));
  for (int number = 0; number < lanes_; ++number) {
    const VerbsDevice& device = devices_[device_of(number)];
    writer.number(lane_table_[index_of(peer, number)].qp->qp_num);
    writer.number(lane_table_[index_of(peer, number) + second_qps()].qp->qp_num);
    writer.number(device.port_attr.lid).number(device.port_attr.active_mtu);
    writer.number(static_cast<std::uint64_t>(device.read_depth));
    writer.text({reinterpret_cast<const char*>(device.gid.raw), sizeof device.gid.raw});
  }
  return writer.as_text();
}

Status VerbsTransport::connect(int peer, const std::string& address) {
  MessageReader reader{address};
  const std::string who = "rank " + std::to_string(peer);
  const std::uint64_t lanes = reader.number();
  if (lanes != static_cast<std::uint64_t>(lanes_)) {
    return failure(Error::Kind::kProtocol,
                   who + " uses " + std::to_string(lanes) + " queue pairs per peer, this rank " +
                       std::to_string(lanes_) +
                       "; use the same number of devices and QPs everywhere",
                   peer);
  }
  for (int number = 0; number < lanes_; ++number) {
    const std::size_t first = index_of(peer, number);
    const std::array<std::uint64_t, 2> qps{reader.number(), reader.number()};
    ibv_qp_attr attr{};
    if (Status read = read_address(reader, number, attr); !read) {
      return failure(read.error().kind, who + ": " + read.error().text, peer);
    }
    for (std::size_t which = 0; which < 2; ++which) {
      const std::size_t index = first + which * second_qps();
      attr.dest_qp_num = static_cast<std::uint32_t>(qps[which] & 0xffffff);
      if (Status up = bring_up(lane_table_[index], number, attr); !up) {
        return failure(up.error().kind, who + ": " + up.error().text, peer);
      }
      if (post_receives(lane_table_[index].qp, kReceiveId | index, kReceiveDepth) != 0) {
        return failure(Error::Kind::kSystem, "cannot post receives");
      }
    }
  }
  if (!reader.complete()) {
    return failure(Error::Kind::kProtocol, who + " sent an invalid RDMA address", peer);
  }
  return Done{};
}

// The parts that both QPs of a lane have in common.
Status VerbsTransport::read_address(MessageReader& theirs, int number, ibv_qp_attr& attr) const {
  const VerbsDevice& device = devices_[device_of(number)];
  attr.ah_attr.dlid = static_cast<std::uint16_t>(theirs.number());
  const auto mtu = static_cast<ibv_mtu>(std::clamp<std::uint64_t>(theirs.number(), 1, 5));
  const auto depth = static_cast<int>(std::clamp<std::uint64_t>(theirs.number(), 1, 16));
  const std::string gid = theirs.text();
  if (gid.size() != sizeof(ibv_gid)) {
    return failure(Error::Kind::kProtocol, "it sent an invalid RDMA address");
  }
  attr.path_mtu = std::min(mtu, device.port_attr.active_mtu);
  attr.max_rd_atomic = static_cast<std::uint8_t>(std::min(depth, device.read_depth));
  std::memcpy(attr.ah_attr.grh.dgid.raw, gid.data(), gid.size());
  return Done{};
}

Status VerbsTransport::bring_up(Lane& lane, int number, ibv_qp_attr attr) {
  const VerbsDevice& device = devices_[device_of(number)];
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = device.port;
  attr.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  int error = ibv_modify_qp(lane.qp, &attr,
                            IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  attr.qp_state = IBV_QPS_RTR;
  attr.max_dest_rd_atomic = static_cast<std::uint8_t>(device.read_depth);
  attr.min_rnr_timer = 1;
  attr.ah_attr.port_num = device.port;
  attr.ah_attr.is_global = device.port_attr.link_layer == IBV_LINK_LAYER_ETHERNET ? 1 : 0;
  attr.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(device.gid_index);
  attr.ah_attr.grh.hop_limit = 64;
  if (error == 0) {
    error = ibv_modify_qp(lane.qp, &attr,
                          IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                              IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  }
  attr.qp_state = IBV_QPS_RTS;
  attr.timeout = 18;  // 1 s: the control connections notice a death much earlier
  attr.retry_cnt = 7;
  attr.rnr_retry = 7;  // without limit: a rank that computes posts no receives
  if (error == 0) {
    error = ibv_modify_qp(lane.qp, &attr,
                          IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                              IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
  }
  if (error == 0) return Done{};
  return failure(
      Error::Kind::kSystem,
      std::string{device.name()} + ": cannot connect a queue pair: " + std::strerror(error));
}

Result<std::unique_ptr<Registration>, Error> VerbsTransport::add_memory(const Memory& memory,
                                                                        std::size_t length,
                                                                        Lifetime lifetime) {
  auto made = std::make_unique<Registration>();
  made->address = memory.data;
  made->length = length;
  made->gpu = memory.gpu;
  made->allocation = memory.allocation;
  const bool on_demand = lifetime == Lifetime::kMayChange && memory.gpu == nullptr;
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    unsigned access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
    // Each access to on-demand memory first checks that its pages are mapped.
    if (devices_[i].on_demand && on_demand) access |= IBV_ACCESS_ON_DEMAND;
    ibv_mr* mr = (ibv_reg_mr)(devices_[i].pd, memory.data, length, static_cast<int>(access));
    if (mr == nullptr) {
      const int error = errno;
      remove_memory(*made);
      return failure(Error::Kind::kSystem, std::string{devices_[i].name()} + ": cannot register " +
                                               std::to_string(length) + " bytes " +
                                               (memory.gpu != nullptr ? "of a GPU " : "") + "at " +
                                               address_text(memory.data) + ": " +
                                               std::strerror(error) +
                                               (error == ENOMEM ? "; raise `ulimit -l`" : ""));
    }
    made->handles[i] = mr;
    made->local_keys[i] = mr->lkey;
    made->remote_keys[i] = mr->rkey;
  }
  return made;
}

void VerbsTransport::remove_memory(Registration& memory) {
  for (void*& handle : memory.handles) {
    if (handle != nullptr) ibv_dereg_mr(static_cast<ibv_mr*>(handle));
    handle = nullptr;
  }
}

Result<std::unique_ptr<Transport>, Error> open_verbs_transport(Place place,
                                                               const TransportOptions& options) {
  const int qps = std::clamp(options.qps_per_peer, 1, kMaxLanes);
  const int entries = static_cast<int>(kSendDepth + kReceiveDepth) * 2 * qps * place.size;
  auto devices = open_devices(options.devices, entries);
  if (!devices) return passed_on(devices);
  const int lanes = std::min(static_cast<int>(devices->size()) * qps, kMaxLanes);
  auto made = std::make_unique<VerbsTransport>(place, std::move(*devices), lanes);
  if (Status created = made->create_lanes(); !created) return passed_on(created);
  return std::unique_ptr<Transport>{std::move(made)};
}

}  // namespace nerve::ai
