#include "link/udp/outbox.h"

#include "base/check.h"

namespace nerve::link {

MutableBytes Outbox::add(const Message& message, const SocketName& to, std::uint32_t interface,
                         std::size_t bytes) {
  CHECK(fits(bytes));
  const std::size_t i = count_++;
  const MutableBytes room{buffer_.get() + used_, bytes};
  used_ += bytes;
  messages_[i] = message;
  messages_[i].bytes = room;
  names_[i] = to;
  controls_[i].write(message.flow, interface, message.segment);
  bytes_[i] = {.iov_base = room.data(), .iov_len = room.size()};
  msghdr& header = headers_[i].msg_hdr;
  header = {};
  header.msg_name = &names_[i];
  header.msg_namelen = names_[i].size;
  header.msg_iov = &bytes_[i];
  header.msg_iovlen = 1;
  header.msg_control = controls_[i].bytes;
  header.msg_controllen = controls_[i].size;
  return room;
}

}  // namespace nerve::link
