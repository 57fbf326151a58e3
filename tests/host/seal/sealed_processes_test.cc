// Goal: two processes whose packets must be sealed exchange messages, and nobody else can.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>

#include "host/peers/inquiry.h"
#include "host/seal/key_file.h"
#include "host/seal/key_line.h"
#include "host/seal/libcrypto.h"
#include "link/udp/udp_sender.h"
#include "tests/host/endpoint.h"
#include "tests/host/process.h"
#include "tests/host/setting.h"

namespace nerve {
namespace {

using test::Card;
using test::Endpoint;
using test::Line;
using test::Process;
using test::Setting;

constexpr std::uint32_t kRoom = 1U << 18;
constexpr std::byte kTrue{0x11};
constexpr std::byte kForged{0x66};

// A file with a key, which ends with the object.
class Key {
 public:
  Key()
      : path_{(std::filesystem::temp_directory_path() /
               ("nerve-sealed-" + std::to_string(::getpid()) + "-" + std::to_string(++made)))
                  .string()} {
    EXPECT_EQ(host::make_preshared_key(**host::Libcrypto::load(), path_), std::nullopt);
  }
  ~Key() { std::filesystem::remove(path_); }
  Key(const Key&) = delete;
  Key& operator=(const Key&) = delete;
  [[nodiscard]] const char* path() const { return path_.c_str(); }

 private:
  static inline int made = 0;
  std::string path_;
};

struct Side {
  const char* seal;
  const char* key;
  const char* suites{"auto"};
};

// Answers each message with the same bytes, until it hears that there are no more.
void echo(Line line, const Side& side) {
  const Setting seal{"NERVE_SEAL", side.seal};
  const Setting key{"NERVE_SEAL_KEY", side.key};
  const Setting suites{"NERVE_SEAL_SUITES", side.suites};
  Endpoint endpoint{kRoom};
  line.say(endpoint.card());
  endpoint.connect(line.hear<Card>());
  line.say('r');
  for (auto size = line.hear<std::uint32_t>(); size != 0; size = line.hear<std::uint32_t>()) {
    EXPECT_TRUE(endpoint.post_receive(1, 0, kRoom));
    line.say('p');
    EXPECT_EQ(endpoint.next().value_or(nic::Completion{}).status, nic::WcStatus::kSuccess);
    EXPECT_TRUE(endpoint.post_send(nic::SendOp::kSend, 2, 0, size));
    EXPECT_EQ(endpoint.next().value_or(nic::Completion{}).status, nic::WcStatus::kSuccess);
  }
}

// Whether the QPs of this process are sealed, and how: "udp/aes128-gcm".
std::string path_of_our_qp() {
  for (const host::ProcessReport& report : host::ask_processes(std::chrono::seconds{5})) {
    if (report.pid == ::getpid() && !report.qps.empty()) return report.qps[0].path;
  }
  return "";
}

std::uint64_t dropped_plain() {
  for (const host::ProcessReport& report : host::ask_processes(std::chrono::seconds{5})) {
    if (report.pid == ::getpid()) return report["dropped_wrong_path"];
  }
  return 0;
}

// This process and its peer, each with its own settings.
class World {
 public:
  World(const Side& own, const Side& other)
      : transport_{"NERVE_TRANSPORT", "udp"},
        peer{[=](Line line) { echo(line, other); }},
        seal_{"NERVE_SEAL", own.seal},
        key_{"NERVE_SEAL_KEY", own.key},
        suites_{"NERVE_SEAL_SUITES", own.suites},
        endpoint{kRoom} {
    const Card card = peer.line().hear<Card>();
    peer.line().say(endpoint.card());
    endpoint.connect(card);
    (void)peer.line().hear<char>();
  }
  ~World() { end(); }

  // Sends a message and compares what comes back.
  bool passes(std::uint32_t size) {
    for (std::uint32_t i = 0; i < size; ++i) endpoint.memory[i] = static_cast<std::byte>(i * 7);
    const std::vector<std::byte> sent{endpoint.memory.begin(), endpoint.memory.begin() + size};
    peer.line().say(size);
    (void)peer.line().hear<char>();
    if (!endpoint.post_receive(3, 0, kRoom) ||
        !endpoint.post_send(nic::SendOp::kSend, 4, 0, size)) {
      return false;
    }
    for (int i = 0; i < 2; ++i) {
      const auto done = endpoint.next();
      if (!done || done->status != nic::WcStatus::kSuccess) return false;
    }
    return std::ranges::equal(sent, Bytes{endpoint.memory}.first(size));
  }
  void end() {
    if (!std::exchange(ended_, true)) peer.line().say(std::uint32_t{0});
  }

 private:
  Setting transport_;
  bool ended_{};

