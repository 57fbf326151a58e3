// The TCP twin of the RDMA transport: the same requests as frames over sockets. The receiver checks
// every address and key, as a NIC would, and serves gets while it is inside a call of the library.
#include <poll.h>

#include <map>

#include "ai/tcp_lane.h"
#include "ai/transport.h"

namespace nerve::ai {
namespace {

constexpr std::size_t kQueueLimit = 256;  // as a send queue has

struct PendingGet {
  Memory to;
  std::size_t length;
  std::uint64_t id;
};

class TcpTransport;

class TcpConnection final : public TcpLane::Receiver {
 public:
  TcpConnection(TcpTransport& owner, int fd, int peer, int number)
      : lane{fd}, owner_{owner}, peer_{peer}, number_{number} {}
  bool begin(const TcpFrame& frame, Memory& destination) override;
  void end(const TcpFrame& frame) override;
  void sent(std::uint64_t id) override;

  TcpLane lane;
  bool failed{};
  std::map<std::uint32_t, PendingGet> gets;
  std::uint32_t next_get{};

 private:
  TcpTransport& owner_;
  int peer_;
  int number_;
};

class TcpTransport final : public Transport {
 public:
  TcpTransport(Mesh& mesh, int lanes) : lanes_{lanes} {
    for (int peer = 0; peer < mesh.size(); ++peer) {
      for (int lane = 0; lane < lanes; ++lane) {
        const std::size_t link = static_cast<std::size_t>(lane) + 1;
        const int fd = peer == mesh.rank() ? -1 : mesh.link(peer, link).get();
        connections_.push_back(std::make_unique<TcpConnection>(*this, fd, peer, lane));
      }
    }
  }

  [[nodiscard]] int lanes() const override { return lanes_; }
  [[nodiscard]] std::string describe() const override {
    return "tcp, " + std::to_string(lanes_) + " connection" + (lanes_ == 1 ? "" : "s") +
           " per peer";
  }
  std::string address_for(int /*peer*/) override { return "tcp"; }
  Status connect(int peer, const std::string& address) override {
    if (address == "tcp") return Done{};
    return failure(Error::Kind::kProtocol,
                   "rank " + std::to_string(peer) +
                       " uses another transport; choose the same one for all ranks",
                   peer);
  }
  Result<std::unique_ptr<Registration>, Error> add_memory(const Memory& memory, std::size_t length,
                                                          Lifetime lifetime) override;
  void remove_memory(Registration& memory) override { memory_.erase(memory.remote_keys[0]); }
  [[nodiscard]] bool memory_may_change() const override { return true; }
  [[nodiscard]] bool has_room(int peer, int lane) const override {
    const TcpConnection& one = at(peer, lane);
    return one.failed || one.lane.queued() < kQueueLimit;
  }
  [[nodiscard]] bool failed(int peer, int lane) const override { return at(peer, lane).failed; }
  Status put(const Request& request) override;
  Status get(const Request& request) override;
  void progress(std::vector<Event>& events) override;
  void rest() override { poll_all(1); }
  [[nodiscard]] bool may_copy_directly() const override { return false; }

  // The memory that a peer names, if all of it is registered; else null.
  Memory find(std::uint32_t key, std::uint64_t address, std::uint64_t length);
  void event(Event event) { events_.push_back(std::move(event)); }
  Traffic& counted() { return traffic_; }

 private:
  [[nodiscard]] TcpConnection& at(int peer, int lane) const {
    return *connections_[index_of(peer, lane)];
  }
  [[nodiscard]] std::size_t index_of(int peer, int lane) const {
    return static_cast<std::size_t>(peer) * static_cast<std::size_t>(lanes_) +
           static_cast<std::size_t>(lane);
  }
  void send(int peer, int lane, const TcpLane::Outgoing& frame);
  void broken(std::size_t index);
  void poll_all(int timeout_ms);

