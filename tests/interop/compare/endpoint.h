// One end of a reliable connection between two machines: a QP, memory, and a TCP connection for
// coordination. Uses only public verbs, so that it runs on any RDMA device.
//
// Any failure ends the program with a line that says what failed.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace compare {

inline constexpr std::size_t kMemory = 1U << 20U;

[[noreturn]] void fail(const std::string& what);

struct Options {
  std::string device;
  std::string port{"18515"};
  int gid_index{};
  int mtu{1024};
  bool fences{true};
  std::string server;  // its address, at the client; empty at the server
};

// What each end sends to the other before they connect.
struct Card {
  std::uint32_t qpn{};
  std::uint32_t psn{};
  ibv_gid gid{};
  std::uint64_t address{};
  std::uint32_t rkey{};
};

class Endpoint {
 public:
  explicit Endpoint(const Options& options);

  // A new QP at each end, connected to the other: after an error the old one is unusable.
  void connect();

  // Waits until both ends have arrived here; returns whether both passed `content`.
  bool meet(bool content = true) const;

  [[nodiscard]] std::uint64_t at(std::size_t offset) const;
  [[nodiscard]] std::uint64_t remote(std::size_t offset) const { return peer_.address + offset; }
  [[nodiscard]] std::byte* memory(std::size_t offset = 0) { return memory_.data() + offset; }
  [[nodiscard]] std::uint32_t peer_key() const { return peer_.rkey; }

  void post_receive(std::size_t offset, std::uint32_t length);
  // One signaled request from or into `length` bytes at `offset`; other fields are those of
  // `request`.
  void post(ibv_send_wr request, std::size_t offset, std::uint32_t length);
  // The next completion, with any status.
  [[nodiscard]] ibv_wc completion() const;
  // The next completion, which must be a success of this kind.
  ibv_wc expect(ibv_wc_opcode opcode) const;

 private:
  void open_device();
  void open_connection();
  void make_qp();
  void tell(const void* bytes, std::size_t length) const;
  void hear(void* bytes, std::size_t length) const;

  Options options_;
  std::vector<std::byte> memory_;
  ibv_context* context_{};
  ibv_pd* pd_{};
  ibv_cq* cq_{};
  ibv_mr* mr_{};
  ibv_qp* qp_{};
  Card own_{};
  Card peer_{};
  int connection_{-1};
};

}  // namespace compare
