// MADs of a hostile peer and calls of a careless program at a connection manager, in any order. It
// must not crash or send without end, and once every ID is destroyed and time has passed, its table
// must be empty.
//
// The input is a list of steps, each: a byte that selects the action (see step()), then its
// arguments.
#include <array>
#include <vector>

#include "fuzz/fuzz_input.h"
#include "nic/connection/connection_manager.h"
#include "nic/nic.h"

namespace nerve::fuzz {
namespace {

const wire::Gid kOwn = wire::Gid::ipv4(10, 0, 0, 1);
const wire::Gid kPeer = wire::Gid::ipv4(10, 0, 0, 2);
constexpr wire::ServiceId kService{1};

nic::NicConfig small() {
  nic::NicConfig config;
  config.limits.max_connections = 12;
  config.guid = 1;
  return config;
}

class Target {
 public:
  Target() {
    CHECK(nic_.set_gid(0, kOwn).has_value());
    keep(nic_.cm().listen({.service = kService, .backlog = 4}));
    known_.push_back(0);
  }

  void step(Input& input) {
    const std::uint8_t what = input.byte();
    if (what < 0x80) {
      hear(what, input);
    } else if (what < 0xf0) {
      call(what, input);
    } else {
      pass(Duration{4'096'000LL << (what & 15U)});
    }
    drain();
  }

