// Carries parcels of any size between NICs. Connections are made when two places first communicate,
// and kept. A parcel may ask for a connection of its own: it gets one that no parcel uses, in the
// state of a new one, or a new one if all are in use.
//
// A pair of places has several lanes, one QP each. A parcel is cut into pieces, which go
// round-robin over the lanes; the parcel has arrived when all its pieces have. A lane has no more
// pieces posted than its send queue holds: the rest of the parcel waits here, uncut. Parcels of a
// pair are sent in order.
//
// With admission, a sender cuts no more than the receiver has permitted. A permission is a
// clear-to-send message on a QP of its own, in the control class. The receiver asks nobody: it has
// posted its receive, and knows of a parcel when the sender has it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sim/host/admission.h"
#include "sim/host/places.h"
#include "sim/simulation.h"

namespace nerve::sim {

// Receives the events of each parcel, under the name it was sent with.
class CarrierUser {
 public:
  virtual ~CarrierUser() = default;
  virtual void carried(std::uint32_t name) = 0;
  virtual void acknowledged(std::uint32_t name) = 0;
  virtual void failed(std::uint32_t name, std::string_view why) = 0;
};

struct Parcel {
  PlaceId from{};
  PlaceId to{};
  std::uint32_t job{};  // jobs do not share connections
  bool on_front_end{};
  bool own_connection{};
  std::uint64_t bytes{};
  std::uint64_t ready{};  // the first `ready` bytes may be sent now
  std::uint32_t name{};
};

struct CarrierConfig {
  std::uint32_t lanes{1};
  std::uint32_t queue_depth{16};        // limit on posted pieces per lane and direction
  std::uint32_t most_piece{4U << 20U};  // bytes
  AdmissionSpec admission{};
};

using ParcelId = Id<struct ParcelTag, std::uint32_t, 32>;

class Carrier final : private NicUser {
 public:
  Carrier(Simulation& simulation, const ClusterShape& shape, const CarrierConfig& back_end,
          const CarrierConfig& front_end, CarrierUser& user);

  ParcelId send(const Parcel& parcel);
  // Releases more bytes of a parcel that has not arrived yet.
  void ready(ParcelId parcel, std::uint64_t bytes);

  [[nodiscard]] std::size_t connections() const { return connections_.size(); }
  [[nodiscard]] std::uint64_t failed_parcels() const { return failed_parcels_; }
  [[nodiscard]] const Admission& admission(bool on_front_end) const {
    return admissions_[on_front_end ? 1 : 0];
  }

 private:
  static constexpr std::uint32_t kNone = 0xffff'ffff;

  struct Moving {
    Parcel parcel{};
    std::uint32_t connection{};
    std::uint8_t direction{};  // 0: from the `low` place of the pair to the `high` one
    bool begun{};
    bool failed{};
    std::uint32_t behind{kNone};     // the parcel that waits behind this one
    std::uint64_t cut{};             // bytes handed to lanes
    std::uint32_t coming{};          // pieces posted but not arrived
    std::uint32_t unacknowledged{};  // pieces
    [[nodiscard]] bool all_cut() const { return begun && cut == parcel.bytes; }
    [[nodiscard]] bool arrived() const { return all_cut() && coming == 0; }
    [[nodiscard]] bool acknowledged() const { return all_cut() && unacknowledged == 0; }
  };
  struct Piece {
    std::uint32_t parcel{};
    std::uint32_t bytes{};
    std::uint32_t lane{};
    bool arrived{};
    bool acknowledged{};
  };
  struct Lane {
    std::array<NodeId, 2> nics{};
    std::array<QpNumber, 2> qps{};
    std::array<std::uint32_t, 2> posted{};  // pieces, per direction
  };
  // How the bytes of a connection are admitted, per direction of these bytes.
  struct Admitted {
    Lane lane;                               // for clear-to-send messages, the other way
    std::array<std::uint64_t, 2> may_cut{};  // bytes permitted, in the hands of the sender
    std::array<std::uint64_t, 2> unsent{};   // bytes permitted while the lane had no room
  };
  struct Pair {
    PlaceId low{};
    PlaceId high{};
    std::uint32_t job{};
    bool on_front_end{};
    friend bool operator==(const Pair&, const Pair&) = default;
  };
  struct PairHash {
    std::size_t operator()(const Pair& pair) const {
      return mix(mix(pair.low.value(), pair.high.value()),
                 pair.job * 2 + (pair.on_front_end ? 1U : 0U));
    }
  };
  // Parcels that are not fully cut, linked through Moving::behind.
  struct Waiting {
    std::uint32_t first{kNone};
    std::uint32_t last{kNone};
  };
  // Large clusters have hundreds of thousands, most of which carry little.
  struct Connection {
    Pair pair{};
    std::uint32_t first_lane{};
    std::uint32_t lanes{};
    std::array<std::uint32_t, 2> turn{};
    std::array<Waiting, 2> waiting{};
    bool of_one_parcel{};  // at a time; then it is idle
    bool broken{};
  };

