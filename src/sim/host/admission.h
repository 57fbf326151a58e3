// Receiver-driven admission: a receiver decides who may send to it, and how much at once.
//
// A sender asks for permission to send. The receiver permits one chunk after the other, to the
// senders in turn, as long as what it has permitted and not received stays within its limit. While
// nobody asks, it permits up to a chunk ahead to the stream that it has received from last, for it
// expects more of it, as in a ring. These use at most half of the limit, and leave room for a chunk
// of somebody else.
//
// This is the state of the receivers of one network; carrier.h carries the permissions.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/check.h"
#include "sim/scenario/host_spec.h"

namespace nerve::sim {

class Admission {
 public:
  // Receivers and streams are small numbers. A stream has one receiver.
  struct Permission {
    std::uint32_t stream{};
    std::uint32_t bytes{};
  };

  explicit Admission(const AdmissionSpec& spec) : spec_{spec} {
    CHECK(spec.limit == 0 || (spec.chunk > 0 && spec.chunk <= spec.limit));
  }

  // Without it, senders do not ask.
  [[nodiscard]] bool on() const { return spec_.limit > 0; }
  [[nodiscard]] std::uint32_t chunk() const { return spec_.chunk; }

  // A stream has so many more bytes to send.
  void ask(std::uint32_t receiver, std::uint32_t stream, std::uint64_t bytes);
  // The next permission, asked for or ahead, or nothing while the receiver may permit no more.
  [[nodiscard]] std::optional<Permission> next(std::uint32_t receiver);
  // So many permitted bytes of a stream have arrived.
  void arrived(std::uint32_t stream, std::uint64_t bytes);
  // The stream has broken: what it was permitted does not come any more.
  void forget(std::uint32_t stream);

  // Permitted and not received, without what is permitted ahead.
  [[nodiscard]] std::uint64_t outstanding(std::uint32_t receiver) const;
  [[nodiscard]] std::uint64_t most_outstanding() const { return most_; }  // ever, at one receiver
  [[nodiscard]] std::uint64_t permissions() const { return permissions_; }

 private:
  struct Stream {
    std::uint32_t receiver{};
    std::uint64_t wanted{};       // bytes; it is in its receiver's turn unless this is zero
    std::uint64_t outstanding{};  // bytes
    std::uint64_t ahead{};        // of them
  };
  struct Receiver {
    std::uint64_t outstanding{};
    std::uint64_t ahead{};
    std::deque<std::uint32_t> turn;     // streams that want to send
    std::optional<std::uint32_t> last;  // stream that it has received from
  };

  [[nodiscard]] std::optional<Permission> next_ahead(Receiver& receiver);
  void permit(Receiver& receiver, std::uint32_t stream, std::uint64_t bytes);

  AdmissionSpec spec_;
  std::vector<Stream> streams_;
  std::vector<Receiver> receivers_;
  std::uint64_t most_{};
  std::uint64_t permissions_{};
};

}  // namespace nerve::sim
