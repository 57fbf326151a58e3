#include "link/shm/rights_table.h"

#include <cstring>

#include "link/shm/rights_entry.h"

namespace nerve::link::shm {
namespace {

constexpr std::size_t kKeysAt = 64;
constexpr std::size_t kQpsAt = kKeysAt + kRightsEntries * kRightsEntrySize;

RightsEntry* entries(std::byte* memory, std::size_t at) {
  return reinterpret_cast<RightsEntry*>(memory + at);
}
const RightsEntry* entries(const std::byte* memory, std::size_t at) {
  return reinterpret_cast<const RightsEntry*>(memory + at);
}

// seq_cst instead of release because in_use.h needs it; writes are rare.
void write(RightsEntry& entry, std::uint64_t name, const RightsContents& contents) {
  const std::uint64_t version = entry.version.load(std::memory_order_relaxed);
  entry.version.store(version + 1, std::memory_order_seq_cst);
  entry.name.store(name, std::memory_order_seq_cst);
  for (std::size_t i = 0; i < RightsContents::kWords; ++i) {
    entry.contents[i].store(contents.words[i], std::memory_order_seq_cst);
  }
  entry.version.store(version + 2, std::memory_order_seq_cst);
}

// Of the places where `name` may be, the first that holds `held`: the name itself, or zero for an
// empty one.
RightsEntry* own_entry(RightsEntry* table, std::uint64_t name, std::uint64_t held) {
  for (std::size_t step = 0; step < kRightsProbe; ++step) {
    RightsEntry& entry = table[rights_place(name, step)];
    if (entry.name.load(std::memory_order_relaxed) == held) return &entry;
  }
  return nullptr;
}

bool publish_in(RightsEntry* table, std::uint64_t name, const RightsContents& contents) {
  RightsEntry* entry = own_entry(table, name, name);
  if (entry == nullptr) entry = own_entry(table, name, 0);
  if (entry == nullptr) return false;
  write(*entry, name, contents);
  return true;
}

void withdraw_from(RightsEntry* table, std::uint64_t name) {
  if (RightsEntry* entry = own_entry(table, name, name)) write(*entry, 0, {});
}

// The words of the entry if they are consistent; nothing if the entry has another name, is empty or
// is being written. Acquire loads stay in order, so the second read of the version comes last.
std::optional<RightsContents> read(const RightsEntry& entry, std::uint64_t name,
                                   std::uint64_t version) {
  if (version % 2 != 0 || entry.name.load(std::memory_order_acquire) != name) return std::nullopt;
  RightsContents contents;
  for (std::size_t i = 0; i < RightsContents::kWords; ++i) {
    contents.words[i] = entry.contents[i].load(std::memory_order_acquire);
  }
  if (entry.version.load(std::memory_order_acquire) != version) return std::nullopt;
  return contents;
}

std::optional<RightsContents> find_in(const RightsEntry* table, std::uint64_t name) {
  for (std::size_t step = 0; step < kRightsProbe; ++step) {
    const RightsEntry& entry = table[rights_place(name, step)];
    // This is the requester's seq_cst look-up in in_use.h.
    const std::uint64_t version = entry.version.load(std::memory_order_seq_cst);
    if (version == 0) return std::nullopt;
    if (const auto contents = read(entry, name, version)) return contents;
  }
  return std::nullopt;
}

constexpr std::uint64_t join(Rights rights, std::uint32_t pd) {
  return static_cast<std::uint32_t>(rights) | std::uint64_t{pd} << 32U;
}
constexpr Rights rights_of(std::uint64_t word) {
  return static_cast<Rights>(static_cast<std::uint32_t>(word));
}
constexpr std::uint32_t pd_of(std::uint64_t word) {
  return static_cast<std::uint32_t>(word >> 32U);
}

}  // namespace

RightsPublisher::RightsPublisher(MutableBytes memory) : memory_{memory.data()} {
  CHECK(memory.size() >= kRightsTableSize);
  CHECK(reinterpret_cast<std::uintptr_t>(memory_) % kRightsEntrySize == 0);
  std::memcpy(memory_, &kRightsMagic, sizeof kRightsMagic);
}

bool RightsPublisher::publish(RKey key, const KeyRights& rights) {
  return publish_in(entries(memory_, kKeysAt), rights_name(key.value()),
                    {{rights.iova, rights.length, rights.address, join(rights.rights, rights.pd),
                      rights.copier}});
}

bool RightsPublisher::publish(Qpn qpn, const QpRights& rights) {
  return publish_in(entries(memory_, kQpsAt), rights_name(qpn.value()),
                    {{rights.peer.value(), join(rights.rights, rights.pd), 0, 0, 0}});
}

void RightsPublisher::withdraw(RKey key) {
  withdraw_from(entries(memory_, kKeysAt), rights_name(key.value()));
}
void RightsPublisher::withdraw(Qpn qpn) {
  withdraw_from(entries(memory_, kQpsAt), rights_name(qpn.value()));
}

std::optional<KeyRights> RightsPublisher::find(RKey key) const {
  return RightsView{memory_}.find(key);
}
std::optional<QpRights> RightsPublisher::find(Qpn qpn) const {
  return RightsView{memory_}.find(qpn);
}

std::optional<RightsView> RightsView::open(Bytes memory) {
  std::uint64_t magic = 0;
  if (memory.size() < kRightsTableSize ||
      reinterpret_cast<std::uintptr_t>(memory.data()) % kRightsEntrySize != 0) {
    return std::nullopt;
  }
  std::memcpy(&magic, memory.data(), sizeof magic);
  if (magic != kRightsMagic) return std::nullopt;
  return RightsView{memory.data()};
}

std::optional<KeyRights> RightsView::find(RKey key) const {
  const auto found = find_in(entries(memory_, kKeysAt), rights_name(key.value()));
  if (!found) return std::nullopt;
  const auto& words = found->words;
  return KeyRights{.iova = words[0],
                   .length = words[1],
                   .address = words[2],
                   .rights = rights_of(words[3]),
                   .pd = pd_of(words[3]),
                   .copier = words[4]};
}

std::optional<QpRights> RightsView::find(Qpn qpn) const {
  const auto found = find_in(entries(memory_, kQpsAt), rights_name(qpn.value()));
  if (!found) return std::nullopt;
  const auto& words = found->words;
  return QpRights{.peer = Qpn{static_cast<std::uint32_t>(words[0]) & Qpn::kMask},
                  .rights = rights_of(words[1]),
                  .pd = pd_of(words[1])};
}

std::optional<RightsView::Place> RightsView::resolve(const PlaceRequest& request) const {
  const auto qp = find(request.target);
  if (!qp || qp->peer != request.requester || !contains(qp->rights, request.need)) {
    return std::nullopt;
  }
  const auto key = find(request.key);
  if (!key || key->pd != qp->pd || !contains(key->rights, request.need)) return std::nullopt;
  const std::uint64_t offset = request.iova - key->iova;
  if (request.iova < key->iova || offset > key->length || request.length > key->length - offset) {
    return std::nullopt;
  }
  return Place{.address = key->address + offset, .copier = key->copier};
}

}  // namespace nerve::link::shm
