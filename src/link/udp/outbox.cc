#include "link/udp/outbox.h"

#include "base/check.h"

namespace nerve::link {

MutableOctets Outbox::add(const Message& message, const SocketName& to, std::uint32_t interface,
                          std::size_t octets) {
  CHECK(fits(octets));
  const std::size_t i = count_++;
  const MutableOctets room{buffer_.get() + used_, octets};
  used_ += octets;
  messages_[i] = message;
  messages_[i].octets = room;
  names_[i] = to;
  controls_[i].write(message.flow, interface, message.segment);
  octets_[i] = {.iov_base = room.data(), .iov_len = room.size()};
  msghdr& header = headers_[i].msg_hdr;
  header = {};
  header.msg_name = &names_[i];
  header.msg_namelen = names_[i].size;
  header.msg_iov = &octets_[i];
  header.msg_iovlen = 1;
  header.msg_control = controls_[i].octets;
  header.msg_controllen = controls_[i].size;
  return room;
}

}  // namespace nerve::link
