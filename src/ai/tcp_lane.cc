#include "ai/tcp_lane.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace nerve::ai {
namespace {

bool try_later(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

bool TcpLane::send(Receiver& receiver) {
  while (!queue_.empty()) {
    Outgoing& frame = queue_.front();
    std::array<iovec, 2> parts{};
    msghdr message{};
    message.msg_iov = parts.data();
    if (frame.sent < frame.head_length) {
      parts[message.msg_iovlen++] = {frame.head.data() + frame.sent,
                                     frame.head_length - frame.sent};
    }
    if (frame.length > 0) {
      const std::size_t done = frame.sent > frame.head_length ? frame.sent - frame.head_length : 0;
      parts[message.msg_iovlen++] = {const_cast<std::byte*>(frame.data) + done,
                                     frame.length - done};
    }
    const ssize_t count = ::sendmsg(fd_, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0) return try_later(errno);
    frame.sent += static_cast<std::size_t>(count);
    if (frame.sent < frame.head_length + frame.length) continue;
    if (frame.id != 0) receiver.sent(frame.id);
    queue_.pop_front();
  }
  return true;
}

// Takes what is in the buffer: a header, or data.
TcpLane::Step TcpLane::consume(Receiver& receiver) {
  if (!in_data_) {
    if (end_ - start_ < TcpFrame::kSize) return Step::kWait;
    frame_ = TcpFrame::decode(Bytes{buffer_}.subspan(start_, TcpFrame::kSize));
    start_ += TcpFrame::kSize;
    destination_ = nullptr;
    if (!receiver.begin(frame_, &destination_)) return Step::kBroken;
    missing_ = frame_.carries_data() ? frame_.length : 0;
    in_data_ = true;
  }
  const std::size_t here = std::min(missing_, end_ - start_);
  if (here > 0) std::memcpy(destination_, buffer_.data() + start_, here);
  start_ += here;
  destination_ += here;
  missing_ -= here;
  if (missing_ > 0) return Step::kWait;
  in_data_ = false;
  receiver.end(frame_);
  return Step::kContinue;
}

TcpLane::Step TcpLane::fill(Receiver& receiver) {
  const bool direct = in_data_ && missing_ >= kDirect;  // the buffer is empty then
  if (!direct && start_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + start_, end_ - start_);
    end_ -= start_;
    start_ = 0;
  }
  std::byte* to = direct ? destination_ : buffer_.data() + end_;
  const std::size_t room = direct ? missing_ : buffer_.size() - end_;
  const ssize_t count = ::recv(fd_, to, room, MSG_DONTWAIT);
  if (count == 0) return Step::kBroken;
  if (count < 0) return try_later(errno) ? Step::kWait : Step::kBroken;
  if (!direct) {
    end_ += static_cast<std::size_t>(count);
    return Step::kContinue;
  }
  destination_ += count;
  missing_ -= static_cast<std::size_t>(count);
  if (missing_ == 0) {
    in_data_ = false;
    receiver.end(frame_);
  }
  return Step::kContinue;
}

bool TcpLane::receive(Receiver& receiver) {
  for (;;) {
    Step step = Step::kContinue;
    while (step == Step::kContinue) step = consume(receiver);
    if (step == Step::kBroken) return false;
    step = fill(receiver);
    if (step == Step::kBroken) return false;
    if (step == Step::kWait) return true;
  }
}

}  // namespace nerve::ai
