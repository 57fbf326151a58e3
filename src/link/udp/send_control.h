// The control messages of a packet to send: source address and interface, traffic class, hop limit,
// and segment size.
#pragma once

#include <sys/socket.h>

#include <cstdint>

#include "wire/frame.h"

namespace nerve::link {

inline constexpr std::size_t kSendControlSize = 160;

struct SendControl {
  alignas(cmsghdr) std::byte bytes[kSendControlSize];
  std::size_t size{};

  // `interface` is zero if the addresses are sufficient; `segment` is zero for a single packet.
  void write(const wire::Flow& flow, std::uint32_t interface, std::uint16_t segment);

 private:
  template <class Value>
  void add(int level, int type, const Value& value);
};

}  // namespace nerve::link
