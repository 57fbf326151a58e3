// The device as librdmacm uses it: commands written, responses read.
#pragma once

#include <netinet/in.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_cm.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "rdmacm/device.h"
#include "rdmacm/identifier.h"

namespace rdmacm_test {

using nerve::rdmacm::EventKind;

sockaddr_in6 address(const char* text, std::uint16_t port);

class Channel {
 public:
  Channel();
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  [[nodiscard]] int fd() const { return fd_; }

  // Each returns zero or errno.
  template <class Body, class Answer>
  int call(std::uint32_t number, Body body, Answer& answer) {
    body.response = reinterpret_cast<std::uint64_t>(&answer);
    return write(number, body, sizeof answer);
  }
  template <class Body>
  int call(std::uint32_t number, const Body& body) {
    return write(number, body, 0);
  }

  std::uint32_t create(std::uint64_t uid, std::uint16_t space = RDMA_PS_TCP,
                       std::uint8_t qp_type = 2);
  int destroy(std::uint32_t id, std::uint32_t* events = nullptr);
  int bind(std::uint32_t id, const char* text, std::uint16_t port);
  int listen(std::uint32_t id, std::uint32_t backlog = 0);
  int resolve(std::uint32_t id, const char* text, std::uint16_t port);
  int resolve_route(std::uint32_t id);
  int connect(std::uint32_t id, std::uint32_t qpn, std::string_view said = {});
  int accept(std::uint32_t id, std::uint64_t uid, std::uint32_t qpn, std::string_view said = {});
  int confirm(std::uint32_t id);
  int reject(std::uint32_t id, std::string_view said = {});
  int disconnect(std::uint32_t id);
  int query(std::uint32_t id, rdma_ucm_query_route_resp& route);
  int qp_attributes(std::uint32_t id, std::uint32_t state, ib_uverbs_qp_attr& attr);
  [[nodiscard]] std::uint16_t port_of(std::uint32_t id);

  // Waits for the next event.
  rdma_ucm_event_resp event();
  // The next event, which must be of this kind.
  rdma_ucm_event_resp expect(EventKind kind);
  // True if an event is waiting.
  [[nodiscard]] bool readable(int milliseconds = 0) const;

 private:
  template <class Body>
  int write(std::uint32_t number, const Body& body, std::size_t room) {
    struct {
      rdma_ucm_cmd_hdr header;
      Body body;
    } command{{number, sizeof body, static_cast<std::uint16_t>(room)}, body};
    static_assert(sizeof command == sizeof command.header + sizeof body);
    const auto written = nerve::rdmacm::write_device(
        fd_, {reinterpret_cast<const std::byte*>(&command), sizeof command});
    return written < 0 ? errno : 0;
  }
  int fd_;
};

std::string_view said(const rdma_ucm_conn_param& param);

}  // namespace rdmacm_test
