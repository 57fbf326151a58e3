#include "tests/seal/hostile_world.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "seal/session.h"
#include "tests/seal/toy_crypto.h"

namespace nerve::seal {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Packet = std::vector<std::byte>;

constexpr std::array kGids{wire::Gid::ipv4(10, 0, 0, 1), wire::Gid::ipv4(10, 0, 0, 2)};
constexpr std::array kQpns{Qpn{0x11}, Qpn{0x10}};

class HostileWorld {
 public:
  // `recorded`: packets of an earlier session.
  HostileWorld(std::uint64_t seed, std::vector<Packet> recorded)
      : random_{seed}, crypto_{random_.next(), ledger_}, seen_{std::move(recorded)} {
    limits_ = {.packets = random_.between(2, 100), .age = milliseconds{random_.between(1, 2000)}};
    loss_ = static_cast<std::uint32_t>(random_.below(400));
    attack_ = static_cast<std::uint32_t>(random_.below(400));
  }

  void run() {
    const std::uint64_t steps = random_.between(50, 400);
    for (std::uint64_t i = 0; i < steps; ++i) {
      pass_time();
      for (std::size_t end = 0; end < 2; ++end) {
        start(end);
        speak(end);
      }
      if (random_.chance(attack_)) attack();
      if (random_.chance(attack_)) release();
    }
    // The network is sound again: both must open, and what is sent must arrive.
    loss_ = 0;
    for (int i = 0; i < 50; ++i) {
      now_ += milliseconds{100};
      for (std::size_t end = 0; end < 2; ++end) {
        if (!sessions_[end]) begin(end);
        speak(end);
      }
    }
    for (std::size_t end = 0; end < 2; ++end) {
      if (!sessions_[end]->is_open()) complain("a session does not open");
      const std::uint64_t before = delivered_;
      send_frame(end);
      if (delivered_ != before + 1) complain("a packet does not arrive over a sound network");
    }
  }

  std::vector<std::string> violations() {
    violations_.insert(violations_.end(), ledger_.violations.begin(), ledger_.violations.end());
    return violations_;
  }
  [[nodiscard]] const std::vector<Packet>& seen() const { return seen_; }

 private:
  struct Sent {
    std::size_t from;
    wire::Headers headers;
    Packet payload;
    std::uint64_t epoch;
    bool arrived{};
  };

  void complain(std::string what) { violations_.push_back(std::move(what)); }

  void pass_time() {
    const bool long_pause = random_.chance(20);
    now_ += long_pause ? Duration{seconds{15}} : Duration{microseconds{random_.below(3000)}};
  }

  void start(std::size_t end) {
    if (!sessions_[end] && random_.chance(100)) begin(end);
  }
  void begin(std::size_t end) {
    sessions_[end].emplace(crypto_,
                           SessionSetup{.own = {kGids[end], kQpns[end]},
                                        .peer = {kGids[1 - end], kQpns[1 - end]},
                                        .credentials = Preshared{},
                                        .suites = {Suite::kAes128Gcm},
                                        .limits = limits_},
                           now_);
  }

  void speak(std::size_t end) {
    if (!sessions_[end]) return;
    Packet packet(Session::kMaxPacket);
    if (const std::size_t size = sessions_[end]->next_packet(now_, packet)) {
      packet.resize(size);
      carry(end, std::move(packet));
    }
    if (sessions_[end]->is_open() && random_.chance(700)) send_frame(end);
  }

  void send_frame(std::size_t end) {
    if (!sessions_[end]->is_open()) return;
    const std::uint64_t id = sent_.size() + 1;
    Packet payload(8 + random_.below(40));
    store_be<8>(payload, 0, id);
    wire::Headers headers{.bth = {.opcode = 0x04,
                                  .pad = wire::pad_for(static_cast<std::uint32_t>(payload.size())),
                                  .dest_qp = kQpns[1 - end],
                                  .ack_request = random_.chance(500),
                                  .psn = Psn{static_cast<std::uint32_t>(id)}}};
    const wire::Piece piece{.address = reinterpret_cast<std::uint64_t>(payload.data()),
                            .length = static_cast<std::uint32_t>(payload.size())};
    wire::Frame frame{.flow = flow_from(end), .headers = headers};
    frame.payload = {&piece, 1};
    frame.payload_length = piece.length;
    Packet packet(sealed_size(frame));
    if (!sessions_[end]->seal(frame, now_, packet)) return complain("sealing failed");
    sent_.emplace(id, Sent{.from = end,
                           .headers = headers,
                           .payload = payload,
                           .epoch = sessions_[end]->epochs()});
    carry(end, std::move(packet));
  }

