// The CM messages that set up and tear down a connection, as values (IBTA vol. 1, 12.6).
//
// Every field of the standard's tables is here, except reserved bits. Comments give the widths that
// no C++ type has; encoding a wider value is a bug of ours. cm_layout.h defines where each field
// lies, for both directions.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/ids.h"
#include "wire/cm_codes.h"
#include "wire/gid.h"

namespace nerve::wire {

template <std::size_t N>
using PrivateData = std::array<std::byte, N>;

// One of the two paths that a REQ proposes.
struct CmPath {
  std::uint16_t local_lid{};
  std::uint16_t remote_lid{};
  Gid local_gid{};
  Gid remote_gid{};
  std::uint32_t flow_label{};  // 20 bits
  std::uint8_t packet_rate{};  // 6 bits
  std::uint8_t traffic_class{};
  std::uint8_t hop_limit{};
  std::uint8_t service_level{};  // 4 bits
  bool subnet_local{};
  std::uint8_t local_ack_timeout{};  // 5 bits, an exponent of 4.096 us
  friend bool operator==(const CmPath&, const CmPath&) = default;
};

// Request for communication: the active side describes itself and the connection it wants.
struct CmReq {
  static constexpr CmAttribute kAttribute = CmAttribute::kReq;
  CommId local_comm_id{};
  ServiceId service_id{};
  std::uint64_t local_ca_guid{};
  std::uint32_t local_qkey{};
  Qpn local_qpn{};
  std::uint8_t responder_resources{};
  std::uint32_t local_eecn{};  // 24 bits
  std::uint8_t initiator_depth{};
  std::uint32_t remote_eecn{};                // 24 bits
  std::uint8_t remote_cm_response_timeout{};  // 5 bits
  CmTransport transport{};
  bool end_to_end_flow_control{};
  Psn starting_psn{};
  std::uint8_t local_cm_response_timeout{};  // 5 bits
  std::uint8_t retry_count{};                // 3 bits
  PKey pkey{};
  std::uint8_t path_mtu{};  // 4 bits: 1 is 256 bytes, 5 is 4096
  bool rdc_exists{};
  std::uint8_t rnr_retry_count{};  // 3 bits
  std::uint8_t max_cm_retries{};   // 4 bits
  bool srq{};
  CmExtendedTransport extended_transport{};
  CmPath primary{};
  CmPath alternate{};
  PrivateData<92> private_data{};
  friend bool operator==(const CmReq&, const CmReq&) = default;
};

// Message receipt acknowledgment: asks the peer to extend its timeout to this value.
struct CmMra {
  static constexpr CmAttribute kAttribute = CmAttribute::kMra;
  CommId local_comm_id{};
  CommId remote_comm_id{};
  CmSubject subject{};
  std::uint8_t service_timeout{};  // 5 bits
  PrivateData<222> private_data{};
  friend bool operator==(const CmMra&, const CmMra&) = default;
};

struct CmRej {
  static constexpr CmAttribute kAttribute = CmAttribute::kRej;
  CommId local_comm_id{};
  CommId remote_comm_id{};
  CmSubject subject{};
  std::uint8_t info_length{};  // 7 bits, from the peer: may exceed info_field
  RejectReason reason{};
  std::array<std::byte, 72> info_field{};
  PrivateData<148> private_data{};
  friend bool operator==(const CmRej&, const CmRej&) = default;

  // The additional reject information: the value that the peer would have accepted.
  [[nodiscard]] Bytes info() const {
    return Bytes{info_field}.first(std::min<std::size_t>(info_length, info_field.size()));
  }
};

// Reply to a REQ: the passive side describes itself.
struct CmRep {
  static constexpr CmAttribute kAttribute = CmAttribute::kRep;
  CommId local_comm_id{};
  CommId remote_comm_id{};
  std::uint32_t local_qkey{};
  Qpn local_qpn{};
  std::uint32_t local_eecn{};  // 24 bits
  Psn starting_psn{};
  std::uint8_t responder_resources{};
  std::uint8_t initiator_depth{};
  std::uint8_t target_ack_delay{};  // 5 bits
  CmFailover failover{};
  bool end_to_end_flow_control{};
  std::uint8_t rnr_retry_count{};  // 3 bits
  bool srq{};
  std::uint64_t local_ca_guid{};
  PrivateData<196> private_data{};
  friend bool operator==(const CmRep&, const CmRep&) = default;
};

struct CmRtu {  // ready to use
  static constexpr CmAttribute kAttribute = CmAttribute::kRtu;
  CommId local_comm_id{};
  CommId remote_comm_id{};
  PrivateData<224> private_data{};
  friend bool operator==(const CmRtu&, const CmRtu&) = default;
};

struct CmDreq {  // request to disconnect
  static constexpr CmAttribute kAttribute = CmAttribute::kDreq;
  CommId local_comm_id{};
  CommId remote_comm_id{};
  Qpn remote_qpn{};
  PrivateData<220> private_data{};
  friend bool operator==(const CmDreq&, const CmDreq&) = default;
};

struct CmDrep {  // reply to a DREQ
  static constexpr CmAttribute kAttribute = CmAttribute::kDrep;
  CommId local_comm_id{};
  CommId remote_comm_id{};
  PrivateData<224> private_data{};
  friend bool operator==(const CmDrep&, const CmDrep&) = default;
};

// Service ID resolution: asks for the UD QP that serves a service ID.
struct CmSidrReq {
  static constexpr CmAttribute kAttribute = CmAttribute::kSidrReq;
  CommId request_id{};
  PKey pkey{};
  ServiceId service_id{};
  PrivateData<216> private_data{};
  friend bool operator==(const CmSidrReq&, const CmSidrReq&) = default;
};

struct CmSidrRep {
  static constexpr CmAttribute kAttribute = CmAttribute::kSidrRep;
  CommId request_id{};
  SidrStatus status{};
  std::uint8_t info_length{};  // from the peer: may exceed info_field
  Qpn qpn{};
  ServiceId service_id{};
  std::uint32_t qkey{};
  std::array<std::byte, 72> info_field{};
  PrivateData<136> private_data{};
  friend bool operator==(const CmSidrRep&, const CmSidrRep&) = default;

  [[nodiscard]] Bytes info() const {
    return Bytes{info_field}.first(std::min<std::size_t>(info_length, info_field.size()));
  }
};

}  // namespace nerve::wire
