// A captured RC conversation, split into the requests of one side and the answers of the other, and
// the engine in the place of either side.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nic/attributes.h"
#include "wire/frame.h"
#include "wire/packet.h"

namespace nerve::golden {

struct CapturedFrame {
  wire::Flow flow{};
  wire::Headers headers{};
  std::vector<std::byte> payload{};
  bool request{};  // otherwise an answer
};

// One requester and one responder. A connection used in both directions makes two of them.
struct Conversation {
  wire::Gid requester{};
  wire::Gid responder{};
  Qpn requester_qpn{};
  Qpn responder_qpn{};
  std::uint32_t mtu{};
  std::vector<CapturedFrame> frames{};  // both directions, in capture order
};

// The RC conversations of a capture that contain both requests and answers.
std::vector<Conversation> conversations_of(const std::string& file);

// The reason why a request is rejected, where the capture does not show it.
enum class Quirk : std::uint8_t {
  kNone,
  kBadKey,        // an unknown key
  kShortRegion,   // the request exceeds its region
  kNoRights,      // the QP grants its peer no access
  kShortReceive,  // the receive is too small for the message
  kSmallMtu,      // the responder's path MTU differs
  kLargeMtu,
};

// The engine's answers to the requests of the conversation.
std::vector<CapturedFrame> replay_responder(const Conversation& conversation, Quirk quirk);
// The engine's requests when it is given the work that the conversation implies, and its answers.
// `completed` counts the requests that completed successfully.
std::vector<CapturedFrame> replay_requester(const Conversation& conversation,
                                            std::size_t& completed);

}  // namespace nerve::golden
