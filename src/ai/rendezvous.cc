#include "ai/rendezvous.h"

#include <poll.h>

#include <thread>

#include "ai/message.h"
#include "ai/reception.h"

namespace nerve::ai {
namespace {

constexpr std::uint64_t kMagic = 0x4e4552564541490aU;  // "NERVEAI\n"

// What a rank publishes: who it is, and its text.
std::string card_of(Place place, const std::string& text) {
  MessageWriter writer;
  writer.number(kMagic).number(kVersion).number(static_cast<std::uint64_t>(place.size));
  writer.number(static_cast<std::uint64_t>(place.rank)).text(text);
  return writer.as_text();
}

struct Card {
  int rank;
  std::string text;
};

Result<Card, Error> read_card(const std::string& bytes, int size) {
  MessageReader reader{bytes};
  const std::uint64_t magic = reader.number();
  const std::uint64_t version = reader.number();
  const std::uint64_t their_size = reader.number();
  const std::uint64_t rank = reader.number();
  std::string text = reader.text();
  if (!reader.complete() || magic != kMagic) {
    return failure(Error::Kind::kProtocol,
                   "the rendezvous contains something that no rank of a group wrote; use an empty "
                   "folder, or a port that nothing else uses");
  }
  const int about = rank < kMaxRanks ? static_cast<int>(rank) : Error::kNoRank;
  if (version != kVersion) {
    return failure(Error::Kind::kProtocol,
                   "rank " + std::to_string(rank) + " speaks version " + std::to_string(version) +
                       ", this process version " + std::to_string(kVersion) +
                       "; install the same release on all hosts",
                   about);
  }
  if (their_size != static_cast<std::uint64_t>(size)) {
    return failure(Error::Kind::kProtocol,
                   "rank " + std::to_string(rank) + " expects " + std::to_string(their_size) +
                       " ranks, this process " + std::to_string(size) +
                       "; start all ranks with the same number",
                   about);
  }
  if (rank >= their_size) {
    return failure(Error::Kind::kProtocol, "a process claims to be rank " + std::to_string(rank) +
                                               " of " + std::to_string(size) +
                                               "; ranks start at 0");
  }
  return Card{static_cast<int>(rank), std::move(text)};
}

Unexpected<Error> never_came(const std::vector<bool>& here) {
  int first = 0;
  while (here[static_cast<std::size_t>(first)]) ++first;
  return failure(Error::Kind::kTimeout,
                 missing_ranks(here) + " of " + std::to_string(here.size()) +
                     " did not come to the rendezvous in time; start them, or raise the timeout",
                 first);
}

class StoreRendezvous final : public Rendezvous {
 public:
  StoreRendezvous(std::shared_ptr<Store> store, Place place)
      : store_{std::move(store)}, place_{place} {}

  [[nodiscard]] std::string local_host() const override { return "127.0.0.1"; }

  Result<std::vector<std::string>, Error> exchange(const std::string& mine,
                                                   const Patience& patience) override {
    if (Status set = store_->set(key_of(place_.rank), card_of(place_, mine)); !set) {
      return passed_on(set);
    }
    const auto size = static_cast<std::size_t>(place_.size);
    std::vector<std::string> texts(size);
    std::vector<bool> here(size);
    std::size_t missing = size;
    for (;;) {
      for (std::size_t rank = 0; rank < size; ++rank) {
        if (here[rank]) continue;
        auto got = store_->get(key_of(static_cast<int>(rank)));
        if (!got) return passed_on(got);
        if (!*got) continue;
        auto card = read_card(**got, place_.size);
        if (!card) return passed_on(card);
        if (card->rank != static_cast<int>(rank)) {
          return failure(Error::Kind::kProtocol, "the entry of rank " + std::to_string(rank) +
                                                     " was written by rank " +
                                                     std::to_string(card->rank));
        }
        texts[rank] = std::move(card->text);
        here[rank] = true;
        --missing;
      }
      if (missing == 0) return texts;
      if (patience.stop()) return failure(Error::Kind::kInterrupted, "interrupted");
      if (patience.expired()) return never_came(here);
      std::this_thread::sleep_for(std::chrono::milliseconds{2});
    }
  }

 private:
  static std::string key_of(int rank) { return "nerve-rank-" + std::to_string(rank); }

  std::shared_ptr<Store> store_;
  Place place_;
};

// Rank 0 of tcp:// and rdma://: collects a card from every rank, then sends all texts to each.
class SocketHost final : public Rendezvous {
 public:
  SocketHost(std::string host, Descriptor listener, Place place)
      : host_{std::move(host)}, listener_{std::move(listener)}, place_{place} {}

  [[nodiscard]] std::string local_host() const override { return host_; }
  [[nodiscard]] const SocketCalls& sockets() const override { return listener_.calls(); }

