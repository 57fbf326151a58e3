// The position of each field of a CM message in the 232 bytes after the MAD header: the tables of
// IBTA vol. 1, 12.6, written once for both reading and writing. Private to cm_mad.cc and its tests.
//
// Each line is: byte, bits to skip in it, width in bits, member. Bits that no line names are
// reserved.
#pragma once

#include <type_traits>

#include "wire/bit_fields.h"
#include "wire/cm_messages.h"

namespace nerve::wire {

// Matches the message type, const when it is written and mutable when it is read.
template <class Message, class As>
concept Like = std::is_same_v<std::remove_const_t<Message>, As>;

// Occupies 44 bytes, starting at `at`.
void lay_out(auto& io, Like<CmPath> auto& path, std::size_t at) {
  io.bits(at + 0, 0, 16, path.local_lid);
  io.bits(at + 2, 0, 16, path.remote_lid);
  io.bytes(at + 4, path.local_gid.bytes);
  io.bytes(at + 20, path.remote_gid.bytes);
  io.bits(at + 36, 0, 20, path.flow_label);
  io.bits(at + 39, 2, 6, path.packet_rate);
  io.bits(at + 40, 0, 8, path.traffic_class);
  io.bits(at + 41, 0, 8, path.hop_limit);
  io.bits(at + 42, 0, 4, path.service_level);
  io.bits(at + 42, 4, 1, path.subnet_local);
  io.bits(at + 43, 0, 5, path.local_ack_timeout);
}

void lay_out(auto& io, Like<CmReq> auto& req) {
  io.bits(0, 0, 32, req.local_comm_id);
  io.bits(8, 0, 64, req.service_id);
  io.bits(16, 0, 64, req.local_ca_guid);
  io.bits(28, 0, 32, req.local_qkey);
  io.bits(32, 0, 24, req.local_qpn);
  io.bits(35, 0, 8, req.responder_resources);
  io.bits(36, 0, 24, req.local_eecn);
  io.bits(39, 0, 8, req.initiator_depth);
  io.bits(40, 0, 24, req.remote_eecn);
  io.bits(43, 0, 5, req.remote_cm_response_timeout);
  io.bits(43, 5, 2, req.transport);
  io.bits(43, 7, 1, req.end_to_end_flow_control);
  io.bits(44, 0, 24, req.starting_psn);
  io.bits(47, 0, 5, req.local_cm_response_timeout);
  io.bits(47, 5, 3, req.retry_count);
  io.bits(48, 0, 16, req.pkey);
  io.bits(50, 0, 4, req.path_mtu);
  io.bits(50, 4, 1, req.rdc_exists);
  io.bits(50, 5, 3, req.rnr_retry_count);
  io.bits(51, 0, 4, req.max_cm_retries);
  io.bits(51, 4, 1, req.srq);
  io.bits(51, 5, 3, req.extended_transport);
  lay_out(io, req.primary, 52);
  lay_out(io, req.alternate, 96);
  io.bytes(140, req.private_data);
}

void lay_out(auto& io, Like<CmMra> auto& mra) {
  io.bits(0, 0, 32, mra.local_comm_id);
  io.bits(4, 0, 32, mra.remote_comm_id);
  io.bits(8, 0, 2, mra.subject);
  io.bits(9, 0, 5, mra.service_timeout);
  io.bytes(10, mra.private_data);
}

void lay_out(auto& io, Like<CmRej> auto& rej) {
  io.bits(0, 0, 32, rej.local_comm_id);
  io.bits(4, 0, 32, rej.remote_comm_id);
  io.bits(8, 0, 2, rej.subject);
  io.bits(9, 0, 7, rej.info_length);
  io.bits(10, 0, 16, rej.reason);
  io.bytes(12, rej.info_field);
  io.bytes(84, rej.private_data);
}

void lay_out(auto& io, Like<CmRep> auto& rep) {
  io.bits(0, 0, 32, rep.local_comm_id);
  io.bits(4, 0, 32, rep.remote_comm_id);
  io.bits(8, 0, 32, rep.local_qkey);
  io.bits(12, 0, 24, rep.local_qpn);
  io.bits(16, 0, 24, rep.local_eecn);
  io.bits(20, 0, 24, rep.starting_psn);
  io.bits(24, 0, 8, rep.responder_resources);
  io.bits(25, 0, 8, rep.initiator_depth);
  io.bits(26, 0, 5, rep.target_ack_delay);
  io.bits(26, 5, 2, rep.failover);
  io.bits(26, 7, 1, rep.end_to_end_flow_control);
  io.bits(27, 0, 3, rep.rnr_retry_count);
  io.bits(27, 3, 1, rep.srq);
  io.bits(28, 0, 64, rep.local_ca_guid);
  io.bytes(36, rep.private_data);
}

void lay_out(auto& io, Like<CmRtu> auto& rtu) {
  io.bits(0, 0, 32, rtu.local_comm_id);
  io.bits(4, 0, 32, rtu.remote_comm_id);
  io.bytes(8, rtu.private_data);
}

void lay_out(auto& io, Like<CmDreq> auto& dreq) {
  io.bits(0, 0, 32, dreq.local_comm_id);
  io.bits(4, 0, 32, dreq.remote_comm_id);
  io.bits(8, 0, 24, dreq.remote_qpn);
  io.bytes(12, dreq.private_data);
}

void lay_out(auto& io, Like<CmDrep> auto& drep) {
  io.bits(0, 0, 32, drep.local_comm_id);
  io.bits(4, 0, 32, drep.remote_comm_id);
  io.bytes(8, drep.private_data);
}

void lay_out(auto& io, Like<CmSidrReq> auto& req) {
  io.bits(0, 0, 32, req.request_id);
  io.bits(4, 0, 16, req.pkey);
  io.bits(8, 0, 64, req.service_id);
  io.bytes(16, req.private_data);
}

void lay_out(auto& io, Like<CmSidrRep> auto& rep) {
  io.bits(0, 0, 32, rep.request_id);
  io.bits(4, 0, 8, rep.status);
  io.bits(5, 0, 8, rep.info_length);
  io.bits(8, 0, 24, rep.qpn);
  io.bits(12, 0, 64, rep.service_id);
  io.bits(20, 0, 32, rep.qkey);
  io.bytes(24, rep.info_field);
  io.bytes(96, rep.private_data);
}

}  // namespace nerve::wire
