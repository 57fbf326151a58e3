// UD QPs that send datagrams to each other and to a multicast group, or the GSI QPs of all hosts,
// which exchange datagrams of the size of a MAD.
//
// UD guarantees little: a datagram arrives whole or not at all, perhaps twice if the network
// duplicates it, in any order. The model checks that every datagram received was sent to this QP
// with the right Q_Key, byte for byte, and that on a good network each arrives once.
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
  // The IDs of its work requests are above those of connections.
  static constexpr std::uint64_t kMark = std::uint64_t{1} << 62U;
  [[nodiscard]] static bool owns(std::uint64_t wr_id) { return wr_id >> 62U == 1; }
  [[nodiscard]] static nic::QpType type_of(std::uint64_t wr_id) {
    return (wr_id >> 61U & 1U) != 0 ? nic::QpType::kGsi : nic::QpType::kUd;
  }

  // `shared`: they receive from SRQs of another protection domain.
  Datagrams(nic::QpType type, bool shared, EventQueue& events, Journal& journal,
            const Network& network, std::vector<std::unique_ptr<Host>>& hosts, std::uint32_t count,
            std::uint64_t seed);

  void start();
  [[nodiscard]] bool finished() const { return finished_; }
  [[nodiscard]] nic::QpType type() const { return type_; }
  void completed(const nic::Completion& completion);

 private:
  static constexpr std::size_t kGrh = 40;
  static constexpr std::uint32_t kGsiQkey = 0x8001'0000;  // IBTA 10.2.5
  static constexpr std::size_t kMad = 256;
  static constexpr std::uint32_t kCapacity = 1024;
  static constexpr std::uint32_t kReceives = 48;
  [[nodiscard]] std::size_t capacity() const { return gsi() ? kMad : kCapacity; }

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
    std::vector<std::byte> bytes{};
    bool multicast{};
    bool has_immediate{};
    std::uint32_t immediate{};
    std::vector<std::size_t> received_by{};
  };

  [[nodiscard]] bool gsi() const { return type_ == nic::QpType::kGsi; }
  [[nodiscard]] std::uint64_t id_of(std::size_t member, bool receive, std::size_t index) const {
    return kMark | std::uint64_t{gsi()} << 61U | std::uint64_t{member} << 40U |
           std::uint64_t{receive} << 39U | index;
  }
  void make_member(Host& host);
  // Key to the host's local memory in its other protection domain.
  LKey other_key(Host& host);
  void send_one();
  void received(Member& member, std::size_t index, const nic::Completion& completion);
  void finish_at(Duration age);
  void finish();
  void violation(const std::string& what);

  nic::QpType type_;
  bool shared_;
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