  void finish() {
    for (const nic::CommHandle id : ids_) (void)nic_.cm().destroy(id);
    drain();
    for (int turns = 0; nic_.next_deadline(); ++turns) {
      CHECK(turns < 10'000);
      now_ = *nic_.next_deadline();
      nic_.expire(now_);
      drain();
    }
    CHECK(nic_.cm().size() == 0);
  }

 private:
  void keep(const nic::Expected<nic::CommHandle>& id) {
    if (id) ids_.push_back(*id);
  }
  nic::CommHandle id(Input& input) { return ids_[input.byte() % ids_.size()]; }

  // The fuzzer's bytes in a MAD with a valid attribute and IDs that exist.
  void hear(std::uint8_t what, Input& input) {
    std::array<std::byte, wire::CmMad::kSize> bytes{};
    wire::MadHeader{.management_class = wire::kCmClass,
                    .class_version = wire::kCmClassVersion,
                    .method = wire::kCmMethodSend,
                    .transaction_id = what,
                    .attribute_id = static_cast<std::uint16_t>(0x10 + what % 12U)}
        .encode(std::span{bytes}.first<wire::MadHeader::kSize>());
    const MutableBytes body = MutableBytes{bytes}.subspan(wire::MadHeader::kSize);
    const std::uint8_t help = input.byte();
    const Bytes given = input.take(input.byte());
    std::ranges::copy(given.first(std::min(given.size(), body.size())), body.begin());
    store_be<4>(body, 0, help & 3U);  // the peer's ID
    if (what % 12U == 0) help_request(body, help);
    if (what % 12U == 7) store_be<8>(body, 8, 1);  // SIDR_REQ: an existing service
    if (what % 12U == 8) store_be<4>(body, 0, known_[(help >> 4U) % known_.size()]);
    if ((help & 4U) == 0 && what % 12U != 0) {
      store_be<4>(body, 4, known_[(help >> 4U) % known_.size()]);
    }
    const wire::Piece piece{.address = reinterpret_cast<std::uint64_t>(bytes.data()),
                            .length = wire::CmMad::kSize};
    wire::Frame frame{.flow = {.source = kPeer, .destination = kOwn}};
    frame.headers.bth.opcode = wire::opcode(wire::Transport::kUd, wire::Operation::kSendOnly);
    frame.headers.bth.pkey = PKey{0xffff};
    frame.headers.bth.dest_qp = Qpn{1};
    frame.headers.deth = {.qkey = wire::kGsiQkey, .source_qp = Qpn{1}};
    frame.payload = {&piece, 1};
    frame.payload_length = piece.length;
    nic_.receive({&frame, 1}, now_);
  }

  static void help_request(MutableBytes body, std::uint8_t help) {
    store_be<8>(body, 8, 1);                      // service
    store_be<8>(body, 16, 2);                     // GUID
    store_be<3>(body, 32, 0x10U + (help >> 6U));  // QPN
    store_be<2>(body, 48, 0xffff);                // P_Key
    if ((help & 8U) == 0) {
      body[43] &= std::byte{0xf9};  // RC
      body[50] = std::byte{0x30};   // path MTU
      std::ranges::copy(kPeer.bytes, body.begin() + 56);
      std::ranges::copy(kOwn.bytes, body.begin() + 72);
    }
  }

  void call(std::uint8_t what, Input& input) {
    nic::ConnectionManager& cm = nic_.cm();
    const nic::CommHandle on = id(input);
    const Bytes words = input.take(input.byte());
    const std::uint8_t number = input.byte();
    nic::CmRoute route{.local = kOwn, .remote = kPeer};
    route.response_timeout = number & 31U;
    route.max_retries = number >> 4U;
    const nic::CmOffer offer{.qpn = Qpn{0x20U + number}, .rnr_retry_count = number};
    switch (what % 12U) {
      case 0:
        return keep(cm.connect({.route = route,
                                .service = kService,
                                .offer = {.qpn = Qpn{0x20U + number}},
                                .path_mtu = 3,
                                .local_ack_timeout = static_cast<std::uint8_t>(number & 31U),
                                .private_data = words}));
      case 1:
        return (void)cm.accept(on, offer, words);
      case 2:
        return (void)cm.confirm(on, words);
      case 3:
        return (void)cm.reject(on, static_cast<wire::RejectReason>(number), words);
      case 4:
        return (void)cm.delay(on, number);
      case 5:
        return (void)cm.disconnect(on, words);
      case 6:
        return (void)cm.established(on);
      case 7:
        return keep(cm.resolve({.route = route, .service = kService, .private_data = words}));
      case 8:
        return (void)cm.resolved(on, {.qpn = offer.qpn, .private_data = words});
      case 9:
        return (void)cm.destroy(on);
      case 10:
        return keep(cm.listen({.service = kService, .address = kOwn, .backlog = number}));
      default:
        return nic_.set_port_active((number & 1U) != 0);
    }
  }

  void pass(Duration time) {
    now_ += time;
    nic_.expire(now_);
  }

  void drain() {
    nic::TxBurst burst{32};
    for (int calls = 0; nic_.transmit(burst, now_) > 0;) {
      CHECK(++calls < 1'000);
      for (const wire::Frame& frame : burst.frames()) {
        const auto* bytes = reinterpret_cast<const std::byte*>(frame.payload[0].address);
        const auto mad = wire::CmMad::decode({bytes, wire::CmMad::kSize});
        CHECK(mad.has_value());
        known_.push_back(static_cast<std::uint32_t>(
            load_be<4>(Bytes{bytes, wire::CmMad::kSize}, wire::MadHeader::kSize)));
        if (known_.size() > 8) known_.erase(known_.begin());
      }
    }
    CHECK(!nic_.wants_to_send());
    while (const auto event = nic_.cm().next_event()) {
      if (event->kind == nic::CmEventKind::kRequest ||
          event->kind == nic::CmEventKind::kResolveRequest) {
        ids_.push_back(event->id);
      }
    }
    while (nic_.next_event()) {
    }
  }

  nic::Nic nic_{small()};
  Time now_{Duration{1}};
  std::vector<nic::CommHandle> ids_;
  std::vector<std::uint32_t> known_;  // IDs in the manager's last messages
};

}  // namespace
}  // namespace nerve::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  nerve::fuzz::Input input{data, size};
  nerve::fuzz::Target target;
  for (int steps = 0; !input.empty() && steps < 500; ++steps) target.step(input);
  target.finish();
  return 0;
}
