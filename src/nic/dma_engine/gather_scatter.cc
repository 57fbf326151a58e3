// Moves bytes between scatter/gather lists, payload and memory.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "nic/dma_engine/dma_engine.h"

namespace nerve::nic {
namespace {

using Fault = std::optional<AccessFault>;

// Calls visit(sge, address, length) for each part of the list that overlaps bytes [offset, offset +
// length). Stops at the first fault; a list that is too short is a fault.
//
// Only the part in use is checked, not its whole element: as on hardware, a receive whose element
// is longer than its region works while messages are short.
template <class Visit>
Fault for_each_part(std::span<const Sge> list, std::uint64_t offset, std::uint64_t length,
                    bool leave_early, Visit visit) {
  for (const Sge& sge : list) {
    if (length == 0) return {};
    if (offset >= sge.length) {
      offset -= sge.length;
      continue;
    }
    auto part = static_cast<std::uint32_t>(std::min<std::uint64_t>(sge.length - offset, length));
    if (leave_early && part < length && part > 1) --part;
    const std::uint64_t address = sge.address + offset;
    if (address < sge.address) return AccessFault::kOutOfBounds;  // the element wraps
    if (const Fault fault = visit(sge, address, part)) return fault;
    offset = 0;
    length -= part;
  }
  return length == 0 ? Fault{} : AccessFault::kOutOfBounds;
}

std::byte* pointer(std::uint64_t address) { return reinterpret_cast<std::byte*>(address); }

bool is_void(const MemoryPort* port) { return port != nullptr && !port->has_contents(); }

[[gnu::noinline]] void copy_through_ports(const wire::Piece& to, const wire::Piece& from) {
  // Memory without contents neither supplies nor stores bytes; the rest of the operation is the
  // same.
  if (is_void(to.port) || is_void(from.port)) return;
  if (from.port == nullptr) return to.port->write(to.address, {pointer(from.address), to.length});
  if (to.port == nullptr) return from.port->read(from.address, {pointer(to.address), to.length});
  std::array<std::byte, 1024> buffer;
  for (std::uint32_t done = 0; done < to.length;) {
    const auto step = std::min<std::uint32_t>(to.length - done, buffer.size());
    const MutableBytes part{buffer.data(), step};
    from.port->read(from.address + done, part);
    to.port->write(to.address + done, part);
    done += step;
  }
}

// Fills `to`; `from` is at least as long.
inline void copy(const wire::Piece& to, const wire::Piece& from) {
  if (to.length == 0) return;  // the address may be null
  if (to.port == nullptr && from.port == nullptr) {
    // On loopback both may be parts of one buffer and overlap.
    std::memmove(pointer(to.address), pointer(from.address), to.length);
  } else {
    copy_through_ports(to, from);
  }
}

// Consumes payload from the front.
class Source {
 public:
  explicit Source(std::span<const wire::Piece> payload) : rest_{payload} {}

  // Returns the number of copies.
  std::uint32_t move_to(wire::Piece to) {
    std::uint32_t copies = 0;
    for (; to.length > 0; ++copies) {
      CHECK(!rest_.empty());
      wire::Piece from = rest_.front();
      from.address += used_;
      from.length = std::min(from.length - used_, to.length);
      copy({to.address, from.length, to.port}, from);
      to.address += from.length;
      to.length -= from.length;
      used_ += from.length;
      if (used_ == rest_.front().length) {
        rest_ = rest_.subspan(1);
        used_ = 0;
      }
    }
    return copies;
  }

