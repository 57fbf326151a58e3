// Goal: bytes land in another process only where its table allows, and no placement outlives the
// removal of its entry. Method: forked targets, tables that change while they are read, and an
// exact model of the table.
#include "link/shm/placement.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <memory>
#include <thread>

#include "base/prng.h"
#include "link/shm/in_use.h"
#include "link/shm/rights_table.h"
#include "tests/seeds.h"

namespace nerve::link::shm {
namespace {

template <class T>
class SharedObject {
 public:
  SharedObject()
      : at_{static_cast<T*>(::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_ANONYMOUS, -1, 0))} {
    CHECK(at_ != MAP_FAILED);
  }
  ~SharedObject() { ::munmap(at_, sizeof(T)); }
  SharedObject(const SharedObject&) = delete;
  SharedObject& operator=(const SharedObject&) = delete;
  T* operator->() { return at_; }
  T& operator*() { return *at_; }

 private:
  T* at_;
};

struct alignas(64) TableMemory {
  std::array<std::byte, kRightsTableSize> bytes;
};

// A process that runs until it is destroyed.
class Process {
 public:
  template <class Body>
  explicit Process(Body body) : pid_{::fork()} {
    if (pid_ == 0) {
      for (;;) body();
    }
  }
  ~Process() { end(); }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

template <class T>
std::uint64_t address_of(const T& object) {
  return reinterpret_cast<std::uint64_t>(&object);
}

TEST(Placement, MovesBytesBothWays) {
  std::array<std::byte, 64> buffer{};  // the child has its own copy at the same address
  const Process target{::pause};
  if (!can_place(target.pid())) GTEST_SKIP() << "this machine does not let processes touch others";
  std::array<std::byte, 64> sent;
  sent.fill(std::byte{0x5a});
  ASSERT_EQ(place(target.pid(), address_of(buffer), sent), Placed::kDone);
  EXPECT_EQ(buffer[0], std::byte{0});  // ours is unchanged
  std::array<std::byte, 64> got{};
  ASSERT_EQ(fetch(target.pid(), address_of(buffer), got), Placed::kDone);
  EXPECT_EQ(got, sent);
  EXPECT_EQ(place(target.pid(), address_of(buffer), {}), Placed::kDone);
}

TEST(Placement, ReportsWhyItFailed) {
  Process target{::pause};
  const pid_t pid = target.pid();
  if (!can_place(pid)) GTEST_SKIP() << "this machine does not let processes touch others";
  std::array<std::byte, 64> bytes{};
  EXPECT_EQ(place(pid, 0, bytes), Placed::kFault);
  EXPECT_EQ(place(pid, ~std::uint64_t{0} - 8, bytes), Placed::kFault);
  const long page = ::sysconf(_SC_PAGESIZE);
  EXPECT_EQ(fetch(pid, static_cast<std::uint64_t>(page) - 8, bytes), Placed::kFault);
  target.end();
  EXPECT_EQ(place(pid, address_of(bytes), bytes), Placed::kNoProcess);
  EXPECT_FALSE(can_place(pid));
}

TEST(Placement, APartialCopyIsAFault) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* const two =
      ::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(two, MAP_FAILED);
  ASSERT_EQ(::munmap(static_cast<std::byte*>(two) + page, page), 0);
  const std::array<std::byte, 64> bytes{};
  const std::uint64_t at = reinterpret_cast<std::uint64_t>(two) + page - 32;
  EXPECT_EQ(place(::getpid(), at, bytes), Placed::kFault);
  ::munmap(two, page);
}

TEST(RightsTable, AgreesWithAModel) {
  test::for_each_seed(20, [](std::uint64_t seed) {
    const auto memory = std::make_unique<TableMemory>();
    RightsPublisher table{memory->bytes};
    const auto view = RightsView::open(memory->bytes);
    ASSERT_TRUE(view);
    Prng prng{seed};
    std::map<std::uint32_t, KeyRights> model;
    const std::uint64_t names = prng.chance(500) ? 50 : 8000;  // few, or more than fit
    for (int step = 0; step < 20'000; ++step) {
      const RKey key{static_cast<std::uint32_t>(prng.below(names))};
      if (prng.chance(600)) {
        const KeyRights rights{.iova = prng.next(),
                               .length = prng.next(),
                               .address = prng.next(),
                               .rights = Rights::kWrite,
                               .pd = static_cast<std::uint32_t>(prng.next())};
        if (table.publish(key, rights)) {
          model[key.value()] = rights;
        } else {
          ASSERT_FALSE(model.contains(key.value()));
        }
      } else {
        table.withdraw(key);
        model.erase(key.value());
      }
      const RKey other{static_cast<std::uint32_t>(prng.below(names))};
      const auto found = view->find(other);
      ASSERT_EQ(found.has_value(), model.contains(other.value()));
      if (found) {
        ASSERT_EQ(*found, model[other.value()]);
      }
    }
    if (names == 50) {
      EXPECT_LE(model.size(), 50U);
    }
  });
}

TEST(RightsTable, ResolvesNothingThatIsNotCertain) {
  const auto memory = std::make_unique<TableMemory>();
  RightsPublisher table{memory->bytes};
  const auto view = *RightsView::open(memory->bytes);
  const KeyRights key{
      .iova = 0x1000, .length = 0x100, .address = 0x7000, .rights = Rights::kWrite, .pd = 3};
  const QpRights qp{.peer = Qpn{9}, .rights = Rights::kWrite | Rights::kRead, .pd = 3};
  table.publish(RKey{5}, key);
  table.publish(Qpn{17}, qp);
  const PlaceRequest good{.target = Qpn{17},
                          .requester = Qpn{9},
                          .key = RKey{5},
                          .iova = 0x1010,
                          .length = 8,
                          .need = Rights::kWrite};
  EXPECT_EQ(view.resolve(good), (RightsView::Place{.address = 0x7010, .copier = 0}));
  const auto refused = [&](auto change) {
    PlaceRequest request = good;
    change(request);
    return !view.resolve(request).has_value();
  };
  EXPECT_TRUE(refused([](PlaceRequest& r) { r.target = Qpn{18}; }));
  EXPECT_TRUE(refused([](PlaceRequest& r) { r.requester = Qpn{8}; }));
  EXPECT_TRUE(refused([](PlaceRequest& r) { r.key = RKey{6}; }));
  EXPECT_TRUE(refused([](PlaceRequest& r) { r.need = Rights::kRead; }));
  EXPECT_TRUE(refused([](PlaceRequest& r) { r.iova = 0xfff; }));
  EXPECT_TRUE(refused([](PlaceRequest& r) { r.iova = 0x10f9; }));
  EXPECT_TRUE(refused([](PlaceRequest& r) {
    r.iova = 0x1101;
    r.length = 0;
  }));
  EXPECT_TRUE(refused([](PlaceRequest& r) { r.length = 0xf1; }));
  EXPECT_TRUE(refused([](PlaceRequest& r) { r.length = ~std::uint64_t{0}; }));
  EXPECT_FALSE(refused([](PlaceRequest& r) { r.length = 0xf0; }));
  EXPECT_FALSE(refused([](PlaceRequest& r) {
    r.iova = 0x1100;
    r.length = 0;
  }));
  table.publish(Qpn{17}, {.peer = Qpn{9}, .rights = Rights::kRead, .pd = 3});
  EXPECT_FALSE(view.resolve(good));
  table.publish(Qpn{17}, {.peer = Qpn{9}, .rights = Rights::kWrite, .pd = 4});
  EXPECT_FALSE(view.resolve(good));
  table.publish(Qpn{17}, qp);
  EXPECT_TRUE(view.resolve(good));
  table.withdraw(RKey{5});
  EXPECT_FALSE(view.resolve(good));
}

TEST(RightsTable, RefusesMemoryThatIsNotATable) {
  const auto memory = std::make_unique<TableMemory>();
  EXPECT_FALSE(RightsView::open(memory->bytes));
  const RightsPublisher table{memory->bytes};
  EXPECT_TRUE(RightsView::open(memory->bytes));
  EXPECT_FALSE(RightsView::open(Bytes{memory->bytes}.first(kRightsTableSize - 1)));
  EXPECT_FALSE(RightsView::open(Bytes{memory->bytes}.subspan(8)));
}

TEST(RightsTable, RandomContentsAreHarmless) {
  test::for_each_seed(20, [](std::uint64_t seed) {
    const auto memory = std::make_unique<TableMemory>();
    const RightsPublisher table{memory->bytes};
    Prng prng{seed};
    for (std::size_t at = 64; at < kRightsTableSize; ++at) {
      memory->bytes[at] = static_cast<std::byte>(prng.next());
    }
    const auto view = *RightsView::open(memory->bytes);
    for (std::uint32_t n = 0; n < 1000; ++n) {
      (void)view.find(RKey{n});
      (void)view.find(Qpn{n});
    }
  });
}

// Words of two writes are never mixed: all words of an entry contain the same number.
TEST(RightsTable, ReadersSeeConsistentEntries) {
  const auto memory = std::make_unique<TableMemory>();
  RightsPublisher table{memory->bytes};
  const auto view = *RightsView::open(memory->bytes);
  std::atomic<bool> done{};
  std::thread owner{[&] {
    for (std::uint32_t n = 1; n < 20'000; ++n) {
      table.publish(RKey{7}, {.iova = n, .length = n, .address = n, .rights{}, .pd = n});
      if (n % 64 == 0) table.withdraw(RKey{7});
    }
    done.store(true);
  }};
  unsigned mixed = 0;
  while (!done.load()) {
    const auto found = view.find(RKey{7});
    if (!found) continue;
    mixed += static_cast<unsigned>(found->iova != found->length || found->iova != found->address ||
                                   found->iova != found->pd);
  }
  owner.join();
  EXPECT_EQ(mixed, 0U);
}

TEST(InUse, WithoutAPlacementThereIsNoWait) {
  std::atomic<std::uint64_t> in_use{};
  { const Placing placing{in_use}; }
  EXPECT_FALSE(Placement::under_way(in_use));
}

TEST(InUse, ADeadRequesterIsNotWaitedFor) {
  SharedObject<std::atomic<std::uint64_t>> in_use;
  const pid_t pid = ::fork();
  if (pid == 0) {
    const Placing placing{*in_use};
    ::_exit(0);  // in the middle of a placement
  }
  ASSERT_EQ(::waitpid(pid, nullptr, 0), pid);
  ASSERT_EQ(in_use->load() % 2, 1U);
  const auto placement = Placement::under_way(*in_use);
  ASSERT_TRUE(placement);
  int asked = 0;
  placement->wait([&] { return ++asked < 3; });
  EXPECT_FALSE(placement->is_over());
  EXPECT_EQ(asked, 3);
}

// A requester has found an entry, but not placed yet, when the entry is removed. It continues only
// when the target is waiting, so a target that did not wait would find nothing placed.
TEST(InUse, NoPlacementOutlivesTheWait) {
  if (!can_place(::getpid())) GTEST_SKIP() << "this machine does not allow placement";
  struct World {
    TableMemory table;
    std::atomic<std::uint64_t> in_use;
    std::atomic<bool> looked_up, may_place;
    std::uint64_t word;
  };
  SharedObject<World> world;
  RightsPublisher table{world->table.bytes};
  table.publish(Qpn{2}, {.peer = Qpn{3}, .rights = Rights::kWrite, .pd = 1});
  table.publish(RKey{5}, {.iova = 0,
                          .length = 8,
                          .address = address_of(world->word),
                          .rights = Rights::kWrite,
                          .pd = 1});
  const auto view = *RightsView::open(world->table.bytes);
  const PlaceRequest request{.target = Qpn{2},
                             .requester = Qpn{3},
                             .key = RKey{5},
                             .iova = 0,
                             .length = 8,
                             .need = Rights::kWrite};
  const Process requester{[&, self = ::getpid()] {
    const Placing placing{world->in_use};
    const auto at = view.resolve(request);
    if (!at) return;
    world->looked_up.store(true);
    while (!world->may_place.load()) std::this_thread::yield();
    const std::uint64_t ones = ~std::uint64_t{0};
    (void)place(self, at->address, std::as_bytes(std::span{&ones, 1}));
  }};
  while (!world->looked_up.load()) std::this_thread::yield();
  table.withdraw(RKey{5});
  const auto placement = Placement::under_way(world->in_use);
  ASSERT_TRUE(placement);
  placement->wait([&] {
    world->may_place.store(true);
    return true;
  });
  EXPECT_EQ(world->word, ~std::uint64_t{0});
  EXPECT_FALSE(view.resolve(request));
}

}  // namespace
}  // namespace nerve::link::shm
