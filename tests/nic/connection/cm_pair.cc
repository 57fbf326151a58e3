#include "tests/nic/connection/cm_pair.h"

#include <cstring>

namespace nerve::test {

using namespace nic;

std::vector<std::byte> text(const char* words) {
  const auto* first = reinterpret_cast<const std::byte*>(words);
  return {first, first + std::strlen(words)};
}

wire::CmMad mad_of(const wire::Frame& frame) {
  std::vector<std::byte> bytes;
  for (const wire::Piece& piece : frame.payload) {
    const auto* first = reinterpret_cast<const std::byte*>(piece.address);
    bytes.insert(bytes.end(), first, first + piece.length);
  }
  const auto mad = wire::CmMad::decode(bytes);
  EXPECT_TRUE(mad);
  return mad ? *mad : wire::CmMad{};
}

CmEnd::CmEnd(std::uint8_t number, NicConfig config)
    : gid{wire::Gid::ipv4(10, 0, 0, number)},
      guid{0x1000U + number},
      qpn{0x100U + number},
      nic{[&] {
        config.guid = guid;
        config.first_comm_id = std::uint32_t{number} << kCommIdBits;
        return config;
      }()} {
  EXPECT_TRUE(nic.set_gid(0, gid));
}

CmOffer CmEnd::offer() const {
  return {.qpn = qpn,
          .psn = Psn{qpn.value() * 16},
          .responder_resources = 4,
          .initiator_depth = 3,
          .rnr_retry_count = 7};
}

CmConnect CmEnd::to(const CmEnd& peer) const {
  return {.route = {.local = gid, .remote = peer.gid},
          .service = kService,
          .offer = offer(),
          .path_mtu = 3,
          .retry_count = 7,
          .local_ack_timeout = 17};
}

CmEvent CmEnd::expect(CmEventKind kind) {
  const auto event = cm().next_event();
  EXPECT_TRUE(event) << "no event";
  if (!event) return {};
  EXPECT_EQ(event->kind, kind);
  EXPECT_FALSE(cm().next_event()) << "another event";
  return *event;
}

std::vector<CmEventKind> CmEnd::events() {
  std::vector<CmEventKind> all;
  while (const auto event = cm().next_event()) all.push_back(event->kind);
  return all;
}

bool CmPair::passes(bool from_a, const wire::Frame& frame) {
  seen.push_back({from_a, now, frame.flow, frame.headers, mad_of(frame)});
  return !(lose && lose(seen.back()));
}

std::string CmPair::said() {
  std::string all;
  for (; said_ < seen.size(); ++said_) {
    if (!all.empty()) all += ' ';
    all += seen[said_].from_a ? "a:" : "b:";
    all += wire::to_string(seen[said_].attribute());
  }
  return all;
}

void CmPair::open() {
  listener = *b.cm().listen({.service = kService, .cookie = 77});
  active = *a.cm().connect(a.to(b));
  exchange();
  passive = b.expect(CmEventKind::kRequest).id;
}

void CmPair::establish() {
  open();
  EXPECT_TRUE(b.cm().accept(passive, b.offer(), {}));
  exchange();
  (void)a.expect(CmEventKind::kReply);
  EXPECT_TRUE(a.cm().confirm(active, {}));
  exchange();
  (void)b.expect(CmEventKind::kEstablished);
  (void)said();
}

wire::Frame CmProbe::frame_of(const wire::CmMad& mad) {
  mad.encode(bytes_);
  piece_ = {.address = reinterpret_cast<std::uint64_t>(bytes_.data()),
            .length = wire::CmMad::kSize};
  wire::Frame frame{.flow = {.source = peer, .destination = end.gid}};
  frame.headers.bth.opcode = wire::opcode(wire::Transport::kUd, wire::Operation::kSendOnly);
  frame.headers.bth.pkey = PKey{0xffff};
  frame.headers.bth.dest_qp = Qpn{1};
  frame.headers.deth = {.qkey = wire::kGsiQkey, .source_qp = Qpn{1}};
  frame.payload = {&piece_, 1};
  frame.payload_length = piece_.length;
  return frame;
}

std::vector<SeenMad> CmProbe::hear(const wire::CmMessage& message, std::uint64_t transaction) {
  return hear(frame_of({.transaction_id = transaction, .message = message}));
}

std::vector<SeenMad> CmProbe::hear(const wire::Frame& frame) {
  end.nic.receive({&frame, 1}, now);
  return listen();
}

std::vector<SeenMad> CmProbe::listen() {
  std::vector<SeenMad> all;
  while (end.nic.transmit(burst_, now) > 0) {
    for (const wire::Frame& frame : burst_.frames()) {
      all.push_back({true, now, frame.flow, frame.headers, mad_of(frame)});
    }
  }
  return all;
}

void CmProbe::wait(Duration time) {
  const Time until = now + time;
  (void)listen();
  while (const auto due = end.nic.next_deadline()) {
    if (*due > until) break;
    if (*due > now) now = *due;
    end.nic.expire(now);
    (void)listen();
  }
  now = until;
}

wire::CmReq CmProbe::req() const {
  return {.local_comm_id = wire::CommId{0x42},
          .service_id = kService,
          .local_ca_guid = peer_guid,
          .local_qpn = Qpn{0x55},
          .remote_cm_response_timeout = 20,
          .starting_psn = Psn{5},
          .local_cm_response_timeout = 20,
          .pkey = PKey{0xffff},
          .path_mtu = 3,
          .max_cm_retries = 15,
          .primary = {
              .local_gid = peer, .remote_gid = end.gid, .hop_limit = 64, .local_ack_timeout = 17}};
}

}  // namespace nerve::test