  [[nodiscard]] static wire::Flow flow_from(std::size_t end) {
    return {.source = kGids[end], .destination = kGids[1 - end]};
  }

  void carry(std::size_t from, Packet packet) {
    seen_.push_back(packet);
    // A receiver that misses a whole epoch, an hour in reality, cannot follow.
    const std::uint64_t latest = latest_[1 - from] ? latest_[1 - from]->epoch : 0;
    const bool first_of_epoch = sessions_[from]->epochs() > latest;
    if (!first_of_epoch && random_.chance(loss_)) {
      held_back_.emplace_back(1 - from, std::move(packet));
    } else {
      deliver(1 - from, std::move(packet));
    }
  }

  // Sends a few of the packets that were lost after all.
  void release() {
    for (std::uint64_t i = random_.below(4); i > 0 && !held_back_.empty(); --i) {
      deliver(held_back_.back().first, std::move(held_back_.back().second));
      held_back_.pop_back();
    }
  }

  void attack() {
    if (seen_.empty()) return;
    // Mostly recent packets: the window has passed over the others.
    const std::uint64_t back = random_.below(random_.chance(800) ? 8 : seen_.size());
    Packet packet = seen_[seen_.size() - 1 - std::min<std::uint64_t>(back, seen_.size() - 1)];
    const std::uint64_t changes = random_.below(3);
    for (std::uint64_t i = 0; i < changes; ++i) {
      packet[random_.below(packet.size())] ^= static_cast<std::byte>(1U << random_.below(8));
    }
    if (random_.chance(50)) packet.resize(random_.below(packet.size() + 1));
    deliver(random_.below(2), std::move(packet));
  }

  void deliver(std::size_t to, Packet packet) {
    if (!sessions_[to]) return;
    wire::Frame frame;
    wire::Piece piece;
    const Opening opening = sessions_[to]->receive(flow_from(1 - to), packet, now_, frame, piece);
    if (opening == Opening::kGood) check(to, frame, piece);
  }

  void check(std::size_t to, const wire::Frame& frame, const wire::Piece& piece) {
    ++delivered_;
    const Bytes payload{reinterpret_cast<const std::byte*>(piece.address), frame.payload_length};
    const auto found = payload.size() >= 8 ? sent_.find(load_be<8>(payload, 0)) : sent_.end();
    if (found == sent_.end()) return complain("a packet was accepted that nobody sent");
    Sent& sent = found->second;
    wire::Headers headers = frame.headers;
    headers.bth.fecn = headers.bth.becn = false;  // the network may set these
    headers.bth.reserved6 = 0;
    if (sent.from == to || !std::ranges::equal(sent.payload, payload) ||
        !(sent.headers == headers)) {
      complain("a changed packet was accepted");
    }
    if (sent.arrived) complain("a packet was accepted twice");
    sent.arrived = true;
    auto& latest = latest_[to];
    if (!latest || sent.epoch > latest->epoch) latest = Latest{.epoch = sent.epoch, .since = now_};
    if (sent.epoch < latest->epoch && now_ - latest->since >= Incoming::kOverlap) {
      complain("a packet was accepted whose epoch is over");
    }
  }

  struct Latest {
    std::uint64_t epoch;
    Time since;
  };

  Prng random_;
  ToyLedger ledger_;
  ToyCrypto crypto_;
  EpochLimits limits_;
  std::uint32_t loss_{};
  std::uint32_t attack_{};
  Time now_{seconds{1}};
  std::array<std::optional<Session>, 2> sessions_;
  std::vector<Packet> seen_;
  std::vector<std::pair<std::size_t, Packet>> held_back_;  // and where they were going
  std::map<std::uint64_t, Sent> sent_;
  std::array<std::optional<Latest>, 2> latest_;
  std::uint64_t delivered_{};
  std::vector<std::string> violations_;
};

}  // namespace

std::vector<std::string> run_hostile_world(std::uint64_t seed) {
  HostileWorld earlier{seed ^ 0xea511e4, {}};
  earlier.run();
  HostileWorld world{seed, earlier.seen()};
  world.run();
  return world.violations();
}

}  // namespace nerve::seal
