// Goal: the engine allows exactly what the rules allow. Method: random histories of domains,
// regions and windows, followed by random accesses; a small model that shares no code with the
// engine predicts each result.
#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "base/prng.h"
#include "tests/nic/dma_engine/access_rules.h"
#include "tests/nic/dma_engine/dma_fixture.h"
#include "tests/nic/dma_engine/ports.h"
#include "tests/seeds.h"

namespace nerve::nic {
namespace {

using enum Access;
using namespace rules;

class History {
 public:
  explicit History(std::uint64_t seed) : prng_{seed}, dma_{Limits{}, SipKey{seed, seed}} {
    for (int i = 0; i < 3; ++i) pds_.push_back(*dma_.alloc_pd());
  }

  void step() {
    switch (prng_.below(9)) {
      case 0:
      case 1:
        return add_region();
      case 2:
        return remove_region();
      case 3:
        return change_region();
      case 4:
        return add_window();
      case 5:
      case 6:
        return bind_window();
      case 7:
        return invalidate();
      default:
        if (prng_.chance(300)) remove_window();
    }
  }

  void probe() {
    const std::uint32_t key = some_key();
    const RemoteAccessor by = someone();
    const auto known = meanings_.find(key);
    const std::uint64_t address = some_address(known == meanings_.end() ? nullptr : &known->second);
    const std::uint64_t length = some_length();
    const Meaning* meaning = known == meanings_.end() ? nullptr : &known->second;

    const Access need = pick({kRemoteRead, kRemoteWrite, kRemoteAtomic, kFlushGlobal});
    check(dma_.resolve_remote(RKey{key}, by, address, length, need), meaning,
          length == 0 && need != kFlushGlobal, by, address, length, need);

    const Access local = prng_.chance(500) ? kLocalWrite : kNone;
    const auto short_length = static_cast<std::uint32_t>(length);
    check(dma_.resolve_local(LKey{key}, by.pd, address, short_length, local),
          meaning != nullptr && meaning->is_window ? nullptr : meaning, short_length == 0, by,
          address, short_length, local);

    const bool may = meaning != nullptr && meaning->only_qp == by.qpn && meaning->pd == by.pd;
    EXPECT_EQ(dma_.can_invalidate(RKey{key}, by), may);
  }

 private:
  void check(const Result<wire::Piece, AccessFault>& got, const Meaning* meaning, bool nothing,
             RemoteAccessor by, std::uint64_t address, std::uint64_t length, Access need) {
    const std::optional<AccessFault> fault =
        nothing ? std::nullopt : verdict(meaning, by, address, length, need);
    ASSERT_EQ(got ? std::nullopt : std::optional{got.error()}, fault);
    ++(fault ? refused : allowed);
    if (fault || length == 0) return;
    EXPECT_EQ(got->address,
              meaning->memory + (address - static_cast<std::uint64_t>(meaning->first)));
    EXPECT_EQ(got->length, length);
    EXPECT_EQ(got->port, meaning->port);
  }

  void know(Region& region) {
    region.key = dma_.keys_of(region.handle)->rkey.value();
    issued_.push_back(region.key);
    const Wide first = contains(region.init.access, kZeroBased) ? 0 : region.init.iova;
    const bool fresh =
        meanings_
            .emplace(region.key,
                     Meaning{.is_window = false,
                             .pd = region.init.pd,
                             .first = first,
                             .end = first + region.init.length,
                             .memory = region.init.address,
                             .rights = granted(region.init.access, first, region.init.address),
                             .port = region.init.port})
            .second;
    EXPECT_TRUE(fresh) << "two owners of one key";
  }

