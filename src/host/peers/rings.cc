#include "host/peers/rings.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <bit>

#include "base/check.h"
#include "host/peers/membership.h"
#include "link/shm/placement.h"

namespace nerve::host {
namespace {

constexpr std::size_t kMailboxSize = 4096;
constexpr std::size_t kLargestRing = std::size_t{1} << 30;

// Layout of the mailbox:
//    0   4   nonzero while the owner sleeps
//   64   4   nonzero if the owner fences before it sleeps
std::atomic<std::uint32_t>* asleep_in(MutableBytes mailbox) {
  return reinterpret_cast<std::atomic<std::uint32_t>*>(mailbox.data());
}
std::atomic<std::uint32_t>* fences_in(MutableBytes mailbox) {
  return reinterpret_cast<std::atomic<std::uint32_t>*>(mailbox.data() + 64);
}

// In the header page of the ring, at an offset that neither ring end uses.
std::atomic<std::uint64_t>* in_use_in(MutableBytes ring) {
  constexpr std::size_t kInUseAt = 512;
  return reinterpret_cast<std::atomic<std::uint64_t>*>(ring.data() + kInUseAt);
}

}  // namespace

std::atomic<std::uint64_t>& OutgoingRing::in_use() const { return *in_use_in(memory_.bytes()); }

link::shm::RingSize ring_size(std::uint64_t bytes) {
  link::shm::RingSize size;
  size.data_bytes = static_cast<std::uint32_t>(
      std::bit_ceil(std::clamp(bytes, std::uint64_t{1} << 16, std::uint64_t{1} << 28)));
  return size.valid() ? size : link::shm::RingSize{};
}

std::optional<Mailbox> Mailbox::make(const Mailbox* first) {
  auto memory = make_shared_memory(kMailboxSize, Others::kWrite);
  Descriptor event{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  if (!memory || !event) return std::nullopt;
  Mailbox mailbox;
  mailbox.memory_ = std::move(*memory);
  mailbox.event_ = std::move(event);
  if (first != nullptr) {
    mailbox.rights_ = first->rights_;
  } else {
    auto rights = make_shared_memory(link::shm::kRightsTableSize, Others::kRead);
    if (!rights) return std::nullopt;
    mailbox.rights_.reset(new OwnRights{std::move(*rights)});
  }
  mailbox.fences_ = link::shm::join_fences() && link::shm::fence_all();
  fences_in(mailbox.memory_.mapping.bytes())->store(mailbox.fences_ ? 1 : 0);
  return mailbox;
}

bool Mailbox::fall_asleep() {
  asleep_in(memory_.mapping.bytes())->store(1, std::memory_order_seq_cst);
  return !fences_ || link::shm::fence_all();
}

void Mailbox::wake_up() { asleep_in(memory_.mapping.bytes())->store(0, std::memory_order_seq_cst); }

std::optional<RingOffer> RingOffer::make(std::uint32_t slot, std::uint32_t own_slot,
                                         const link::shm::RingSize& size) {
  RingOffer offer;
  offer.slot_ = slot;
  offer.size_ = size;
  offer.connection_ = call(name_of_slot(slot));
  if (!offer.connection_) return std::nullopt;
  offer.fences_ = link::shm::join_fences();
  const std::optional<pid_t> pid = own_peer(offer.connection_.get());
  auto memory = make_shared_memory(size.bytes(), Others::kWrite);
  if (!pid || !memory || !link::shm::format_ring(memory->mapping.bytes(), size)) {
    return std::nullopt;
  }
  offer.pid_ = *pid;
  const auto request = Request{.kind = RequestKind::kRing, .slot = own_slot}.encode();
  const std::array sent{memory->descriptor.get()};
  if (!send_message(offer.connection_.get(), request, sent)) return std::nullopt;
  offer.memory_ = std::move(*memory);
  return offer;
}

std::unique_ptr<OutgoingRing> RingOffer::conclude(std::chrono::milliseconds patience) && {
  auto answer = receive_message(connection_.get(), patience);
  const auto text = answer ? decode_answer(answer->bytes) : std::nullopt;
  if (!text || answer->descriptors.size() != 3) return nullptr;
  auto mailbox =
      map_shared_memory(answer->descriptors[0].get(), kMailboxSize, kMailboxSize, Others::kWrite);
  auto rights = map_shared_memory(answer->descriptors[2].get(), link::shm::kRightsTableSize,
                                  link::shm::kRightsTableSize, Others::kRead);
  if (!mailbox || !rights) return nullptr;

  std::unique_ptr<OutgoingRing> ring{new OutgoingRing};
  ring->slot_ = slot_;
  ring->pid_ = pid_;
  ring->peer_is_udp_only_ = *text == kUdpOnly;
  ring->connection_ = std::move(connection_);
  ring->event_ = std::move(answer->descriptors[1]);
  ring->memory_ = std::move(memory_.mapping);
  ring->mailbox_ = std::move(*mailbox);
  ring->rights_ = std::move(*rights);
  if (link::shm::can_place(pid_)) {
    ring->view_ = link::shm::RightsView::open(ring->rights_.bytes());
  }
  const link::shm::Doorbell doorbell{
      .asleep = asleep_in(ring->mailbox_.bytes()),
      .event_fd = ring->event_.get(),
      .light = fences_ && fences_in(ring->mailbox_.bytes())->load() != 0};
  ring->writer_.emplace(ring->memory_.bytes(), size_, doorbell);
  return ring;
}

std::unique_ptr<IncomingRing> IncomingRing::accept(Descriptor connection, const Request& request,
                                                   const Message& message) {
  if (message.descriptors.size() != 1) return nullptr;
  auto memory = map_shared_memory(message.descriptors[0].get(), link::shm::kHeaderPage,
                                  kLargestRing, Others::kWrite);
  if (!memory) return nullptr;
  const auto size = link::shm::inspect_ring(memory->bytes());
  if (!size) return nullptr;

  std::unique_ptr<IncomingRing> ring{new IncomingRing};
  ring->slot_ = request.slot;
  ring->connection_ = std::move(connection);
  ring->memory_ = std::move(*memory);
  ring->reader_.emplace(ring->memory_.bytes(), *size);
  return ring;
}

std::optional<link::shm::Placement> IncomingRing::placement() const {
  return link::shm::Placement::under_way(*in_use_in(memory_.bytes()));
}

std::unique_ptr<OwnRing> OwnRing::make(const link::shm::RingSize& size) {
  auto memory = make_shared_memory(size.bytes(), Others::kRead);
  if (!memory || !link::shm::format_ring(memory->mapping.bytes(), size)) return nullptr;
  std::unique_ptr<OwnRing> ring{new OwnRing};
  ring->memory_ = std::move(*memory);
  ring->writer_.emplace(ring->memory_.mapping.bytes(), size);
  ring->reader_.emplace(ring->memory_.mapping.bytes(), size);
  return ring;
}

}  // namespace nerve::host
