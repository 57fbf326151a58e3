#include "tests/bad_days/connections/cm.h"

#include <arpa/inet.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>

namespace bad_days {

rdma_cm_id* Channel::listen(int backlog, std::uint16_t port) const {
  sockaddr_in at = loopback(port);
  return listen_at(reinterpret_cast<sockaddr*>(&at), RDMA_PS_TCP, backlog);
}

rdma_cm_id* Channel::resolve(std::uint16_t port) const {
  sockaddr_in to = loopback(port);
  rdma_cm_id* const id = resolve_address(reinterpret_cast<sockaddr*>(&to), RDMA_PS_TCP);
  resolve_route(id);
  return id;
}

sockaddr_in loopback(std::uint16_t port) {
  return {.sin_family = AF_INET,
          .sin_port = htons(port),
          .sin_addr = {htonl(INADDR_LOOPBACK)},
          .sin_zero = {}};
}

std::uint16_t port_of(rdma_cm_id* id) { return ntohs(rdma_get_src_port(id)); }

rdma_conn_param parameters(std::uint32_t qpn, const std::string& said) {
  rdma_conn_param param{};
  param.private_data = said.c_str();
  param.private_data_len = static_cast<std::uint8_t>(said.empty() ? 0 : said.size() + 1);
  param.responder_resources = param.initiator_depth = 1;
  param.retry_count = param.rnr_retry_count = 7;
  param.qp_num = qpn;
  return param;
}

std::uint32_t fresh_qpn() {
  // QPNs 0 and 1 cannot be connected, whatever the last bits of the process id.
  static std::atomic<std::uint32_t> count{1};
  return (static_cast<std::uint32_t>(::getpid()) << 17U | (++count & 0x1'ffffU)) & 0xff'ffffU;
}

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all{"/proc/self/fd"};
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

std::size_t resident_kilobytes() {
  std::size_t size = 0;
  std::size_t resident = 0;
  std::ifstream{"/proc/self/statm"} >> size >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) / 1024;
}

}  // namespace bad_days
