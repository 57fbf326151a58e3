// The network between the engines: it loses, duplicates, reorders, delays, corrupts and marks
// frames, all by seed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "base/time.h"
#include "tests/dst/event_queue.h"
#include "tests/dst/journal.h"
#include "tests/dst/parcel.h"
#include "tests/dst/sealed_wire.h"

namespace nerve::dst {

// Chances are per mille and per frame.
struct Faults {
  std::uint32_t loss{};
  std::uint32_t duplication{};
  std::uint32_t reordering{};
  std::uint32_t corruption{};
  std::uint32_t marking{};   // ECN congestion marks; harmless to the contents
  std::uint32_t trimming{};  // payload is cut off; only of frames that are carried as values
  Duration delay{std::chrono::microseconds{2}};
  Duration jitter{};
  // Between these two times nothing arrives.
  Time blackout_from{};
  Time blackout_until{};
  bool outage{};  // a port goes down for a while
  // Whether a request may fail because of the network.
  [[nodiscard]] bool any() const {
    return loss + duplication + reordering + corruption + trimming > 0 ||
           blackout_until != Time{} || outage;
  }
};

class Network {
 public:
  using Deliver = std::function<void(Parcel)>;
  // Sees every frame that an engine hands to the network, before any fault.
  using Tap = std::function<void(std::size_t from, std::size_t to, const Parcel&)>;

  struct Counts {
    std::uint64_t sent{};
    std::uint64_t lost{};
    std::uint64_t duplicated{};
    std::uint64_t bad_icrc{};
  };

  Network(EventQueue& events, Journal& journal, std::uint64_t seed, Faults faults,
          Carriage carriage)
      : events_{events},
        journal_{journal},
        prng_{seed},
        damage_{seed ^ 0x5eed},
        faults_{faults},
        carriage_{carriage} {}

  void attach(const wire::Gid& gid, Deliver deliver) {
    ports_.push_back({gid, std::move(deliver)});
  }
  void set_tap(Tap tap) { tap_ = std::move(tap); }
  void set_faults(const Faults& faults) { faults_ = faults; }
  [[nodiscard]] const Faults& faults() const { return faults_; }
  [[nodiscard]] const Counts& counts() const { return counts_; }
  // The maximum time that a frame is in flight.
  [[nodiscard]] Duration longest_delay() const {
    return 10 * (faults_.delay + faults_.jitter) + std::chrono::microseconds{10};
  }

  void send(std::size_t from, const wire::Frame& frame);
  // Delivers a frame that no engine has sent, without faults.
  void inject(std::size_t to, Parcel parcel, Duration delay);

 private:
  struct Port {
    wire::Gid gid;
    Deliver deliver;
  };

  void carry(std::size_t from, std::size_t to, Parcel parcel);
  void trim(Parcel& parcel);
  void launch(std::size_t from, std::size_t to, Parcel parcel, bool corrupt);
  void launch_sealed(std::size_t to, const Parcel& parcel, Time when, bool corrupt);
  void damage(std::vector<std::byte>& bytes, std::size_t bth);
  void arrive(std::size_t to, const std::vector<std::byte>& bytes);

  EventQueue& events_;
  Journal& journal_;
  Prng prng_;
  Prng damage_;  // a separate generator, so that both representations draw the same faults
  Faults faults_;
  Carriage carriage_;
  SealedWire sealed_;
  Counts counts_;
  Tap tap_;
  std::vector<Port> ports_;
  std::map<std::pair<std::size_t, std::size_t>, Time> last_arrival_;
};

}  // namespace nerve::dst
