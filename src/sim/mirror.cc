#include "sim/mirror.h"

#include <string>

namespace nerve::sim {
namespace {

PortFigures figures_of(std::uint32_t number, const Port& port) {
  return {.port = number,
          .queued = port.queued,
          .most_queued = port.most_queued,
          .paused = port.paused,
          .waiting = port.waiting,
          .credits = port.credits,
          .free_at = port.free_at,
          .sent_bytes = port.sent_bytes,
          .sent_packets = port.sent_packets,
          .paused_since = port.paused_since,
          .counters = port.counters};
}

void write(const PortFigures& from, Port& to) {
  to.queued = from.queued;
  to.most_queued = from.most_queued;
  to.paused = from.paused;
  to.waiting = from.waiting;
  to.credits = from.credits;
  to.free_at = from.free_at;
  to.sent_bytes = from.sent_bytes;
  to.sent_packets = from.sent_packets;
  to.paused_since = from.paused_since;
  to.counters = from.counters;
}

}  // namespace

Mirror::Mirror(Border& border, Fabric& fabric, const std::vector<std::unique_ptr<SimNic>>& nics)
    : border_{border},
      fabric_{fabric},
      nics_{nics},
      figures_(nics.size()),
      known_(nics.size()),
      all_(border.ranks()) {
  if (border.is_first_rank()) return;
  for (std::uint32_t i = 0; i < fabric.ports().size(); ++i) {
    const Port& port = fabric.ports()[i];
    if (fabric.is_here(port)) sent_ports_.push_back(figures_of(i, port));
  }
  for (std::uint32_t i = 0; i < nics.size(); ++i) {
    if (nics[i]) nics_here_.push_back(i);
  }
}

void Mirror::send() {
  mine_.clear();
  Packer to{mine_};
  std::vector<PortFigures> ports;
  for (PortFigures& sent : sent_ports_) {
    const PortFigures now = figures_of(sent.port, fabric_.port(PortId{sent.port}));
    if (now == sent) continue;
    ports.push_back(now);
    sent = now;
    sent.most_queued = now.queued;
  }
  to.put_all(ports);
  for (const std::uint32_t node : nics_here_) {
    const NicFigures now = nics_[node]->figures();
    if (known_[node] && now == figures_[node]) continue;
    to.put(node);
    to.put(now);
    figures_[node] = now;
    known_[node] = true;
  }
}

bool Mirror::receive(const Packed& message) {
  Unpacker from{message};
  std::vector<PortFigures> ports;
  from.take_all(ports);
  for (const PortFigures& one : ports) {
    if (one.port >= fabric_.ports().size()) return false;
    write(one, fabric_.port(PortId{one.port}));
  }
  while (from.intact() && !from.at_end()) {
    const auto node = from.take<std::uint32_t>();
    if (node >= figures_.size()) return false;
    figures_[node] = from.take<NicFigures>();
    known_[node] = true;
  }
  return from.intact();
}

bool Mirror::update() {
  if (!border_.is_first_rank()) send();
  if (!border_.gather(mine_, all_)) return false;
  if (!border_.is_first_rank()) return true;
  for (std::size_t i = 1; i < all_.size(); ++i) {
    if (receive(all_[i])) continue;
    border_.fail("the figures of rank " + std::to_string(i) + " make no sense");
    return false;
  }
  return true;
}

}  // namespace nerve::sim