  MrInit some_init() {
    MrInit init{.pd = pick_from(pds_),
                .address = prng_.chance(100) ? prng_.next() : 0x10'0000 + prng_.below(64),
                .length = prng_.chance(50) ? prng_.next() : prng_.below(200),
                .iova = prng_.chance(200) ? prng_.next() : prng_.below(256),
                .access = static_cast<Access>(prng_.below(64)),
                .port = prng_.chance(300) ? &port_ : nullptr};
    if (prng_.chance(600)) init.access |= kLocalWrite | kMwBind;
    if (prng_.chance(200)) init.access |= kFlushGlobal;
    if (prng_.chance(50)) init.iova = ~std::uint64_t{0} - prng_.below(200);
    return init;
  }
  void add_region() {
    const MrInit init = some_init();
    const auto mr = dma_.register_region(init);
    ASSERT_EQ(mr.has_value(), registrable(init));
    if (!mr) return;
    regions_.push_back({.handle = *mr, .init = init});
    know(regions_.back());
  }
  void remove_region() {
    if (regions_.empty()) return;
    const std::size_t i = prng_.below(regions_.size());
    ASSERT_EQ(dma_.deregister(regions_[i].handle).has_value(), regions_[i].windows == 0);
    if (regions_[i].windows > 0) return;
    meanings_.erase(regions_[i].key);
    regions_.erase(regions_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  void change_region() {
    if (regions_.empty()) return;
    Region& region = pick_from(regions_);
    const auto change = static_cast<MrChange>(prng_.below(9));
    const MrInit init = some_init();
    MrInit wanted = region.init;
    if (intersects(change, MrChange::kPd)) wanted.pd = init.pd;
    if (intersects(change, MrChange::kAccess)) wanted.access = init.access;
    if (intersects(change, MrChange::kTranslation)) {
      wanted.address = init.address, wanted.length = init.length;
      wanted.iova = init.iova, wanted.port = init.port;
    }
    const bool sane = change != MrChange::kNone && static_cast<unsigned>(change) < 8;
    const bool works = sane && region.windows == 0 && registrable(wanted);
    ASSERT_EQ(dma_.reregister(region.handle, change, init).has_value(), works);
    if (!works) return;
    meanings_.erase(region.key);
    region.init = wanted;
    know(region);
  }

  void add_window() {
    const MwType type = prng_.chance(500) ? MwType::kType1 : MwType::kType2;
    const PdHandle pd = pick_from(pds_);
    const MwHandle mw = *dma_.alloc_window(pd, type);
    windows_.push_back({.handle = mw, .pd = pd, .type = type, .key = dma_.rkey_of(mw)->value()});
    issued_.push_back(windows_.back().key);
  }
  void let_go(Window& window) {
    if (!window.bound_to) return;
    for (Region& region : regions_) region.windows -= region.handle == *window.bound_to ? 1 : 0;
    window.bound_to.reset();
    EXPECT_EQ(meanings_.erase(window.key), 1U);
  }
  void remove_window() {
    if (windows_.empty()) return;
    const std::size_t i = prng_.below(windows_.size());
    let_go(windows_[i]);
    ASSERT_TRUE(dma_.dealloc_window(windows_[i].handle));
    windows_.erase(windows_.begin() + static_cast<std::ptrdiff_t>(i));
  }

  void bind_window() {
    if (windows_.empty() || regions_.empty()) return;
    Window& window = pick_from(windows_);
    Region& region = pick_from(regions_);
    RemoteAccessor by = someone();
    if (prng_.chance(800)) by.pd = window.pd;
    const std::uint64_t start = contains(region.init.access, kZeroBased) ? 0 : region.init.iova;
    MwBind bind{.window = window.handle,
                .region = region.handle,
                .address = start + prng_.below(40) - (prng_.chance(100) ? 20 : 0),
                .length = prng_.below(120),
                .access = static_cast<Access>(prng_.below(16) << 1 & 0xeU),
                .new_rkey = RKey{(window.key & ~0xffU) | static_cast<std::uint8_t>(prng_.next())}};
    if (prng_.chance(200)) bind.access |= kZeroBased;
    if (prng_.chance(100)) bind.access |= pick({kLocalWrite, kMwBind, kFlushGlobal});
    if (prng_.chance(100)) bind.new_rkey = RKey{window.key};
    if (prng_.chance(100)) bind.new_rkey = RKey{static_cast<std::uint32_t>(prng_.next())};
    if (window.type == MwType::kType1 && prng_.chance(500)) bind.new_rkey = {};

    const bool works = bindable(window, region, bind, by);
    const auto key = dma_.bind(bind, by);
    ASSERT_EQ(key.has_value(), works);
    ASSERT_EQ(dma_.rkey_of(window.handle)->value(), works ? key->value() : window.key);
    if (!works) return;
    EXPECT_EQ(key->value() >> 8, window.key >> 8) << "the window's own bits";
    if (bind.new_rkey != RKey{} || window.type == MwType::kType2) {
      EXPECT_EQ(key->value() & 0xffU, bind.new_rkey.value() & 0xffU);
    }
    let_go(window);
    window.key = key->value();
    window.key_was_bound = bind.length > 0;
    issued_.push_back(window.key);
    if (bind.length == 0) return;
    ++region.windows;
    window.bound_to = region.handle;
    const Wide first = contains(bind.access, kZeroBased) ? 0 : bind.address;
    const std::uint64_t memory = region.init.address + (bind.address - start);
    Meaning meaning{.is_window = true,
                    .pd = window.pd,
                    .first = first,
                    .end = first + bind.length,
                    .memory = memory,
                    .rights = granted(bind.access, first, memory),
                    .port = region.init.port};
    if (window.type == MwType::kType2) meaning.only_qp = by.qpn;
    EXPECT_TRUE(meanings_.emplace(window.key, meaning).second);
  }
  void invalidate() {
    if (windows_.empty()) return;
    Window& window = pick_from(windows_);
    RemoteAccessor by = someone();
    if (const auto known = meanings_.find(window.key);
        known != meanings_.end() && prng_.chance(700)) {
      by = {.pd = known->second.pd, .qpn = known->second.only_qp.value_or(by.qpn)};
    }
    const auto known = meanings_.find(window.key);
    const bool works =
        known != meanings_.end() && known->second.only_qp == by.qpn && known->second.pd == by.pd;
    ASSERT_EQ(dma_.invalidate(RKey{window.key}, by), works);
    if (works) let_go(window);
  }

  RemoteAccessor someone() {
    return {.pd = pick_from(pds_), .qpn = Qpn{static_cast<std::uint32_t>(0x11 + prng_.below(3))}};
  }
  std::uint32_t some_key() {
    if (!meanings_.empty() && prng_.chance(600)) {
      return std::next(meanings_.begin(),
                       static_cast<std::ptrdiff_t>(prng_.below(meanings_.size())))
          ->first;
    }
    if (issued_.empty() || prng_.chance(100)) return static_cast<std::uint32_t>(prng_.next());
    const std::uint32_t key = pick_from(issued_);
    return prng_.chance(500) ? key : key ^ (1U << prng_.below(32));
  }
  std::uint64_t some_address(const Meaning* meaning) {
    if (meaning == nullptr || prng_.chance(50)) return prng_.next();
    const auto edge = static_cast<std::uint64_t>(prng_.chance(600) ? meaning->first : meaning->end);
    return edge + prng_.below(41) - (prng_.chance(500) ? 20 : 0);
  }
  std::uint64_t some_length() {
    if (prng_.chance(50)) return prng_.next();
    if (prng_.chance(30)) return ~std::uint64_t{0} - prng_.below(300);
    return prng_.below(60);
  }
  template <class Item>
  Item& pick_from(std::vector<Item>& items) {
    return items[prng_.below(items.size())];
  }
  Access pick(std::initializer_list<Access> some) { return some.begin()[prng_.below(some.size())]; }

 public:
  std::uint64_t allowed{};
  std::uint64_t refused{};

 private:
  Prng prng_;
  DmaEngine dma_;
  test::VoidPort port_;
  std::vector<PdHandle> pds_;
  std::vector<Region> regions_;
  std::vector<Window> windows_;
  std::map<std::uint32_t, Meaning> meanings_;
  std::vector<std::uint32_t> issued_;
};

}  // namespace

TEST(AccessModel, EngineAndRulesAgree) {
  std::uint64_t allowed = 0;
  std::uint64_t refused = 0;
  std::uint64_t seeds = 0;
  test::for_each_seed(2000, [&](std::uint64_t seed) {
    History history{seed};
    for (int i = 0; i < 60 && !::testing::Test::HasFailure(); ++i) {
      history.step();
      for (int j = 0; j < 10; ++j) history.probe();
    }
    allowed += history.allowed;
    refused += history.refused;
    ++seeds;
  });
  // The test proves little unless some accesses are allowed.
  if (seeds > 100) {
    EXPECT_GT(allowed * 20, refused);
  }
}

}  // namespace nerve::nic
