#include "ai/mesh.h"

#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "ai/message.h"
#include "ai/reception.h"

namespace nerve::ai {
namespace {

// Control messages after the exchange: a kind and a rank.
constexpr char kLeft = 'L';
constexpr char kDied = 'D';
constexpr char kMissed = 'M';  // it left while a peer waited for it
constexpr char kSilent = 'S';
constexpr char kQuestion = 'Q';
constexpr char kAnswer = 'A';
constexpr std::size_t kControlSize = 2;

std::uint64_t random_number() {
  std::uint64_t value = 0;
  (void)!::getrandom(&value, sizeof value, 0);
  return value;
}

// What a rank publishes: where it listens, and (of rank 0) the number that identifies the group.
struct Published {
  Address address;
  std::uint64_t token{};
};

Result<Published, Error> read_published(const std::string& text, int rank) {
  MessageReader reader{text};
  Published published;
  published.address.host = reader.text();
  const std::uint64_t port = reader.number();
  published.token = reader.number();
  if (!reader.complete() || port == 0 || port > 65535) {
    return failure(Error::Kind::kProtocol,
                   "rank " + std::to_string(rank) + " published no valid address", rank);
  }
  published.address.port = static_cast<std::uint16_t>(port);
  return published;
}

}  // namespace

Result<Mesh, Error> Mesh::connect(Place place, Rendezvous& rendezvous, const std::string& host,
                                  std::size_t links, const Patience& patience) {
  const std::string here = host.empty() ? rendezvous.local_host() : host;
  auto listener = listen_at({here, 0}, rendezvous.sockets());
  if (!listener) return passed_on(listener);
  MessageWriter mine;
  mine.text(here).number(port_of(*listener)).number(random_number());
  auto texts = rendezvous.exchange(mine.as_text(), patience);
  if (!texts) return passed_on(texts);
  std::vector<Address> addresses;
  std::uint64_t token = 0;
  for (int rank = 0; rank < place.size; ++rank) {
    auto published = read_published((*texts)[at(rank)], rank);
    if (!published) return passed_on(published);
    addresses.push_back(published->address);
    if (rank == 0) token = published->token;
  }
  Mesh mesh{place};
  Status connected = mesh.connect_all(addresses, token, *listener, links, patience);
  if (!connected) return passed_on(connected);
  return mesh;
}

// Every rank connects to the lower ones and accepts the higher ones.
Status Mesh::connect_all(const std::vector<Address>& addresses, std::uint64_t token,
                         const Descriptor& listener, std::size_t links, const Patience& patience) {
  for (Peer& peer : peers_) peer.links.resize(links);
  for (int peer = 0; peer < place_.rank; ++peer) {
    for (std::size_t index = 0; index < links; ++index) {
      auto socket = connect_to(addresses[at(peer)], patience, listener.calls());
      MessageWriter hello;
      hello.number(token).number(static_cast<std::uint64_t>(place_.rank)).number(index);
      const Status sent =
          socket ? send_message(*socket, hello.bytes(), patience) : Status{passed_on(socket)};
      if (!sent) {
        return failure(sent.error().kind,
                       "rank " + std::to_string(peer) +
                           " came to the rendezvous but not further: " + sent.error().text,
                       peer);
      }
      link(peer, index) = std::move(*socket);
    }
  }
  std::size_t missing = links * at(place_.size - 1 - place_.rank);
  Reception reception{listener};
  while (missing > 0) {
    if (patience.stop()) return failure(Error::Kind::kInterrupted, "interrupted");
    if (patience.expired()) {
      std::vector<bool> here(at(place_.size), true);
      for (int peer = place_.rank + 1; peer < place_.size; ++peer) {
        for (const Descriptor& one : peers_[at(peer)].links) {
          if (!one.open()) here[at(peer)] = false;
        }
      }
      return failure(Error::Kind::kTimeout,
                     missing_ranks(here) + " came to the rendezvous but did not connect in time");
    }
    reception.wait(patience.slice_ms(), [&](Descriptor socket, const std::vector<std::byte>& text) {
      MessageReader reader{Bytes{text}};
      const bool ours = reader.number() == token;
      const std::uint64_t rank = reader.number();
      const std::uint64_t index = reader.number();
      if (!reader.complete() || !ours || rank >= at(place_.size) || rank <= at(place_.rank) ||
          index >= links || peers_[rank].links[index].open()) {
        return;  // a stranger
      }
      peers_[rank].links[index] = std::move(socket);
      --missing;
    });
  }
  return Done{};
}

Result<std::vector<std::string>, Error> Mesh::exchange(
    const std::function<std::string(int)>& text_for, const Patience& patience) {
  std::vector<std::string> texts(peers_.size());
  const auto about = [](int peer, const Error& error) {
    return failure(error.kind, "rank " + std::to_string(peer) + ": " + error.text, peer);
  };
  for (int peer = 0; peer < place_.size; ++peer) {
    if (peer == place_.rank) continue;
    const std::string text = text_for(peer);
    const Bytes bytes{reinterpret_cast<const std::byte*>(text.data()), text.size()};
    Status sent = send_message(link(peer, kControl), bytes, patience);
    if (!sent) return about(peer, sent.error());
  }
  for (int peer = 0; peer < place_.size; ++peer) {
    if (peer == place_.rank) continue;
    auto got = receive_message(link(peer, kControl), patience);
    if (!got) return about(peer, got.error());
    texts[at(peer)] = {reinterpret_cast<const char*>(got->data()), got->size()};
  }
  return texts;
}

void Mesh::end(Error::Kind kind, int rank, const std::string& how) {
  if (death_) return;
  death_ = Error{kind, "rank " + std::to_string(rank) + " " + how, rank};
}

void Mesh::read_control(int peer) {
  Peer& from = peers_[at(peer)];
  std::array<std::byte, 64> bytes{};
  const Descriptor& control = link(peer, kControl);
  const ssize_t count =
      control.calls().recv(control.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) {
    link(peer, kControl).close();
    if (!from.left) end(Error::Kind::kPeerDied, peer, "died: its connection was closed");
    return;
  }
  from.received.insert(from.received.end(), bytes.begin(), bytes.begin() + count);
  while (from.received.size() >= kControlSize) {
    const char kind = static_cast<char>(from.received[0]);
    const int rank = std::to_integer<int>(from.received[1]);
    from.received.erase(from.received.begin(), from.received.begin() + kControlSize);
    handle_control(peer, kind, rank);
  }
}

void Mesh::handle_control(int peer, char kind, int rank) {
  const std::string reports = ", as rank " + std::to_string(peer) + " reports";
  const bool about_another = rank < place_.size && rank != place_.rank;
  if (kind == kLeft) peers_[at(peer)].left = true;
  if (kind == kQuestion) send_control(peer, kAnswer, 0);
  if (kind == kAnswer) peers_[at(peer)].answered = true;
  if (kind == kDied && about_another) end(Error::Kind::kPeerDied, rank, "died" + reports);
  if (kind == kMissed && about_another) {
    end(Error::Kind::kPeerDied, rank, "left the group early" + reports);
  }
  if (kind == kSilent && about_another) {
    end(Error::Kind::kTimeout, rank, "did not answer" + reports);
  }
}

const std::optional<Error>& Mesh::check() {
  if (death_ || !exchanges_ended_) return death_;
  std::array<pollfd, kMaxRanks> fds{};
  std::array<int, kMaxRanks> ranks{};
  nfds_t count = 0;
  const SocketCalls* calls = &tcp_sockets();
  for (int peer = 0; peer < place_.size; ++peer) {
    if (peer == place_.rank || !link(peer, kControl).open()) continue;
    ranks[count] = peer;
    calls = &link(peer, kControl).calls();  // the same for all
    fds[count++] = {link(peer, kControl).get(), POLLIN, 0};
  }
  if (calls->poll(fds.data(), count, 0) <= 0) return death_;
  for (nfds_t i = 0; i < count; ++i) {
    if (fds[i].revents != 0) read_control(ranks[i]);
  }
  return death_;
}

void Mesh::send_control(int peer, char kind, int rank) {
  if (peer == place_.rank || !link(peer, kControl).open()) return;
  const std::array<char, kControlSize> bytes{kind, static_cast<char>(rank)};
  const Descriptor& control = link(peer, kControl);
  (void)control.calls().send(control.get(), bytes.data(), bytes.size(),
                             MSG_NOSIGNAL | MSG_DONTWAIT);
}

void Mesh::report_death(int rank) {
  const char kind = left(rank) ? kMissed : kDied;
  for (int peer = 0; peer < place_.size; ++peer) {
    if (peer != rank) send_control(peer, kind, rank);
  }
}

void Mesh::ask_all() {
  for (int peer = 0; peer < place_.size; ++peer) {
    peers_[at(peer)].answered = false;
    send_control(peer, kQuestion, 0);
  }
}

std::vector<int> Mesh::silent_peers() const {
  std::vector<int> silent;
  for (int peer = 0; peer < place_.size; ++peer) {
    const Peer& one = peers_[at(peer)];
    if (peer != place_.rank && !one.left && !one.answered) silent.push_back(peer);
  }
  return silent;
}

void Mesh::report_silence(int rank) {
  for (int peer = 0; peer < place_.size; ++peer) send_control(peer, kSilent, rank);
}

void Mesh::leave() {
  for (int peer = 0; peer < place_.size; ++peer) send_control(peer, kLeft, 0);
}

}  // namespace nerve::ai
