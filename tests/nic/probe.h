// One engine whose peer is the test: the test builds frames by hand and reads raw answers.
#pragma once

#include <vector>

#include "tests/nic/pair.h"
#include "wire/syndrome.h"

namespace nerve::test {

class Probe {
 public:
  static constexpr Qpn kPeerQpn{0x99};

  explicit Probe(const EndSetup& setup = {}) : end{1, setup}, peer{gid_of(9, setup.ipv6)} {
    end.attributes.path.destination = peer;
    end.attributes.dest_qp = kPeerQpn;
    payload.resize(8192);
    for (std::size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<std::byte>(i + 1);
  }
  explicit Probe(nic::QpType type) : Probe{EndSetup{.type = type}} {}

  // A frame from the peer to the QP, valid in every field that the test does not change.
  [[nodiscard]] wire::Frame frame(wire::Operation operation, std::uint32_t psn,
                                  std::uint32_t length = 0);
  // ... for the range [offset, offset + length) of the end's memory.
  [[nodiscard]] wire::Frame frame_at(wire::Operation operation, std::uint32_t psn,
                                     std::size_t offset, std::uint32_t length,
                                     std::uint32_t payload_length = 0);
  [[nodiscard]] wire::Frame fetch_add(std::uint32_t psn, std::size_t offset, std::uint64_t addend);

  // Delivers it to the QP and returns the answers.
  std::vector<Seen> hear(const wire::Frame& frame);
  // Delivers them as one burst.
  std::vector<Seen> hear(std::span<const wire::Frame> frames);
  std::vector<Seen> listen();

  End end;
  wire::Gid peer;
  std::vector<std::byte> payload;
  Time now{Duration{1}};

 private:
  wire::Piece piece_[16]{};
  std::uint32_t next_piece_{};
  nic::TxBurst burst_{64};
};

inline constexpr auto kNakSequence = wire::syndrome(wire::NakCode::kSequence);
inline constexpr auto kNakInvalid = wire::syndrome(wire::NakCode::kInvalidRequest);
inline constexpr auto kNakAccess = wire::syndrome(wire::NakCode::kRemoteAccess);
inline constexpr auto kNakOperation = wire::syndrome(wire::NakCode::kRemoteOperation);

}  // namespace nerve::test
