// Two sessions and the network between them. Time passes only by run_for().
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "seal/session.h"
#include "tests/seal/toy_crypto.h"

namespace nerve::seal {

struct PairSetup {
  std::uint64_t seed{1};
  Duration caller_starts{};
  Duration answerer_starts{};
  std::vector<Suite> caller_suites{Suite::kAes128Gcm};
  std::vector<Suite> answerer_suites{Suite::kAes128Gcm};
  bool same_key{true};
  bool pinned{};
  EpochLimits limits{};
  bool reveals_secrets{};
};

class SessionPair {
 public:
  static constexpr wire::Gid kCallerGid = wire::Gid::ipv4(10, 0, 0, 1);
  static constexpr wire::Gid kAnswererGid = wire::Gid::ipv4(10, 0, 0, 2);
  static constexpr Duration kDelay = std::chrono::microseconds{10};

  explicit SessionPair(const PairSetup& setup = {});

  // The caller and the answerer; they exist once they have started.
  [[nodiscard]] Session& a() { return *ends_[0].session; }
  [[nodiscard]] Session& b() { return *ends_[1].session; }
  [[nodiscard]] Time now() const { return now_; }
  [[nodiscard]] ToyLedger& ledger() { return ledger_; }
  [[nodiscard]] ToyCrypto& crypto() { return crypto_; }
  [[nodiscard]] std::uint64_t packets_sent() const { return sent_; }

  // Sees every packet, in order, and may change it. False: it is lost.
  std::function<bool(std::uint64_t number, std::vector<std::byte>& packet)> on_send;

  void run_for(Duration time);
  void inject_to_caller(std::vector<std::byte> packet) { deliver(0, std::move(packet)); }
  void inject_to_answerer(std::vector<std::byte> packet) { deliver(1, std::move(packet)); }

  // A sealed SEND from the caller, not sent.
  [[nodiscard]] std::vector<std::byte> seal_at_caller() { return seal(0, 5); }
  // True if each side opens a packet of the other.
  [[nodiscard]] bool passes_both_ways();

 private:
  struct End {
    Duration starts{};
    SessionSetup setup;
    std::unique_ptr<Session> session;
  };
  struct InFlight {
    Time arrives;
    std::size_t to;
    std::vector<std::byte> packet;
  };

  [[nodiscard]] wire::Flow flow_to(std::size_t end) const;
  [[nodiscard]] std::vector<std::byte> seal(std::size_t from, std::uint32_t size);
  void deliver(std::size_t to, std::vector<std::byte> packet);
  void step();

  ToyLedger ledger_;
  ToyCrypto crypto_;
  Time now_{std::chrono::seconds{1}};
  Time began_{now_};
  std::vector<End> ends_;
  std::deque<InFlight> flying_;
  std::uint64_t sent_{};
};

}  // namespace nerve::seal
