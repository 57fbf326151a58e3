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

bool TcpLane::moved(const Status& status) {
  if (!status) memory_error_ = status.error();
  return status.has_value();
}

std::optional<Bytes> TcpLane::data_at(const Outgoing& frame, std::size_t offset) {
  if (frame.data.gpu == nullptr) return Bytes{frame.data.data + offset, frame.length - offset};
  if (offset < outgoing_at_ || offset >= outgoing_at_ + outgoing_length_) {
    outgoing_.resize(kBuffer);
    outgoing_at_ = offset;
    outgoing_length_ = std::min(kBuffer, frame.length - offset);
    const Status read =
        copy(host_memory(outgoing_.data()), frame.data.at(offset), outgoing_length_);
    if (!moved(read)) return std::nullopt;
  }
  return Bytes{outgoing_}.subspan(offset - outgoing_at_, outgoing_length_ + outgoing_at_ - offset);
}

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
      const std::optional<Bytes> data = data_at(frame, done);
      if (!data) return false;
      parts[message.msg_iovlen++] = {const_cast<std::byte*>(data->data()), data->size()};
    }
    const ssize_t count = ::sendmsg(fd_, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0) return try_later(errno);
    frame.sent += static_cast<std::size_t>(count);
    if (frame.sent < frame.head_length + frame.length) continue;
    if (frame.id != 0) receiver.sent(frame.id);
    queue_.pop_front();
    outgoing_length_ = 0;
  }
  return true;
}

// Takes what is in the buffer: a header, or data.
TcpLane::Step TcpLane::consume(Receiver& receiver) {
  if (!in_data_) {
    if (end_ - start_ < TcpFrame::kSize) return Step::kWait;
    frame_ = TcpFrame::decode(Bytes{buffer_}.subspan(start_, TcpFrame::kSize));
    start_ += TcpFrame::kSize;
    destination_ = {};
    if (!receiver.begin(frame_, destination_)) return Step::kBroken;
    missing_ = frame_.carries_data() ? frame_.length : 0;
    in_data_ = true;
  }
  const std::size_t here = std::min(missing_, end_ - start_);
  if (here > 0) {
    if (!moved(copy(destination_, host_memory(buffer_.data() + start_), here))) {
      return Step::kBroken;
    }
  }
  start_ += here;
  destination_.data += here;
  missing_ -= here;
  if (missing_ > 0) return Step::kWait;
  in_data_ = false;
  receiver.end(frame_);
  return Step::kContinue;
}

TcpLane::Step TcpLane::fill(Receiver& receiver) {
  // The buffer is empty then.
  const bool direct = in_data_ && missing_ >= kDirect && destination_.gpu == nullptr;
  if (!direct && start_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + start_, end_ - start_);
    end_ -= start_;
    start_ = 0;
  }
  std::byte* to = direct ? destination_.data : buffer_.data() + end_;
  const std::size_t room = direct ? missing_ : buffer_.size() - end_;
  const ssize_t count = ::recv(fd_, to, room, MSG_DONTWAIT);
  if (count == 0) return Step::kBroken;
  if (count < 0) return try_later(errno) ? Step::kWait : Step::kBroken;
  if (!direct) {
    end_ += static_cast<std::size_t>(count);
    return Step::kContinue;
  }
  destination_.data += count;
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
