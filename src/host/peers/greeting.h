// The protocol by which processes of one host connect, at the name of a slot (membership.h): one
// request and one answer. A ring's connection stays open afterwards, so that each side notices when
// the other exits.
//
//   request  0..3 magic  4..7 version  8..11 kind  12..15 slot of the sender
//   answer   0..3 magic  4..7 version  8..      text
//
//   kind    sent along with the request       sent along with the answer
//   ring    the ring, in shared memory        the mailbox and its event; the table of rights;
//                                             the text is kUdpOnly, or empty
//   port                                      the sockets of the UDP port; the receiver sets the
//                                             filter of the one that it reads
//   ports                                     the table of rdma_cm's ports, in shared memory
//   statistics                                the table of counters, in shared memory
//   report                                    nothing: the answer is the report
//   flows                                     the flows, in shared memory (flow_messages.h)
//   steer   orders, behind the request        nothing: the answer is the result
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace nerve::host {

enum class RequestKind : std::uint32_t {
  kRing = 1,
  kPort = 2,
  kReport = 3,
  kPorts = 4,
  kStatistics = 5,
  kFlows = 6,
  kSteer = 7
};

struct Request {
  static constexpr std::size_t kSize = 16;
  RequestKind kind{};
  std::uint32_t slot{};

  [[nodiscard]] std::array<std::byte, kSize> encode() const;
  // Nothing if it is not a request, or has another version.
  [[nodiscard]] static std::optional<Request> decode(Bytes in);
};

// The process runs with --transport udp: it does not send through rings.
inline constexpr std::string_view kUdpOnly = "udp";

[[nodiscard]] std::vector<std::byte> encode_answer(std::string_view text = {});
[[nodiscard]] std::optional<std::string> decode_answer(Bytes in);

}  // namespace nerve::host
