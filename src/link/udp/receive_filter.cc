#include "link/udp/receive_filter.h"

#include <linux/filter.h>
#include <sys/socket.h>

#include <cerrno>
#include <vector>

#include "base/ids.h"
#include "link/udp/port_group.h"

namespace nerve::link {
namespace {

constexpr std::uint32_t kUdpHeader = 8;
constexpr std::uint32_t kQpnAt = kUdpHeader + 4;  // the low 24 bits of this word
constexpr std::uint32_t kTakeAll = ~0U;

}  // namespace

// The program sees the UDP header and what follows. A load beyond the end of a packet drops it.
int take_only(const UdpSocket& socket, std::span<const std::uint32_t> processes,
              MulticastQpn multicast) {
  if (processes.size() > kMostProcesses) return E2BIG;
  std::vector<sock_filter> code{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kQpnAt),
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, Qpn::kMask),
  };
  // A jump counts the instructions between it and the last one, which takes the packet.
  const std::size_t count = processes.size();
  if (multicast == MulticastQpn::kTake) {
    code.push_back(
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, Qpn::kMask, static_cast<std::uint8_t>(count + 2), 0));
  }
  code.push_back(BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, PortGroup::kQpnShift));
  for (std::size_t i = 0; i < count; ++i) {
    code.push_back(
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, processes[i], static_cast<std::uint8_t>(count - i), 0));
  }
  code.push_back(BPF_STMT(BPF_RET | BPF_K, 0));
  code.push_back(BPF_STMT(BPF_RET | BPF_K, kTakeAll));
  const sock_fprog program{.len = static_cast<unsigned short>(code.size()), .filter = code.data()};
  const int result =
      ::setsockopt(socket.fd(), SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
  return result == 0 ? 0 : errno;
}

}  // namespace nerve::link
