#include "sim/border.h"

#include <algorithm>

namespace nerve::sim {
namespace {

// The beginning of a message.
struct Head {
  Border::Place place{};
  Time next{};
  std::uint64_t executed{};
  std::uint64_t reports{};
};

constexpr std::uint32_t kNoMore = UINT32_MAX;  // in place of a part

}  // namespace

Border::Border(Ranks& ranks, std::size_t parts, std::size_t ports, Memory memory)
    : ranks_{ranks},
      parts_{parts},
      ports_{ports},
      memory_{std::move(memory)},
      out_(ranks.count()),
      in_(ranks.count()) {}

std::size_t Border::first_of(std::size_t rank) const { return rank * parts_ / ranks_.count(); }

std::string Border::trouble() const { return why_.empty() ? ranks_.trouble() : why_; }

bool Border::share(const Packed& mine, std::span<Packed> all) {
  if (!why_.empty()) return false;
  const std::vector<Packed> out(ranks_.count(), mine);
  return ranks_.exchange(out, all);
}

bool Border::gather(const Packed& mine, std::span<Packed> all) {
  return why_.empty() && ranks_.gather(mine, all);
}

void Border::pack_reports(std::span<const NicReport> reports, Packed& into) {
  Packer to{into};
  for (const NicReport& one : reports) {
    to.put(one.when);
    to.put(one.nic);
    to.put(one.kind);
    switch (one.kind) {
      case NicReport::Kind::kReceived:
        to.put(one.qp);
        to.put(one.immediate);
        break;
      case NicReport::Kind::kSent:
        to.put(one.message);
        break;
      case NicReport::Kind::kFailed:
        to.put(one.qp);
        to.put_text(one.why);
        break;
    }
  }
}

void Border::pack_departures(std::size_t rank, std::deque<Part>& parts, unsigned set, Packer& to) {
  for (Part& part : parts) {
    if (!part.has_sent()) continue;
    for (std::size_t i = first_of(rank); i < first_of(rank + 1); ++i) {
      Outbox& outbox = part.outbox(i, set);
      if (outbox.empty()) continue;
      to.put(static_cast<std::uint32_t>(i));
      outbox.pack(to);
    }
  }
  to.put(kNoMore);
}

bool Border::exchange(const Place& place, std::deque<Part>& parts, unsigned set,
                      std::vector<NicReport>& reports) {
  if (!why_.empty()) return false;
  Head head{.place = place, .next = FabricPart::kNever, .reports = reports.size()};
  for (const Part& part : parts) {
    head.next = std::min(head.next, part.next());
    head.executed += part.executed();
  }
  common_.clear();
  Packer{common_}.put(head);
  pack_reports(reports, common_);
  for (std::size_t i = 0; i < out_.size(); ++i) {
    if (i == ranks_.rank()) continue;
    out_[i].assign(common_.begin(), common_.end());
    Packer to{out_[i]};
    pack_departures(i, parts, set, to);
  }
  if (!ranks_.exchange(out_, in_)) return false;
  next_ = FabricPart::kNever;
  executed_ = 0;
  for (std::size_t i = 0; i < in_.size(); ++i) {
    if (i == ranks_.rank()) continue;
    if (take(i, place, parts, reports)) continue;
    if (why_.empty()) why_ = "the message of rank " + std::to_string(i) + " makes no sense";
    return false;
  }
  return true;
}

bool Border::take(std::size_t rank, const Place& place, std::deque<Part>& parts,
                  std::vector<NicReport>& reports) {
  Unpacker from{in_[rank]};
  const Head head = from.take<Head>();
  if (from.intact() && head.place != place) {
    why_ = "rank " + std::to_string(rank) +
           " simulates something else; does it read the same files as this rank?";
    return false;
  }
  next_ = std::min(next_, head.next);
  executed_ += head.executed;
  for (std::uint64_t i = 0; i < head.reports && from.intact(); ++i) {
    NicReport one;
    one.when = from.take<Time>();
    one.nic = from.take<NodeId>();
    one.kind = from.take<NicReport::Kind>();
    switch (one.kind) {
      case NicReport::Kind::kReceived:
        one.qp = from.take<QpNumber>();
        one.immediate = from.take<std::uint32_t>();
        break;
      case NicReport::Kind::kSent:
        one.message = from.take<std::uint64_t>();
        break;
      case NicReport::Kind::kFailed:
        one.qp = from.take<QpNumber>();
        one.why = kept(from.take_text());
        break;
      default:
        return false;
    }
    reports.push_back(one);
  }
  return take_arrivals(from, parts) && from.at_end();
}

bool Border::take_arrivals(Unpacker& from, std::deque<Part>& parts) {
  for (;;) {
    const auto part = from.take<std::uint32_t>();
    if (!from.intact()) return false;
    if (part == kNoMore) return true;
    if (part < first_here() || part - first_here() >= parts.size()) return false;
    const bool well = arrivals_.unpack(from, ports_, [this](Packet& packet) {
      if (packet.piece.port != nullptr) packet.piece.port = &memory_(packet.destination);
    });
    if (!well || arrivals_.empty()) return false;
    parts[part - first_here()].take(arrivals_);
  }
}

std::string_view Border::kept(const std::string& why) {
  const auto known = std::ranges::find(reasons_, why);
  return known != reasons_.end() ? *known : reasons_.emplace_back(why);
}

}  // namespace nerve::sim
