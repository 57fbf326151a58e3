// A captured RC conversation, split into what one side asked and the other answered, and the engine
// put in the place of either side.
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
  bool request{};  // else an answer
};

// One requester and one responder. A connection that is used both ways makes two of them.
struct Conversation {
  wire::Gid requester{};
  wire::Gid responder{};
  Qpn requester_qpn{};
  Qpn responder_qpn{};
  std::uint32_t mtu{};
  std::vector<CapturedFrame> frames{};  // both directions, as captured
};

// The RC conversations of a capture in which something was asked and answered.
std::vector<Conversation> conversations_of(const std::string& file);

// Why a request is refused, where the capture does not show it.
enum class Quirk : std::uint8_t {
  kNone,
  kBadKey,        // the key names nothing
  kShortRegion,   // the request reaches past the end of its region
  kNoRights,      // the QP gives its peer no rights
  kShortReceive,  // the receive is too small for the message
  kSmallMtu,      // the responder's path MTU is another one
  kLargeMtu,
};

// What the engine answers when it is fed the requests of the conversation.
std::vector<CapturedFrame> replay_responder(const Conversation& conversation, Quirk quirk);
// What the engine asks when it is given the work that the conversation implies, and its answers.
// `completed` counts the requests that ended with success.
std::vector<CapturedFrame> replay_requester(const Conversation& conversation,
                                            std::size_t& completed);

}  // namespace nerve::golden
