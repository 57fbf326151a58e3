// What a message tells the kernel about its packets besides their bytes: source address and
// interface, traffic class, hop limit, and into what segments to cut it.
#pragma once

#include <sys/socket.h>

#include <cstdint>

#include "wire/frame.h"

namespace nerve::link {

inline constexpr std::size_t kSendControlSize = 160;

struct SendControl {
  alignas(cmsghdr) std::byte bytes[kSendControlSize];
  std::size_t size{};

  // `interface` is zero where addresses say enough; `segment` is zero for a single packet.
  void write(const wire::Flow& flow, std::uint32_t interface, std::uint16_t segment);

 private:
  template <class Value>
  void add(int level, int type, const Value& value);
};

}  // namespace nerve::link
