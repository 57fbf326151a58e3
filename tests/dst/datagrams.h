// UD QPs that send datagrams to each other and to a multicast group.
//
// UD promises little: a datagram arrives whole or not at all, perhaps twice if the network copies
// it, in any order. The model holds the engine to that: every datagram received is one that was
// sent to this QP with the right Q_Key, octet for octet; on a good network each arrives once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/dst/host.h"
#include "tests/dst/network.h"
#include "tests/dst/request.h"

namespace nerve::dst {

class Datagrams {
 public:
  // Ids of its work requests are above those of connections.
  static constexpr std::uint64_t kMark = std::uint64_t{1} << 62U;

  Datagrams(EventQueue& events, Journal& journal, const Network& network,
            std::vector<std::unique_ptr<Host>>& hosts, std::uint32_t count, std::uint64_t seed);

  void start();
  [[nodiscard]] bool finished() const { return finished_; }
  void completed(Host& host, const nic::Completion& completion);

 private:
  static constexpr std::size_t kGrh = 40;
  static constexpr std::uint32_t kCapacity = 1024;
  static constexpr std::uint32_t kReceives = 48;

  struct Buffer {
    Range range{};
    bool done{};
  };
  struct Member {
    Host* host{};
    nic::CqHandle cq{};
    nic::QpHandle qp{};
    Qpn qpn{};
    bool in_group{};
    std::vector<Buffer> buffers{};
    std::size_t sends{};
    std::size_t sends_completed{};
  };
  struct Datagram {
    std::size_t from{};
    std::vector<std::size_t> to{};  // members that may receive it
    std::vector<std::byte> octets{};
    bool multicast{};
    bool has_immediate{};
    std::uint32_t immediate{};
    std::vector<std::size_t> received_by{};
  };

  void make_member(Host& host);
  void send_one();
  void received(Member& member, std::size_t index, const nic::Completion& completion);
  void finish();
  void violation(const std::string& what);

  EventQueue& events_;
  Journal& journal_;
  const Network& network_;
  std::vector<std::unique_ptr<Host>>& hosts_;
  Prng prng_;
  wire::Gid group_{};
  std::uint32_t qkey_;
  std::uint32_t left_;
  std::vector<Member> members_;
  std::vector<Datagram> sent_;
  bool finished_{};
};

}  // namespace nerve::dst
