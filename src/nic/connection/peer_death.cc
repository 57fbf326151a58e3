// Ends without notice: a peer process that died, and a user that exits.
#include <algorithm>

#include "nic/connection/connection_manager.h"

namespace nerve::nic {

void ConnectionManager::lose_peer(wire::CommId one_of, std::span<const wire::Gid> hosts, Time now) {
  const auto block = [](wire::CommId id) { return id.value() >> kCommIdBits; };
  table_.for_each([&](Communication& comm) {
    if (std::ranges::find(hosts, comm.flow.destination) == hosts.end()) return;
    if (comm.remote_id) {
      if (block(*comm.remote_id) == block(one_of)) lose(comm, now);
    } else if (comm.transmitted && comm.awaits_answer()) {
      // The dead process may have been the one we asked. Ask again; its successor will answer.
      resend(comm);
    }
  });
}

// Does what the messages of the peer's host would have caused.
void ConnectionManager::lose(Communication& comm, Time now) {
  if (comm.is_connecting()) return reject_for_peer(comm, wire::RejectReason::kConsumer);
  if (comm.state != CommState::kEstablished && comm.state != CommState::kDreqSent) {
    return;  // it ends on its own
  }
  raise(CmEventKind::kDisconnected, comm, nullptr,
        wire::CmDreq{.local_comm_id = *comm.remote_id,
                     .remote_comm_id = comm.local_id,
                     .remote_qpn = comm.local_qpn});
  enter_timewait(comm, now);
}

void ConnectionManager::reject_for_peer(Communication& comm, wire::RejectReason reason) {
  raise(CmEventKind::kRejected, comm, nullptr,
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
