// One request packet of a work request: its headers.
#pragma once

#include <cstdint>

#include "nic/qp_manager/qp.h"
#include "wire/frame.h"

namespace nerve::nic {

// Which packet of the message, and which bytes it carries.
struct Segment {
  std::uint32_t index{};   // 0 .. packets - 1
  std::uint64_t offset{};  // of the payload in the message
  std::uint32_t length{};  // of the payload
  bool first{};
  bool last{};
};

[[nodiscard]] Segment segment_of(const SendWqe& wqe, std::uint32_t index, std::uint32_t mtu);

// Everything but flow, payload and the ACK request bit. For a READ, `segment` says where a restart
// resumes.
void fill_request_headers(const Qp& qp, const SendWqe& wqe, const Segment& segment, PKey pkey,
                          wire::Headers& headers);

}  // namespace nerve::nic
