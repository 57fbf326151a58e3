// The headers of a request packet.
#pragma once

#include <cstdint>

#include "nic/qp_context/qp.h"
#include "wire/frame.h"

namespace nerve::nic {

// The position of a packet in its message, and its payload.
struct Segment {
  std::uint32_t index{};   // 0 .. packets - 1
  std::uint64_t offset{};  // of the payload within the message
  std::uint32_t length{};  // of the payload
  bool first{};
  bool last{};
};

[[nodiscard]] Segment segment_of(const SendWqe& wqe, std::uint32_t index, std::uint32_t mtu);

// Fills everything except flow, payload and the ACK request bit. For a READ, `segment` is the
// position at which a restart resumes.
void fill_request_headers(const Qp& qp, const SendWqe& wqe, const Segment& segment, PKey pkey,
                          wire::Headers& headers);

}  // namespace nerve::nic
