// Address handles, and addresses from received datagrams.
#include <endian.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <span>

#include "verbs/address.h"
#include "verbs/lid.h"
#include "verbs/pd.h"
#include "wire/ip.h"

namespace nerve::verbs {

wire::Gid gid_of(const ibv_gid& gid) {
  wire::Gid out;
  std::memcpy(out.bytes.data(), gid.raw, sizeof gid.raw);
  return out;
}

ibv_gid gid_of(const wire::Gid& gid) {
  ibv_gid out{};
  std::memcpy(out.raw, gid.bytes.data(), sizeof out.raw);
  return out;
}

nic::AddressVector address_of(const ibv_ah_attr& attr) {
  return {.destination = gid_of(attr.grh.dgid),
          .source_gid_index = attr.grh.sgid_index,
          .traffic_class = attr.grh.traffic_class,
          .hop_limit = attr.grh.hop_limit,
          .flow_label = attr.grh.flow_label,
          .service_level = attr.sl,
          .port = attr.port_num,
          .is_global = attr.is_global != 0,
          .destination_lid = attr.dlid};
}

ibv_ah_attr attr_of(const nic::AddressVector& address) {
  ibv_ah_attr attr{};
  attr.grh.dgid = gid_of(address.destination);
  attr.grh.flow_label = address.flow_label;
  attr.grh.sgid_index = address.source_gid_index;
  attr.grh.hop_limit = address.hop_limit;
  attr.grh.traffic_class = address.traffic_class;
  attr.dlid = address.destination_lid;
  attr.sl = address.service_level;
  attr.is_global = address.is_global ? 1 : 0;
  attr.port_num = address.port;
  return attr;
}

namespace {

// The source and destination of a datagram, from the 40 bytes before its payload: an IPv6 header,
// or an IPv4 header in the last 20.
struct Origin {
  wire::Gid source, destination;
  std::uint8_t traffic_class{};
  std::uint8_t hop_limit{};
};

std::optional<Origin> origin_of(const ibv_grh& grh) {
  const std::span bytes{reinterpret_cast<const std::byte*>(&grh), sizeof grh};
  // The engine writes all 40 bytes, so the first one tells which header it is.
  if (const auto v6 = wire::Ipv6Header::decode(bytes)) {
    return Origin{v6->source, v6->destination, v6->traffic_class, v6->hop_limit};
  }
  if (const auto v4 = wire::Ipv4Header::decode(bytes.last<wire::Ipv4Header::kSize>())) {
    return Origin{v4->source, v4->destination, v4->traffic_class, v4->hop_limit};
  }
  return std::nullopt;
}

std::optional<std::uint8_t> index_of(ibv_context* context, const wire::Gid& gid) {
  const Session session = query(*ours(context).adapter);
  for (std::uint32_t i = 0; i < session->config().gid_table_size; ++i) {
    if (const auto own = session->query_gid(i); own && *own == gid) {
      return static_cast<std::uint8_t>(i);
    }
  }
  return std::nullopt;
}

}  // namespace
}  // namespace nerve::verbs

using namespace nerve;
using namespace nerve::verbs;

extern "C" {

ibv_ah* ibv_create_ah(ibv_pd* pd, ibv_ah_attr* attr) VERBS_NOEXCEPT {
  if (const int error = check_live(pd); error != 0) return none(error);
  auto made = std::unique_ptr<VerbsAh>{new (std::nothrow) VerbsAh};
  if (!made) return none(ENOMEM);
  const auto address = with_gid(query(*ours(pd->context).adapter).nic(), address_of(*attr));
  const auto handle = Session(*ours(pd->context).adapter, Session::For::kObjects)
                          ->create_ah(ours(pd).handle, address);
  if (!handle) return none(refused(pd->context, handle.error()));
  made->ah = {.context = pd->context, .pd = pd, .handle = handle->index};
  made->handle = *handle;
  made->destination = address.destination;
  add_live(made->ah);
  return &made.release()->ah;
}

int ibv_destroy_ah(ibv_ah* ah) VERBS_NOEXCEPT {
  if (const int error = check_live(ah); error != 0) return fail(error);
  const auto gone =
      Session(*ours(ah->context).adapter, Session::For::kAll)->destroy_ah(ours(ah).handle);
  if (!gone) return refused(ah->context, gone.error());
  remove_live(ah);
  free_later(ours(ah));
  return 0;
}

int ibv_init_ah_from_wc(ibv_context* context, uint8_t port, ibv_wc* wc, ibv_grh* grh,
                        ibv_ah_attr* attr) VERBS_NOEXCEPT {
  if (const int error = check_live(context); error != 0) {
    errno = error;
    return -1;
  }
  *attr = {};
  attr->dlid = wc->slid;
  attr->src_path_bits = wc->dlid_path_bits;
  attr->port_num = port;
  if ((wc->wc_flags & IBV_WC_GRH) == 0) {
    attr->sl = wc->sl;
    return 0;
  }
  // The service level of a received datagram is not valid (nic/rx_handler/grh.h).
  attr->is_global = 1;
  const auto origin = origin_of(*grh);
  if (!origin) {
    errno = EPROTONOSUPPORT;
    return -1;
  }
  // A datagram sent to a multicast group contains no address of ours to reply from.
  const auto index = index_of(context, origin->destination);
  if (!index) {
    errno = EINVAL;
    return -1;
  }
  attr->grh.dgid = gid_of(origin->source);
  attr->grh.flow_label = be32toh(grh->version_tclass_flow) & IB_GRH_FLOWLABEL_MASK;
  attr->grh.sgid_index = *index;
  attr->grh.hop_limit = origin->hop_limit;
  attr->grh.traffic_class = origin->traffic_class;
  return 0;
}

ibv_ah* ibv_create_ah_from_wc(ibv_pd* pd, ibv_wc* wc, ibv_grh* grh, uint8_t port) VERBS_NOEXCEPT {
  if (const int error = check_live(pd); error != 0) return none(error);
  ibv_ah_attr attr;
  if (ibv_init_ah_from_wc(pd->context, port, wc, grh, &attr) != 0) return nullptr;
  return ibv_create_ah(pd, &attr);
}

// Not supported: the kernel's IP stack handles Ethernet addresses.
int ibv_resolve_eth_l2_from_gid(ibv_context* /*context*/, ibv_ah_attr* /*attr*/,
                                uint8_t /*mac*/[ETHERNET_LL_SIZE],
                                uint16_t* /*vlan*/) VERBS_NOEXCEPT {
  return -EOPNOTSUPP;
}

}  // extern "C"
