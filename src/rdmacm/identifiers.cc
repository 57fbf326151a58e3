// Identifiers: creation, destruction, migration, options, and fetching of events.
#include <fcntl.h>
#include <sys/random.h>

#include "nic/connection/connection_manager.h"
#include "rdmacm/command.h"

namespace nerve::rdmacm {

namespace {

bool is_space(std::uint16_t number) {
  switch (static_cast<Space>(number)) {
    case Space::kIpoib:
    case Space::kTcp:
    case Space::kUdp:
    case Space::kIb:
      return true;
  }
  return false;
}

template <class Value>
bool read_option(const rdma_ucm_set_option& body, Value& value) {
  if (body.optlen != sizeof value) return false;
  std::memcpy(&value, reinterpret_cast<const void*>(body.optval), sizeof value);
  return true;
}

int set_id_option(Identifier& id, const rdma_ucm_set_option& body) {
  std::uint8_t byte = 0;
  int whole = 0;
  switch (body.optname) {
    case RDMA_OPTION_ID_TOS:
      if (!read_option(body, byte)) return EINVAL;
      id.options.traffic_class = byte;
      return 0;
    case RDMA_OPTION_ID_ACK_TIMEOUT:
      if (!read_option(body, byte) || byte > 31 || id.datagram()) return EINVAL;
      id.options.ack_timeout = byte;
      return 0;
    case RDMA_OPTION_ID_REUSEADDR:
      if (!read_option(body, whole)) return EINVAL;
      if (id.state == IdState::kListening) return EINVAL;
      id.options.reuse_address = whole != 0;
      return 0;
    case RDMA_OPTION_ID_AFONLY:
      if (!read_option(body, whole)) return EINVAL;
      if (id.state != IdState::kIdle && id.state != IdState::kBound) return EINVAL;
      id.options.one_family = whole != 0;
      return 0;
    default:
      return ENOSYS;
  }
}

// Returns true if a program that does not block for events should get EAGAIN, because the oldest
// event is a disconnect and the program has not polled all completions of that connection.
//
// On real hardware a disconnect takes longer than data and is reported well after it. Here both may
// arrive while the program's thread is not running, between its check of the completions and its
// check of the events; libfabric would then close the QP and lose the pending completions. The
// event is postponed only once, because the program may never poll.
bool data_comes_first(const Command& command) {
  host::EventQueue<Report>& events = command.channel->events;
  if ((::fcntl(events.fd(), F_GETFL) & O_NONBLOCK) == 0) return false;
  std::uint32_t ended = 0;
  (void)events.put_off([&](const Report& oldest) {
    const bool end = oldest.words.event == static_cast<std::uint32_t>(EventKind::kDisconnected);
    if (end && !oldest.put_off) ended = oldest.of;
    return false;
  });
  if (ended == 0) return false;
  std::shared_ptr<host::Adapter> adapter;
  Qpn qpn;
  {
    const std::scoped_lock guard{command.registry.lock};
    const auto id = command.registry.ids.find(ended);
    if (!id || !id->port.adapter) return false;
    adapter = id->port.adapter;
    qpn = id->qpn;
  }
  host::Adapter::Session session{*adapter, host::Adapter::Session::For::kControl};
  session.drive();  // data and the disconnect arrive by different sockets
  return session->completions_wait(qpn) && events.put_off([&](Report& oldest) {
    return oldest.of == ended && !std::exchange(oldest.put_off, true);
  });
}

// The program has seen the request, so it leaves the backlog of its listener.
void take_from_backlog(Registry& registry, std::uint32_t made) {
  std::shared_ptr<Identifier> id;
  {
    const std::scoped_lock guard{registry.lock};
    id = registry.ids.find(made);
  }
  if (!id || !id->port.adapter) return;
  host::Adapter::Session session{*id->port.adapter, host::Adapter::Session::For::kControl};
  (void)session->cm().seen(id->comm);
}

// Counts an event that is about to be returned to the program. False if its identifier no longer
// exists.
bool count(Registry& registry, const Report& report) {
  std::shared_ptr<Identifier> unseen;
  {
    const std::scoped_lock guard{registry.lock};
    const auto membership = registry.memberships.find(report.multicast);
    if (const auto id = registry.ids.find(report.of)) {
      ++id->events_fetched;
      if (membership) ++membership->events_fetched;
      return true;
    }
    unseen = registry.ids.find(report.made);
  }
  if (unseen) (void)destroy(registry, unseen);
  return false;
}

}  // namespace

Psn draw_psn() {
  std::uint32_t drawn = 0;
  // If getrandom fails the PSN is zero, which is a valid PSN.
  [[maybe_unused]] const ssize_t bytes = ::getrandom(&drawn, sizeof drawn, 0);
  return Psn{drawn};
}

int create_id(const Command& command) {
  rdma_ucm_create_id body;
  if (!command.read(body)) return EINVAL;
  if (!command.has_room<rdma_ucm_create_id_resp>()) return ENOSPC;
  if (!is_space(body.ps)) return EINVAL;
  std::shared_ptr<Identifier> id;
  {
    const std::scoped_lock guard{command.registry.lock};
    id = command.registry.ids.make();
    id->channel = command.channel.get();
    id->uid = body.uid;
    id->space = static_cast<Space>(body.ps);
    id->qp_type = body.qp_type;
    id->receive_psn = draw_psn();
  }
  return command.answer(body.response, rdma_ucm_create_id_resp{.id = id->number});
}

std::uint32_t destroy(Registry& registry, const std::shared_ptr<Identifier>& id) {
  std::vector<std::pair<LocalPort, nic::CommHandle>> comms;
  std::vector<std::shared_ptr<Identifier>> unseen;
  std::uint32_t fetched = 0;
  {
    const std::scoped_lock guard{registry.lock};
    if (registry.ids.find(id->number) != id) return 0;  // another thread destroyed it first
    registry.ids.erase(id->number);
    if (id->channel != nullptr) {
      id->channel->events.forget([&](const Report& report) {
        if (report.of != id->number) return false;
        if (auto made = registry.ids.find(report.made)) unseen.push_back(std::move(made));
        return true;
      });
    }
    comms = std::exchange(id->listens, {});
    if (id->comm) comms.emplace_back(id->port, id->comm);
    for (const auto& [port, comm] : comms) registry.forget(port.adapter.get(), comm);
    registry.memberships.erase_if([&](const Membership& one) { return one.of == id->number; });
    fetched = id->events_fetched;
    id->channel = nullptr;
  }
  for (const auto& [port, comm] : comms) {
    host::Adapter::Session session{*port.adapter, host::Adapter::Session::For::kControl};
    (void)session->cm().destroy(comm);
  }
  {
    const std::scoped_lock guard{registry.lock};
    registry.port_uses.give_back(*id);
    registry.port_uses.end_request(*id);
  }
  // Requests to a listener that the program has not seen.
  for (const auto& one : unseen) (void)destroy(registry, one);
  return fetched;
}

int destroy_id(const Command& command) {
  rdma_ucm_destroy_id body;
  if (!command.read(body)) return EINVAL;
  if (!command.has_room<rdma_ucm_destroy_id_resp>()) return ENOSPC;
  const auto id = command.registry.find(*command.channel, body.id);
  if (!id) return id.error();
  const std::uint32_t fetched = destroy(command.registry, *id);
  return command.answer(body.response, rdma_ucm_destroy_id_resp{.events_reported = fetched});
}

int migrate_id(const Command& command) {
  rdma_ucm_migrate_id body;
  if (!command.read(body)) return EINVAL;
  const auto from = command.registry.channel(static_cast<int>(body.fd));
  if (!from) return EINVAL;
  const auto found = command.registry.find(*from, body.id);
  if (!found) return found.error();
  const auto& id = *found;
  rdma_ucm_migrate_resp resp{};
  {
    const std::scoped_lock guard{command.registry.lock};
    if (id->removed) return ENXIO;
    if (id->channel != from.get()) return ENOENT;
    if (from != command.channel) {
      from->events.move_to(command.channel->events, [&](const Report& report) {
        if (report.of != id->number) return false;
        // A pending request moves to its listener's new channel.
        if (const auto made = command.registry.ids.find(report.made)) {
          made->channel = command.channel.get();
        }
        return true;
      });
      id->channel = command.channel.get();
    }
    resp.events_reported = id->events_fetched;
  }
  return command.answer(body.response, resp);
}

int set_option(const Command& command) {
  rdma_ucm_set_option body;
  if (!command.read(body)) return EINVAL;
  const auto found = command.id(body.id);
  if (!found) return found.error();
  const auto& id = *found;
  const std::scoped_lock guard{command.registry.lock};
  if (body.level == RDMA_OPTION_ID) return set_id_option(*id, body);
  if (body.level != RDMA_OPTION_IB || body.optname != RDMA_OPTION_IB_PATH) return ENOSYS;
  // A path from another source. There is only one path to an IP address, so the path itself is
  // ignored.
  if (id->state != IdState::kAddressResolved) return EINVAL;
  id->state = IdState::kRouteResolved;
  command.registry.post_event(*id, EventKind::kRouteResolved);
  return 0;
}

int get_event(const Command& command) {
  rdma_ucm_get_event body;
  if (!command.read(body)) return EINVAL;
  // Older programs do not have the last two words.
  constexpr std::size_t kOldest = offsetof(rdma_ucm_event_resp, reserved);
  if (command.room < kOldest) return ENOSPC;
  if (data_comes_first(command)) return EAGAIN;
  Report report;
  const auto take = [&](const Report& oldest) { report = oldest; };
  if (!command.signalled || !command.channel->events.next(take)) return kNoEventYet;
  if (!count(command.registry, report)) return kNoEventYet;
  if (report.made != 0) take_from_backlog(command.registry, report.made);
  std::memcpy(reinterpret_cast<void*>(body.response), &report.words,
              std::min<std::size_t>(command.room, sizeof report.words));
  return 0;
}

// Same as rdma_ucm_write_cm_event in newer headers.
struct WriteEvent {
  std::uint32_t id;
  std::uint32_t reserved;
  std::uint32_t event;
  std::uint32_t status;
  union {
    rdma_ucm_conn_param conn;
    rdma_ucm_ud_param ud;
    std::uint64_t arg;
  } param;
};

int write_event(const Command& command) {
  WriteEvent body;
  if (!command.read(body, offsetof(WriteEvent, param) + sizeof body.param.arg)) return EINVAL;
  const auto kind = static_cast<EventKind>(body.event);
  if (kind != EventKind::kUser && kind != EventKind::kInternal) return EINVAL;
  const auto found = command.id(body.id);
  if (!found) return found.error();
  rdma_ucm_event_resp words{};
  std::memcpy(&words.param, &body.param.arg, sizeof body.param.arg);
  const std::scoped_lock guard{command.registry.lock};
  command.registry.post_event(**found, kind, static_cast<int>(body.status), &words);
  return 0;
}

}  // namespace nerve::rdmacm