 private:
  std::span<const wire::Piece> rest_;
  std::uint32_t used_{};
};

}  // namespace

Gathered DmaEngine::gather_parts(std::span<const Sge> list, std::uint64_t offset,
                                 std::uint32_t length, PdHandle pd, TxBurst& burst,
                                 const LateReader& reader) const {
  std::uint32_t added = 0;
  Gathered late = Gathered::kDone;
  const auto visit = [&](const Sge& sge, std::uint64_t address, std::uint32_t part) -> Fault {
    const auto piece = resolve_local(sge.lkey, pd, address, part, Access::kNone);
    if (!piece) return piece.error();
    if (is_late(*piece)) [[unlikely]] {
      const Gathered fetched = fetch(sge, pd, address, *piece, burst, reader);
      late = std::max(late, fetched);
      if (fetched == Gathered::kDone) ++added;
      return {};
    }
    burst.add_piece(*piece);
    ++added;
    return {};
  };
  const Gathered result =
      for_each_part(list, offset, length, false, visit) ? Gathered::kFault : late;
  if (result != Gathered::kDone) burst.drop_pieces(added);
  return result;
}

Gathered DmaEngine::fetch(const Sge& sge, PdHandle pd, std::uint64_t address,
                          const wire::Piece& piece, TxBurst& burst,
                          const LateReader& reader) const {
  // The element may be longer than its region; then the next packet is at fault, not this one.
  const auto rest = static_cast<std::uint32_t>(sge.address + sge.length - address);
  const bool all = resolve_local(sge.lkey, pd, address, rest, Access::kNone).has_value();
  return fetch(piece, all ? rest - piece.length : 0, burst, reader);
}

Gathered DmaEngine::fetch(const wire::Piece& piece, std::uint64_t follow, TxBurst& burst,
                          const LateReader& reader) const {
  if (reader.message == 0) return Gathered::kLater;
  const LateMemory::Fetched fetched = late_->fetch({.address = piece.address,
                                                    .length = piece.length,
                                                    .follow = follow,
                                                    .engine = reader.engine,
                                                    .message = reader.message});
  switch (fetched.progress) {
    case LateMemory::Progress::kDone:
      burst.add_fetched(fetched.bytes, piece.length);
      return Gathered::kDone;
    case LateMemory::Progress::kLater:
      return Gathered::kLater;
    case LateMemory::Progress::kFailed:
      break;
  }
  return Gathered::kFault;
}

std::uint32_t DmaEngine::repeat_late(const wire::Piece& piece, std::uint64_t follow,
                                     std::uint32_t count, TxBurst& burst,
                                     const LateReader& reader) const {
  if (reader.message == 0) return 0;
  const LateMemory::Fetched fetched = late_->fetch({.address = piece.address,
                                                    .length = piece.length,
                                                    .follow = follow,
                                                    .more = count - 1,
                                                    .engine = reader.engine,
                                                    .message = reader.message});
  if (fetched.progress != LateMemory::Progress::kDone) return 0;
  CHECK(fetched.parts <= count);
  burst.repeat_fetched(fetched.parts, fetched.bytes, piece.length);
  return fetched.parts;
}

Result<Placed, AccessFault> DmaEngine::scatter(std::span<const Sge> list, std::uint64_t offset,
                                               std::span<const wire::Piece> payload,
                                               PdHandle pd) const {
  std::uint64_t length = 0;
  for (const wire::Piece& piece : payload) length += piece.length;
  if (length == 0) return Placed{};
  Source source{payload};
  Placed placed;
  const auto move_to = [&](const wire::Piece& to) {
    const std::uint32_t copies = source.move_to(to);
    if (is_late(to)) [[unlikely]] {
      placed.late_writes += copies;
      placed.late_bytes += to.length;
    }
  };

  // Nearly every message lies in one element: one lookup then serves both the check and the copy.
  if (list.size() == 1 && offset + length <= list[0].length) {
    const Sge& sge = list[0];
    const std::uint64_t address = sge.address + offset;
    if (address < sge.address) return Unexpected{AccessFault::kOutOfBounds};
    const auto place = resolve_local(sge.lkey, pd, address, static_cast<std::uint32_t>(length),
                                     Access::kLocalWrite);
    if (!place) return Unexpected{place.error()};
    move_to(*place);
    return placed;
  }

  const auto walk = [&](auto visit) {
    return for_each_part(list, offset, length, planted(Bug::kDeliverToWrongSge), visit);
  };
  const auto resolve = [&](const Sge& sge, std::uint64_t address, std::uint32_t part) {
    return resolve_local(sge.lkey, pd, address, part, Access::kLocalWrite);
  };
  const Fault fault = walk([&](const auto&... part) -> Fault {
    const auto place = resolve(part...);
    return place ? Fault{} : place.error();
  });
  if (fault) return Unexpected{*fault};
  walk([&](const auto&... part) -> Fault {
    move_to(*resolve(part...));
    return {};
  });
  return placed;
}

void DmaEngine::place(const wire::Piece& to, std::span<const wire::Piece> payload) {
  std::uint32_t done = 0;
  for (const wire::Piece& from : payload) {
    CHECK(from.length <= to.length - done);
    copy({to.address + done, from.length, to.port}, from);
    done += from.length;
  }
  CHECK(done == to.length);
}

}  // namespace nerve::nic
