// Messages for one socket that are sent together with one sendmmsg.
//
// A message is one packet or a train of packets, laid out contiguously in a buffer small enough to
// stay in the cache; the kernel splits a train into segments.
#pragma once

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>

#include "base/bytes.h"
#include "link/udp/address.h"
#include "link/udp/send_control.h"

namespace nerve::link {

class Outbox {
 public:
  static constexpr std::size_t kMaxMessages = 64;
  static constexpr std::size_t kMaxBytes = 65'507;  // the largest UDP datagram over IPv4

  // A plain packet ends with its ICRC.
  enum class Contents : std::uint8_t { kPlain, kSealed };

  struct Message {
    wire::Flow flow{};  // with the source port that it is sent from
    MutableBytes bytes{};
    std::uint16_t segment{};  // zero: a single packet
    Contents contents{};

    [[nodiscard]] std::size_t packets() const {
      return segment == 0 ? 1 : (bytes.size() + segment - 1) / segment;
    }
    [[nodiscard]] MutableBytes packet(std::size_t i) const {
      const std::size_t at = i * segment;
      return bytes.subspan(at, std::min<std::size_t>(segment, bytes.size() - at));
    }
  };

  Outbox() : buffer_{new std::byte[kMaxBytes]} {}

  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] bool fits(std::size_t bytes) const {
    return count_ < kMaxMessages && bytes <= kMaxBytes - used_;
  }
  // Adds a message of that many bytes, which the caller then fills in.
  MutableBytes add(const Message& message, const SocketName& to, std::uint32_t interface,
                   std::size_t bytes);
  void clear() { count_ = used_ = 0; }

  [[nodiscard]] const Message& operator[](std::size_t i) const { return messages_[i]; }
  [[nodiscard]] mmsghdr* headers() { return headers_.data(); }

 private:
  std::unique_ptr<std::byte[]> buffer_;
  std::size_t used_{};
  std::size_t count_{};
  std::array<Message, kMaxMessages> messages_{};
  std::array<SocketName, kMaxMessages> names_{};
  std::array<SendControl, kMaxMessages> controls_{};
  std::array<iovec, kMaxMessages> bytes_{};
  std::array<mmsghdr, kMaxMessages> headers_{};
};

}  // namespace nerve::link
