// Ends that nobody announces: a peer that is no more, and a user who goes without a word.
#include <algorithm>

#include "nic/connection/connection_manager.h"

namespace nerve::nic {

void ConnectionManager::lose_peer(wire::CommId one_of, std::span<const wire::Gid> hosts, Time now) {
  const auto block = [](wire::CommId id) { return id.value() >> kCommIdBits; };
  table_.for_each([&](Communication& comm) {
    if (std::ranges::find(hosts, comm.flow.destination) == hosts.end()) return;
    if (comm.remote_id) {
      if (block(*comm.remote_id) == block(one_of)) lose(comm, now);
    } else if (comm.begun && comm.repeats()) {
      // It may have been the one that we ask. Whoever is there now says so.
      say_again(comm);
    }
  });
}

// What the host of the peer would have said for it.
void ConnectionManager::lose(Communication& comm, Time now) {
  if (comm.being_made()) return reject_for_peer(comm, wire::RejectReason::kConsumer);
  if (comm.state != CommState::kEstablished && comm.state != CommState::kDreqSent) {
    return;  // it ends as it is
  }
  tell(CmEventKind::kDisconnected, comm, nullptr,
       wire::CmDreq{.local_comm_id = *comm.remote_id,
                    .remote_comm_id = comm.local_id,
                    .remote_qpn = comm.local_qpn});
  enter_timewait(comm, now);
}

void ConnectionManager::reject_for_peer(Communication& comm, wire::RejectReason reason) {
  tell(CmEventKind::kRejected, comm, nullptr,
       wire::CmRej{
           .local_comm_id = *comm.remote_id, .remote_comm_id = comm.local_id, .reason = reason});
  end(comm);
}

void ConnectionManager::disconnect_all() {
  table_.for_each([this](Communication& comm) {
    if (comm.owned) (void)destroy(comm.handle);
  });
  events_.clear();
}

}  // namespace nerve::nic
