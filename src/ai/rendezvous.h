// How the ranks of a group find each other: every rank publishes one short text and gets the texts
// of all ranks.
//
//   tcp://host:port   rank 0 listens there and passes the texts on
//   rdma://host:port  the same by rdma_cm, without IP sockets
//   file:///folder    a file for each rank, renamed into place; the folder must be empty
//   a Store           the caller's own key-value store
//
// What arrives is untrusted: the number of ranks and the version must match, a rank may come only
// once, and ranks that do not come in time are named.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ai/error.h"
#include "ai/sockets.h"
#include "ai/waiting.h"

namespace nerve::ai {

inline constexpr int kMaxRanks = 64;
// Ranks of another version cannot talk to each other.
inline constexpr std::uint64_t kVersion = 3;

class Store {
 public:
  virtual ~Store() = default;
  virtual Status set(const std::string& key, const std::string& value) = 0;
  // Does not wait: nothing if the key is not there yet.
  virtual Result<std::optional<std::string>, Error> get(const std::string& key) = 0;
};

class Rendezvous {
 public:
  virtual ~Rendezvous() = default;
  // The address of this host that the peers can reach, as far as the rendezvous knows it.
  [[nodiscard]] virtual std::string local_host() const = 0;
  // What the ranks connect to each other with.
  [[nodiscard]] virtual const SocketCalls& sockets() const { return tcp_sockets(); }
  // The texts of all ranks, in the order of ranks.
  virtual Result<std::vector<std::string>, Error> exchange(const std::string& mine,
                                                           const Patience& patience) = 0;
};

struct Place {
  int rank{};
  int size{};
};

// `store` is used if `url` is empty.
Result<std::unique_ptr<Rendezvous>, Error> open_rendezvous(const std::string& url,
                                                           std::shared_ptr<Store> store,
                                                           Place place, const Patience& patience);

// A store of files, in a folder that is created if it does not exist. A key that is set a second
// time is an error.
Result<std::shared_ptr<Store>, Error> open_file_store(const std::string& folder);

// "rank 3" or "ranks 1, 3 and 5", of those that are missing in `here`.
std::string missing_ranks(const std::vector<bool>& here);

}  // namespace nerve::ai
