// A server and its clients in one thread.
#include "cli/controller_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <nlohmann/json.hpp>

namespace nerve::cli {
namespace {

constexpr std::string_view kReport =
    R"({"host":"node-1","flows":[{"qpn":7,"peer":8,"source":"10.0.0.1","destination":"10.0.1.1",)"
    R"("port":50000,"traffic_class":106,"bytes":10,"retransmitted":0}],"paths":[]})";

ListenAddress loopback(std::uint16_t port) {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(port);
  v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ListenAddress address{.address = {}, .size = sizeof v4, .loopback = true, .text = "127.0.0.1"};
  std::memcpy(&address.address, &v4, sizeof v4);
  return address;
}

class World {
 public:
  World() {
    controller::PlannerSettings settings;
    settings.rate_limits[106] = 1'000'000'000;
    auto opened =
        ControllerServer::open(loopback(0), key_, settings,
                               [this](const std::string& line, const nlohmann::json& /*object*/) {
                                 lines_.push_back(line);
                               });
    CHECK(opened.has_value());
    server_.emplace(*std::move(opened));
  }

  [[nodiscard]] host::Descriptor connect() {
    host::Descriptor client{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    const ListenAddress to = loopback(server_->port());
    CHECK(::connect(client.get(), reinterpret_cast<const sockaddr*>(&to.address), to.size) == 0);
    serve();
    return client;
  }
  void serve() {
    for (int i = 0; i < 5; ++i) {
      std::vector<pollfd> waiting;
      (void)server_->add_to(waiting);
      (void)::poll(waiting.data(), waiting.size(), 5);
      server_->serve();
    }
  }
  // What the server has sent; nothing after the end of the stream.
  [[nodiscard]] std::optional<std::string> received(const host::Descriptor& client) {
    serve();
    std::string some(1 << 16, '\0');
    const ssize_t came = ::recv(client.get(), some.data(), some.size(), MSG_DONTWAIT);
    if (came == 0 || (came < 0 && errno == ECONNRESET)) return std::nullopt;
    some.resize(came < 0 ? 0 : static_cast<std::size_t>(came));
    return some;
  }
  void send(const host::Descriptor& client, std::string_view bytes) {
    (void)::send(client.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    serve();
  }
  [[nodiscard]] bool says(std::string_view words) const {
    return std::ranges::any_of(
        lines_, [&](const std::string& line) { return line.find(words) != std::string::npos; });
  }
  // A session that both ends have greeted.
  [[nodiscard]] ControllerSession greet(const host::Descriptor& client) {
    auto session = ControllerSession::begin(ControllerSession::Role::kAgent, key_.bytes());
    CHECK(session.has_value());
    send(client, session->greeting());
    const auto came = received(client);
    CHECK(came && session->take(*came).has_value() && session->established());
    return *std::move(session);
  }

 private:
  seal::SharedKey key_;
  std::vector<std::string> lines_;
  std::optional<ControllerServer> server_;
};

TEST(ControllerServer, AnAgentGetsOrdersForItsReport) {
  World world;
  const auto client = world.connect();
  ControllerSession session = world.greet(client);
  EXPECT_TRUE(session.proved());  // the controller proves the key at once
  world.send(client, session.wrap(kReport));
  EXPECT_TRUE(world.says("agent node-1 connected from 127.0.0.1:"));
  const auto came = world.received(client);
  ASSERT_TRUE(came);
  const auto bodies = session.take(*came);
  ASSERT_TRUE(bodies) << bodies.error();
  ASSERT_FALSE(bodies->empty());
  const auto orders = controller::read_orders(bodies->front());
  ASSERT_TRUE(orders) << orders.error();
  ASSERT_EQ(orders->flows.size(), 1U);
  EXPECT_EQ(orders->flows[0].rate_limit, 1'000'000'000U);
  EXPECT_EQ(orders->probes.size(), 1U);
}

TEST(ControllerServer, AnAgentThatLeavesIsForgotten) {
  World world;
  auto client = world.connect();
  ControllerSession session = world.greet(client);
  world.send(client, session.wrap(kReport));
  client = host::Descriptor{};
  world.serve();
  EXPECT_TRUE(world.says("agent node-1 left: "));
}

TEST(ControllerServer, AReportThatIsNotValidEndsTheSession) {
  World world;
  const auto client = world.connect();
  ControllerSession session = world.greet(client);
  world.send(client, session.wrap(R"({"host":"a","flows":3,"paths":[]})"));
  (void)world.received(client);
  EXPECT_FALSE(world.received(client));
  EXPECT_TRUE(world.says("its report is refused: flows is 3; a list is wanted"));
}

TEST(ControllerServer, StrangersAreClosed) {
  World world;
  const auto client = world.connect();
  world.send(client, "GET / HTTP/1.0\r\n\r\n");
  (void)world.received(client);
  EXPECT_FALSE(world.received(client));
  EXPECT_TRUE(world.says("the peer is not an agent of Nerve"));
}

TEST(ControllerServer, ManyStrangersDoNotKeepAgentsOut) {
  World world;
  std::vector<host::Descriptor> strangers;
  for (std::size_t i = 0; i < ControllerServer::kMaxStrangers + 10; ++i) {
    strangers.push_back(world.connect());
  }
  EXPECT_TRUE(world.says("others wait, and it has not proved that it knows the key"));
  const auto client = world.connect();
  ControllerSession session = world.greet(client);
  world.send(client, session.wrap(kReport));
  EXPECT_TRUE(world.says("agent node-1 connected"));
}

}  // namespace
}  // namespace nerve::cli