  [[nodiscard]] std::uint32_t connection_for(const Pair& pair);
  [[nodiscard]] std::uint32_t idle_connection_for(const Pair& pair);
  [[nodiscard]] std::uint32_t make_connection(const Pair& pair);
  [[nodiscard]] Lane make_lane(const Pair& pair, std::uint32_t number);
  [[nodiscard]] std::span<Lane> lanes_of(const Connection& connection) {
    return std::span{lanes_}.subspan(connection.first_lane, connection.lanes);
  }
  void wait(std::uint32_t parcel);
  void own(const Lane& lane, std::uint32_t connection);
  void pump(std::uint32_t connection, unsigned direction);
  [[nodiscard]] bool post_piece(Moving& moving, std::uint32_t parcel);
  [[nodiscard]] std::uint32_t size_of_next_piece(const Moving& moving);
  [[nodiscard]] const CarrierConfig& config_of(bool on_front_end) const {
    return configs_[on_front_end ? 1 : 0];
  }
  // Admission: carrier_admission.cc.
  static constexpr std::uint32_t kPermission = 1U << 31U;  // in an immediate: the rest are bytes
  static constexpr std::uint64_t kOfPermission = std::uint64_t{1} << 63U;  // in a message's name
  static std::uint32_t stream_of(std::uint32_t connection, unsigned direction) {
    return connection * 2 + direction;
  }
  [[nodiscard]] Admission& admission_of(std::uint32_t connection) {
    return admissions_[connections_[connection].pair.on_front_end ? 1 : 0];
  }
  void begin_admission(std::uint32_t connection);
  void ask(std::uint32_t connection, unsigned direction, std::uint64_t bytes);
  void permit(std::uint32_t connection, unsigned direction);
  void clear_to_send(std::uint32_t connection, unsigned direction);
  void permitted(NodeId at, QpNumber qp, std::uint32_t bytes);
  void heard(std::uint64_t message);
  [[nodiscard]] std::uint64_t may_cut(const Moving& moving);
  void has_cut(const Moving& moving, std::uint32_t bytes);
  void came_in(const Moving& moving, std::uint32_t bytes);

  void give_back(std::uint32_t piece);
  void settle(std::uint32_t parcel);
  void break_off(std::uint32_t connection, std::string_view why);
  void fail(std::uint32_t parcel, std::string_view why);

  void received(NodeId at, QpNumber qp, std::uint32_t piece) override;
  void sent(NodeId from, std::uint64_t piece) override;
  void failed(NodeId at, QpNumber qp, std::string_view why) override;

  Simulation& simulation_;
  ClusterShape shape_;
  std::array<CarrierConfig, 2> configs_;
  std::array<Admission, 2> admissions_;
  CarrierUser& user_;
  std::vector<Connection> connections_;
  std::vector<Lane> lanes_;
  std::vector<Admitted> admitted_;  // per connection, if a network has admission
  std::unordered_map<Pair, std::uint32_t, PairHash> known_;  // shared ones; never iterated
  std::unordered_map<Pair, std::vector<std::uint32_t>, PairHash> idle_;  // never iterated
  std::vector<std::vector<std::uint32_t>> owners_;  // per node and QP: its connection
  std::vector<Moving> parcels_;
  std::vector<std::uint32_t> free_parcels_;
  std::vector<Piece> pieces_;
  std::vector<std::uint32_t> free_pieces_;
  std::uint64_t failed_parcels_{};
};

}  // namespace nerve::sim