  int lanes_;
  std::vector<std::unique_ptr<TcpConnection>> connections_;
  struct Registered {
    Memory memory;
    std::size_t length;
  };
  std::map<std::uint32_t, Registered> memory_;
  std::uint32_t next_key_{1};
  std::vector<Event> events_;
  std::vector<pollfd> fds_;
  bool polled_{};  // fds_ has the result of a poll that progress() has not used
};

bool TcpConnection::begin(const TcpFrame& frame, Memory& destination) {
  if (frame.kind == TcpFrame::Kind::kAnswer) {
    const auto found = gets.find(frame.id);
    if (found == gets.end() || found->second.length != frame.length) return false;
    destination = found->second.to;
    return true;
  }
  const bool known = frame.kind == TcpFrame::Kind::kPut ||
                     frame.kind == TcpFrame::Kind::kNotifyingPut ||
                     frame.kind == TcpFrame::Kind::kGet;
  if (!known) return false;
  if (frame.length == 0) return true;
  destination = owner_.find(frame.key, frame.address, frame.length);
  return destination.data != nullptr;
}

void TcpConnection::end(const TcpFrame& frame) {
  switch (frame.kind) {
    case TcpFrame::Kind::kPut:
      return;
    case TcpFrame::Kind::kNotifyingPut:
      owner_.event({.kind = Event::Kind::kNotified,
                    .peer = peer_,
                    .lane = number_,
                    .immediate = frame.immediate});
      return;
    case TcpFrame::Kind::kGet: {
      TcpLane::Outgoing answer{};
      TcpFrame{.kind = TcpFrame::Kind::kAnswer, .length = frame.length, .id = frame.id}.encode(
          answer.head);
      answer.head_length = TcpFrame::kSize;
      answer.data = owner_.find(frame.key, frame.address, frame.length);
      answer.length = frame.length;
      lane.queue(answer);
      return;
    }
    case TcpFrame::Kind::kAnswer: {
      const auto found = gets.find(frame.id);
      sent(found->second.id);
      gets.erase(found);
      return;
    }
  }
}

void TcpConnection::sent(std::uint64_t id) {
  owner_.event({.kind = Event::Kind::kCompleted, .peer = peer_, .lane = number_, .id = id});
}

Result<std::unique_ptr<Registration>, Error> TcpTransport::add_memory(const Memory& memory,
                                                                      std::size_t length,
                                                                      Lifetime /*lifetime*/) {
  auto made = std::make_unique<Registration>();
  made->address = memory.data;
  made->length = length;
  made->gpu = memory.gpu;
  made->allocation = memory.allocation;
  made->remote_keys[0] = next_key_;
  memory_[next_key_++] = {memory, length};
  return made;
}

Memory TcpTransport::find(std::uint32_t key, std::uint64_t address, std::uint64_t length) {
  const auto found = memory_.find(key);
  if (found == memory_.end()) return {};
  const auto start = reinterpret_cast<std::uint64_t>(found->second.memory.data);
  const std::uint64_t size = found->second.length;
  if (address < start || length > size || address - start > size - length) return {};
  return found->second.memory.at(address - start);
}

void TcpTransport::send(int peer, int lane, const TcpLane::Outgoing& frame) {
  TcpConnection& connection = at(peer, lane);
  const bool first = !connection.lane.wants_to_send();
  connection.lane.queue(frame);
  if (first && !connection.lane.send(connection)) {
    broken(index_of(peer, lane));
  }
}

Status TcpTransport::put(const Request& request) {
  TcpConnection& connection = at(request.peer, request.lane);
  if (connection.failed) return Done{};
  TcpLane::Outgoing out{};
  TcpFrame{.kind = request.immediate ? TcpFrame::Kind::kNotifyingPut : TcpFrame::Kind::kPut,
           .immediate = request.immediate.value_or(0),
           .address = request.remote,
           .length = request.length,
           .key = request.keys[0]}
      .encode(out.head);
  out.head_length = TcpFrame::kSize;
  if (request.length <= kInline && request.local_gpu() == nullptr) {
    std::copy_n(request.local, request.length, out.head.data() + TcpFrame::kSize);
    out.head_length += request.length;
  } else {
    out.data = {request.local, request.local_gpu()};
    out.length = request.length;
  }
  out.id = request.id;
  traffic_.bytes_put += request.length;
  ++traffic_.messages;
  send(request.peer, request.lane, out);
  return Done{};
}

Status TcpTransport::get(const Request& request) {
  TcpConnection& connection = at(request.peer, request.lane);
  if (connection.failed) return Done{};
  const std::uint32_t id = connection.next_get++;
  connection.gets[id] = {{request.local, request.local_gpu()}, request.length, request.id};
  TcpLane::Outgoing out{};
  TcpFrame{.kind = TcpFrame::Kind::kGet,
           .address = request.remote,
           .length = request.length,
           .key = request.keys[0],
           .id = id}
      .encode(out.head);
  out.head_length = TcpFrame::kSize;
  traffic_.bytes_got += request.length;
  ++traffic_.messages;
  send(request.peer, request.lane, out);
  return Done{};
}

void TcpTransport::poll_all(int timeout_ms) {
  fds_.resize(connections_.size());
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    const TcpConnection& one = *connections_[i];
    const short events = static_cast<short>(POLLIN | (one.lane.wants_to_send() ? POLLOUT : 0));
    fds_[i] = {one.failed ? -1 : one.lane.fd(), events, 0};
  }
  polled_ = ::poll(fds_.data(), fds_.size(), timeout_ms) > 0;
}

void TcpTransport::broken(std::size_t index) {
  TcpConnection& one = *connections_[index];
  one.failed = true;
  const int peer = static_cast<int>(index) / lanes_;
  const int lane = static_cast<int>(index) % lanes_;
  const std::optional<Error>& memory = one.lane.memory_error();
  event(
      {.kind = Event::Kind::kFailed,
       .peer = peer,
       .lane = lane,
       .text = memory ? memory->text : "the TCP connection was closed, or carried an invalid frame",
       .local = memory.has_value()});
  one.lane.abandon([&](std::uint64_t id) {
    event({.kind = Event::Kind::kAbandoned, .peer = peer, .lane = lane, .id = id});
  });
  for (const auto& [key, get] : one.gets) {
    event({.kind = Event::Kind::kAbandoned, .peer = peer, .lane = lane, .id = get.id});
  }
  one.gets.clear();
}

void TcpTransport::progress(std::vector<Event>& events) {
  if (!polled_) poll_all(0);
  if (polled_) {
    polled_ = false;
    for (std::size_t i = 0; i < fds_.size(); ++i) {
      if (fds_[i].fd < 0 || fds_[i].revents == 0) continue;
      TcpConnection& one = *connections_[i];
      const bool usable = one.lane.receive(one) && one.lane.send(one);
      if (!usable) broken(i);
    }
  }
  events.insert(events.end(), events_.begin(), events_.end());
  events_.clear();
}

}  // namespace

std::unique_ptr<Transport> open_tcp_transport(Mesh& mesh, int lanes) {
  return std::make_unique<TcpTransport>(mesh, lanes);
}

}  // namespace nerve::ai
