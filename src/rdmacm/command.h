// Commands as librdmacm writes them to the device: a header, a structure, and the address of the
// response in the program's memory (rdma/rdma_user_cm.h).
#pragma once

#include <netinet/in.h>  // before the kernel's, which then does without its own
#include <rdma/rdma_user_cm.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/bytes.h"
#include "rdmacm/registry.h"

namespace nerve::rdmacm {

// Commands of kernels newer than the header (6.16 and later).
enum LaterCommand : std::uint32_t { kResolveIbService = 23, kWriteCmEvent = 24 };

struct Command {
  Registry& registry;
  std::shared_ptr<Channel> channel;
  Bytes in;              // after the header
  std::uint16_t room{};  // size of the program's response buffer
  bool signalled{};      // the signal of an event was read from the channel

  // Reads the command's structure. An older program may pass a shorter one; the rest is zero.
  template <class Body>
  [[nodiscard]] bool read(Body& body, std::size_t at_least = sizeof(Body)) const {
    if (in.size() < at_least) return false;
    body = {};
    std::memcpy(&body, in.data(), std::min(in.size(), sizeof body));
    return true;
  }
  template <class Answer>
  [[nodiscard]] bool has_room() const {
    return room >= sizeof(Answer);
  }
  template <class Answer>
  int answer(std::uint64_t at, const Answer& answer) const {
    if (!has_room<Answer>()) return ENOSPC;
    std::memcpy(reinterpret_cast<void*>(at), &answer, sizeof answer);
    return 0;
  }
  // Nothing but destroying is possible if the device is gone.
  [[nodiscard]] Result<std::shared_ptr<Identifier>, int> id(std::uint32_t number) const {
    auto found = registry.find(*channel, number);
    if (found && (*found)->removed) return Unexpected{ENXIO};
    return found;
  }
};

template <class Value>
[[nodiscard]] Bytes bytes_of(const Value& value) {
  return {reinterpret_cast<const std::byte*>(&value), sizeof value};
}

// Returned by GET_EVENT until there is an event: the caller waits and calls again.
inline constexpr int kNoEventYet = -2;

// Each is executed at once and returns zero or an errno.
int create_id(const Command& command);
int destroy_id(const Command& command);
int migrate_id(const Command& command);
int set_option(const Command& command);
int get_event(const Command& command);
int write_event(const Command& command);

int bind_ip(const Command& command);
int bind_address(const Command& command);
int resolve_ip(const Command& command);
int resolve_address(const Command& command);
int resolve_route(const Command& command);
int resolve_ib_service(const Command& command);
int listen(const Command& command);

int query_route(const Command& command);
int query(const Command& command);
int init_qp_attr(const Command& command);

int connect(const Command& command);
int accept(const Command& command);
int reject(const Command& command);
int disconnect(const Command& command);
int notify(const Command& command);

int join_ip_multicast(const Command& command);
int join_multicast(const Command& command);
int leave_multicast(const Command& command);

}  // namespace nerve::rdmacm
