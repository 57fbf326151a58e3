// One TCP connection of the TCP transport: frames that wait to be sent, and the frame that is being
// received. Data goes from the program's memory to the socket and from the socket to the program's
// memory; only short data and that of GPUs passes through a buffer.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "ai/gpu.h"
#include "ai/tcp_frame.h"

namespace nerve::ai {

class TcpLane {
 public:
  struct Outgoing {
    std::array<std::byte, TcpFrame::kSize + 64> head;  // the header, and short data
    std::size_t head_length{};
    Memory data{};
    std::size_t length{};
    std::uint64_t id{};  // reported when all is sent
    std::size_t sent{};
  };
  // Decides where the data of a frame goes; false if the frame is invalid.
  class Receiver {
   public:
    virtual ~Receiver() = default;
    virtual bool begin(const TcpFrame& frame, Memory& destination) = 0;
    virtual void end(const TcpFrame& frame) = 0;
    virtual void sent(std::uint64_t id) = 0;
  };

  explicit TcpLane(int fd) : fd_{fd}, buffer_(fd >= 0 ? kBuffer : 0) {}

  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] bool wants_to_send() const { return !queue_.empty(); }
  [[nodiscard]] std::size_t queued() const { return queue_.size(); }
  void queue(const Outgoing& frame) { queue_.push_back(frame); }
  // Forgets what is queued and passes the ids of those frames on.
  template <class Take>
  void abandon(Take take) {
    for (const Outgoing& frame : queue_) {
      if (frame.id != 0) take(frame.id);
    }
    queue_.clear();
  }
  // Both return false when the connection is unusable.
  bool send(Receiver& receiver);
  bool receive(Receiver& receiver);
  // Why GPU memory could not be accessed, if that made it unusable.
  [[nodiscard]] const std::optional<Error>& memory_error() const { return memory_error_; }

 private:
  static constexpr std::size_t kBuffer = 1U << 16;
  static constexpr std::size_t kDirect = 1U << 13;  // data from this length on skips the buffer
  enum class Step { kContinue, kWait, kBroken };

  Step consume(Receiver& receiver);
  Step fill(Receiver& receiver);
  bool moved(const Status& status);
  // The data of the frame from this offset on; of a GPU's memory, as much as fits into a buffer.
  std::optional<Bytes> data_at(const Outgoing& frame, std::size_t offset);

  int fd_;
  std::deque<Outgoing> queue_;
  std::vector<std::byte> outgoing_;  // of the first frame's data, if that is on a GPU
  std::size_t outgoing_at_{};
  std::size_t outgoing_length_{};
  std::optional<Error> memory_error_;
  std::vector<std::byte> buffer_;
  std::size_t start_{};  // of what is in the buffer
  std::size_t end_{};
  bool in_data_{};
  TcpFrame frame_;
  Memory destination_{};
  std::size_t missing_{};  // of the frame's data
};

}  // namespace nerve::ai