  Result<std::vector<std::string>, Error> exchange(const std::string& mine,
                                                   const Patience& patience) override {
    const auto size = static_cast<std::size_t>(place_.size);
    std::vector<std::string> texts(size);
    std::vector<bool> here(size);
    std::vector<Descriptor> sockets(size);
    texts[0] = mine;
    here[0] = true;
    std::size_t missing = size - 1;
    std::optional<Error> wrong;
    const auto take = [&](Descriptor socket, const std::vector<std::byte>& bytes) {
      auto card =
          read_card({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, place_.size);
      if (!card) {
        // A stranger at our port is ignored; a rank that disagrees with us ends the rendezvous.
        if (card.error().rank != Error::kNoRank) wrong = card.error();
        return;
      }
      const auto rank = static_cast<std::size_t>(card->rank);
      if (here[rank]) {
        wrong = Error{Error::Kind::kProtocol,
                      "two processes claim to be rank " + std::to_string(rank) +
                          "; give every process its own rank",
                      card->rank};
        return;
      }
      texts[rank] = std::move(card->text);
      here[rank] = true;
      sockets[rank] = std::move(socket);
      --missing;
    };
    Reception reception{listener_};
    while (missing > 0 && !wrong) {
      if (patience.stop()) return failure(Error::Kind::kInterrupted, "interrupted");
      if (patience.expired()) {
        wrong = never_came(here).error;
        break;
      }
      reception.wait(patience.slice_ms(), take);
    }
    MessageWriter answer;
    answer.number(wrong ? 1 : 0);
    if (wrong) {
      answer.text(wrong->text).number(static_cast<std::uint64_t>(wrong->rank) + 1);
    } else {
      for (const std::string& text : texts) answer.text(text);
    }
    for (const Descriptor& socket : sockets) {
      if (!socket.open()) continue;
      Status sent = send_message(socket, answer.bytes(), patience);
      (void)sent;  // a rank that died meanwhile is noticed when the others connect to it
    }
    if (wrong) return Unexpected{*wrong};
    return texts;
  }

 private:
  std::string host_;
  Descriptor listener_;
  Place place_;
};

class SocketGuest final : public Rendezvous {
 public:
  SocketGuest(Descriptor socket, Place place) : socket_{std::move(socket)}, place_{place} {}

  [[nodiscard]] std::string local_host() const override { return local_host_of(socket_); }
  [[nodiscard]] const SocketCalls& sockets() const override { return socket_.calls(); }

  Result<std::vector<std::string>, Error> exchange(const std::string& mine,
                                                   const Patience& patience) override {
    const std::string card = card_of(place_, mine);
    Status sent = send_message(
        socket_, Bytes{reinterpret_cast<const std::byte*>(card.data()), card.size()}, patience);
    if (!sent) return passed_on(sent);
    auto answer = receive_message(socket_, patience);
    if (!answer) {
      return failure(answer.error().kind,
                     "rank 0 did not answer at the rendezvous: " + answer.error().text, 0);
    }
    MessageReader reader{Bytes{*answer}};
    if (reader.number() != 0) {
      std::string text = reader.text();
      return failure(Error::Kind::kProtocol, std::move(text),
                     static_cast<int>(reader.number() % (kMaxRanks + 1)) - 1);
    }
    std::vector<std::string> texts(static_cast<std::size_t>(place_.size));
    for (std::string& text : texts) text = reader.text();
    if (!reader.complete()) {
      return failure(Error::Kind::kProtocol, "rank 0 sent an incomplete list of ranks", 0);
    }
    return texts;
  }

 private:
  Descriptor socket_;
  Place place_;
};

}  // namespace

std::string missing_ranks(const std::vector<bool>& here) {
  std::vector<std::size_t> missing;
  for (std::size_t rank = 0; rank < here.size(); ++rank) {
    if (!here[rank]) missing.push_back(rank);
  }
  std::string text = missing.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < missing.size(); ++i) {
    if (i > 0) text += i + 1 == missing.size() ? " and " : ", ";
    text += std::to_string(missing[i]);
  }
  return text;
}

namespace {

Result<std::unique_ptr<Rendezvous>, Error> meet_at(const std::string& text,
                                                   const SocketCalls& calls, Place place,
                                                   const Patience& patience) {
  auto address = parse_address(text);
  if (!address) return passed_on(address);
  if (place.rank == 0) {
    auto listener = listen_at(*address, calls);
    if (!listener) return passed_on(listener);
    return std::unique_ptr<Rendezvous>{
        std::make_unique<SocketHost>(address->host, std::move(*listener), place)};
  }
  auto socket = connect_to(*address, patience, calls);
  if (!socket) {
    return failure(socket.error().kind, "rank 0 is not at the rendezvous: " + socket.error().text,
                   0);
  }
  return std::unique_ptr<Rendezvous>{std::make_unique<SocketGuest>(std::move(*socket), place)};
}

}  // namespace

Result<std::unique_ptr<Rendezvous>, Error> open_rendezvous(const std::string& url,
                                                           std::shared_ptr<Store> store,
                                                           Place place, const Patience& patience) {
  std::unique_ptr<Rendezvous> made;
  if (url.starts_with("file://")) {
    auto files = open_file_store(url.substr(7));
    if (!files) return passed_on(files);
    made = std::make_unique<StoreRendezvous>(*files, place);
  } else if (url.starts_with("tcp://")) {
    return meet_at(url.substr(6), tcp_sockets(), place, patience);
  } else if (url.starts_with("rdma://")) {
    auto calls = rdma_sockets();
    if (!calls) return passed_on(calls);
    return meet_at(url.substr(7), **calls, place, patience);
  } else if (url.empty() && store) {
    made = std::make_unique<StoreRendezvous>(std::move(store), place);
  } else {
    return failure(Error::Kind::kUsage,
                   "the rendezvous '" + url +
                       "' is none of tcp://host:port, rdma://host:port and file:///folder");
  }
  return made;
}

}  // namespace nerve::ai