 public:
  Process peer;

 private:
  Setting seal_;
  Setting key_;
  Setting suites_;

 public:
  Endpoint endpoint;
};

// A process reads its settings once, so each test has one of its own.
void apart(const std::function<void()>& life) {
  Process process{[&](Line line) {
    life();
    line.say('e');
  }};
  (void)process.line().hear<char>();
}

TEST(SealedProcesses, ExchangeMessages) {
  apart([] {
    const Key key;
    World world{{"require", key.path()}, {"require", key.path()}};
    for (const std::uint32_t size : {8U, 1U, 5000U, kRoom}) EXPECT_TRUE(world.passes(size)) << size;
    const std::string path = path_of_our_qp();
    EXPECT_TRUE(path == "udp/aes128-gcm" || path == "udp/chacha20-poly1305") << path;
  });
}

// Both processes write the keys of both directions, each of which is one secret.
TEST(SealedProcesses, WriteTheirKeysIfAsked) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("nerve-sealed-log-" + std::to_string(::getpid()));
  std::filesystem::remove(path);
  apart([&] {
    const Setting log{"NERVE_SEAL_KEY_LOG", path.c_str()};
    const Key key;
    World world{{"require", key.path()}, {"require", key.path()}};
    EXPECT_TRUE(world.passes(5000));
  });
  std::map<std::string, int> found;
  std::ifstream in{path};
  for (std::string line; std::getline(in, line); ++found[line]) {
    EXPECT_TRUE(host::KeyLine::parse(line)) << "not a key line";
  }
  std::filesystem::remove(path);
  EXPECT_EQ(found.size(), 2U);
  for (const auto& [line, count] : found) EXPECT_EQ(count, 2);
}

TEST(SealedProcesses, UseTheSuiteThatBothHave) {
  const Key key;
  for (const char* suite : {"aes256-gcm", "chacha20-poly1305", "aes256-gmac"}) {
    const Side side{.seal = "require", .key = key.path(), .suites = suite};
    apart([&] {
      World world{side,
                  {"prefer", key.path(), "aes128-gcm,aes256-gmac,chacha20-poly1305,aes256-gcm"}};
      EXPECT_TRUE(world.passes(5000));
      EXPECT_EQ(path_of_our_qp(), std::string{"udp/"} + suite);
    });
  }
}

TEST(SealedProcesses, GoOnPlainWithAPeerThatNeedNotSeal) {
  apart([] {
    const Key key;
    World world{{"prefer", key.path()}, {"off", ""}};
    EXPECT_TRUE(world.passes(5000));
    EXPECT_EQ(path_of_our_qp(), "udp/plain");
  });
}

// What a stranger says, who knows the QPN and the PSN.
void send_forged(const Card& from, const Card& to, std::uint32_t interface) {
  auto sender = link::UdpSender::open({});
  ASSERT_TRUE(sender);
  (*sender)->set_interface(from.gid, interface);
  const std::vector<std::byte> payload(64, kForged);
  const wire::Piece piece{.address = reinterpret_cast<std::uint64_t>(payload.data()), .length = 64};
  wire::Frame frame{.flow = {.source = from.gid, .destination = to.gid}};
  frame.headers.bth = {.opcode = wire::opcode(wire::Transport::kRc, wire::Operation::kSendOnly),
                       .dest_qp = Qpn{to.qpn},
                       .ack_request = true};
  frame.payload = {&piece, 1};
  frame.payload_length = 64;
  (*sender)->send({&frame, 1}, Time{});
}

TEST(SealedProcesses, TakeNothingPlain) {
  apart([] {
    const Key key;
    World world{{"require", key.path()}, {"require", key.path()}};
    ASSERT_TRUE(world.endpoint.post_receive(9, 0, kRoom));
    world.endpoint.memory[0] = kTrue;
    send_forged(world.endpoint.peer, world.endpoint.card(),
                world.endpoint.adapter->interface_index());
    EXPECT_FALSE(world.endpoint.next(std::chrono::milliseconds{300}))
        << "a forged message was taken";
    EXPECT_EQ(world.endpoint.memory[0], kTrue);
    EXPECT_EQ(dropped_plain(), 1U);
  });
}

TEST(SealedProcesses, OfferNothingToAPeerWithAnotherKey) {
  apart([] {
    const Key key;
    const Key other;
    World world{{"require", key.path()}, {"require", other.path()}};
    ASSERT_TRUE(world.endpoint.post_send(nic::SendOp::kSend, 4, 0, 100));
    const auto done = world.endpoint.next(std::chrono::seconds{30});
    ASSERT_TRUE(done);
    EXPECT_EQ(done->status, nic::WcStatus::kRetryExceeded);
  });
}

}  // namespace
}  // namespace nerve
