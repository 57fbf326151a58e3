// Goal: `nerve run --controller` reports to a controller that has the key, and a program runs and
// ends as without one, whatever the controller does. Method: the built `nerve` and a controller
// that is a socket of the test.
#include "cli/agent.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>

#include "cli/controller_session.h"
#include "host/seal/key_file.h"
#include "host/seal/libcrypto.h"
#include "tests/cli/program.h"

namespace nerve::cli {
namespace {

class Key {
 public:
  explicit Key(const char* name)
      : path_{testing::TempDir() + "nerve_agent_" + name + std::to_string(::getpid())} {
    std::filesystem::remove(path_);
    EXPECT_EQ(host::make_preshared_key(**host::Libcrypto::load(), path_), std::nullopt);
  }
  ~Key() { std::filesystem::remove(path_); }
  Key(const Key&) = delete;
  Key& operator=(const Key&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A controller of one agent at a time.
class Controller {
 public:
  Controller() : listener_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof name;
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&name), size), 0);
    EXPECT_EQ(::listen(listener_.get(), 8), 0);
    EXPECT_EQ(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&name), &size), 0);
    port_ = ntohs(name.sin_port);
  }
  [[nodiscard]] std::string options(const Key& key) const {
    return "--controller 127.0.0.1:" + std::to_string(port_) + " --controller-key " + key.path();
  }

  // Waits for an agent. False if none comes.
  bool accept(const Key& key) {
    pollfd ready{.fd = listener_.get(), .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, 20'000) != 1) return false;
    connection_ = host::Descriptor{::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)};
    auto session = ControllerSession::begin(ControllerSession::Role::kController,
                                            read_controller_key(key.path())->bytes());
    if (!session) return false;
    session_ = *std::move(session);
    send(session_->greeting());
    greeted_ = false;
    return true;
  }
  // The next message; nothing if the session has ended.
  std::optional<std::string> next() {
    while (bodies_.empty()) {
      pollfd ready{.fd = connection_.get(), .events = POLLIN, .revents = 0};
      if (::poll(&ready, 1, 20'000) != 1) return std::nullopt;
      std::array<char, 4096> room;
      const ssize_t size = ::recv(connection_.get(), room.data(), room.size(), 0);
      if (size <= 0) return std::nullopt;
      auto came = session_->take({room.data(), static_cast<std::size_t>(size)});
      if (!came) return std::nullopt;
      bodies_.insert(bodies_.end(), came->begin(), came->end());
      if (session_->established() && !std::exchange(greeted_, true)) order({});
    }
    std::string body = bodies_.front();
    bodies_.erase(bodies_.begin());
    return body;
  }
  void order(const controller::Orders& orders) { say(to_text(orders)); }
  void say(const std::string& body) { send(session_->wrap(body)); }
  void hang_up() { connection_ = {}; }

 private:
  void send(const std::string& bytes) const {
    EXPECT_EQ(::send(connection_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  host::Descriptor listener_;
  host::Descriptor connection_;
  std::uint16_t port_{};
  std::optional<ControllerSession> session_;
  std::vector<std::string> bodies_;
  bool greeted_{};
};

// A user has one agent at a time, and ctest runs these tests side by side.
class AgentTest : public testing::Test {
 protected:
  AgentTest() { EXPECT_EQ(::flock(turn_.get(), LOCK_EX), 0); }

 private:
  host::Descriptor turn_{
      ::open((testing::TempDir() + "nerve_agent_turn" + std::to_string(::getuid())).c_str(),
             O_CREAT | O_RDWR | O_CLOEXEC, 0600)};
};

std::future<test::Outcome> start(const std::string& options, const std::string& program) {
  return std::async(std::launch::async,
                    [=] { return test::nerve("run " + options + " -- " + program); });
}

}  // namespace

TEST_F(AgentTest, ReportsToItsController) {
  const Key key{"key"};
  Controller controller;
  auto run = start(controller.options(key), "sh -c 'sleep 3; exit 7'");
  ASSERT_TRUE(controller.accept(key));
  for (int i = 0; i < 2; ++i) {
    const auto body = controller.next();
    ASSERT_TRUE(body);
    const auto report = controller::read_report(*body);
    ASSERT_TRUE(report) << report.error();
    EXPECT_FALSE(report->host.empty());
  }
  const test::Outcome outcome = run.get();
  EXPECT_EQ(outcome.exit_code, 7);
  EXPECT_EQ(outcome.text, "");
  while (controller.next()) continue;  // it has gone with the program
}

TEST_F(AgentTest, ComesBackWhenTheControllerDoes) {
  const Key key{"key"};
  Controller controller;
  auto run = start(controller.options(key), "sh -c 'sleep 4; exit 3'");
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(controller.accept(key));
    ASSERT_TRUE(controller.next()) << "connection " << i;
    controller.hang_up();
  }
  ASSERT_TRUE(controller.accept(key));
  ASSERT_TRUE(controller.next());
  controller.say("nonsense");
  while (controller.next()) continue;
  ASSERT_TRUE(controller.accept(key)) << "after a message that was not valid";
  ASSERT_TRUE(controller.next());
  const test::Outcome outcome = run.get();
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(outcome.text, "");
}

TEST_F(AgentTest, SurvivesOrdersForNobody) {
  const Key key{"key"};
  Controller controller;
  auto run = start(controller.options(key), "sh -c 'sleep 3; exit 5'");
  ASSERT_TRUE(controller.accept(key));
  ASSERT_TRUE(controller.next());
  controller::Orders orders;
  for (std::uint32_t i = 0; i < 3000; ++i) {
    orders.flows.push_back({.qpn = Qpn{i << 12U}, .peer = Qpn{i}, .port = 0xc000, .rate_limit = 1});
  }
  orders.probes.push_back({.source = wire::Gid::ipv4(127, 0, 0, 1),
                           .destination = wire::Gid::ipv4(127, 0, 0, 2),
                           .ports = {0xc000, 0xffff}});
  controller.order(orders);
  for (int i = 0; i < 2; ++i) {
    const auto body = controller.next();
    ASSERT_TRUE(body);
    const auto report = controller::read_report(*body);
    ASSERT_TRUE(report);
    EXPECT_TRUE(report->paths.empty()) << "no flow uses these addresses";
  }
  EXPECT_EQ(run.get().exit_code, 5);
}

TEST_F(AgentTest, ReportsNothingToAControllerWithAnotherKey) {
  const Key key{"key"};
  const Key other{"other"};
  Controller controller;
  auto run = start(controller.options(key), "sh -c 'sleep 1; exit 4'");
  ASSERT_TRUE(controller.accept(other));
  EXPECT_EQ(controller.next(), std::nullopt);
  const test::Outcome outcome = run.get();
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_NE(outcome.text.find("paths stay as they are"), std::string::npos) << outcome.text;
}

TEST_F(AgentTest, WarnsOnceOfAControllerThatCannotBeReached) {
  const Key key{"key"};
  const test::Outcome outcome = test::nerve("run --controller 127.0.0.1:1 --controller-key " +
                                            key.path() + " -- sh -c 'sleep 1; exit 6'");
  EXPECT_EQ(outcome.exit_code, 6);
  EXPECT_EQ(outcome.text,
            "nerve: controller 127.0.0.1:1: Connection refused; paths stay as they are until it "
            "answers\n");
}

TEST_F(AgentTest, AWrongOptionStopsTheProgramBeforeItStarts) {
  const Key key{"key"};
  const auto refused = [](const std::string& options) {
    const test::Outcome outcome = test::nerve("run " + options + " -- echo started");
    EXPECT_EQ(outcome.exit_code, 2) << options;
    EXPECT_EQ(outcome.text.find("started"), std::string::npos);
    return outcome.text;
  };
  EXPECT_EQ(refused("--controller localhost --controller-key " + key.path()),
            "nerve run: --controller 'localhost': controller takes HOST:PORT\n");
  EXPECT_NE(refused("--controller localhost:9500").find("needs --controller-key FILE"),
            std::string::npos);
  EXPECT_NE(refused("--controller localhost:9500 --controller-key /none/such").find("/none/such"),
            std::string::npos);
  EXPECT_NE(refused("--controller no.such.host.invalid:9500 --controller-key " + key.path())
                .find("'no.such.host.invalid'"),
            std::string::npos);
}

TEST(AgentFlows, KeepTheFlowsOfProcessesThatDoNotAnswer) {
  const auto flow = [](std::uint32_t slot, std::uint64_t retransmitted) {
    return host::FlowReport{.qpn = Qpn{slot << 14U | 1U},
                            .peer = Qpn{5},
                            .source = wire::Gid::ipv4(10, 0, 0, 1),
                            .destination = wire::Gid::ipv4(10, 0, 0, 2),
                            .source_port = 0xc001,
                            .packets_retransmitted = retransmitted};
  };
  AgentFlows flows;
  flows.take({.flows = {flow(1, 0), flow(2, 0)}, .complete = true});
  EXPECT_TRUE(flows.changed());
  EXPECT_FALSE(flows.retransmits());
  flows.reported();
  flows.take({.flows = {flow(1, 0)}, .complete = false});
  EXPECT_EQ(flows.flows().size(), 2U);
  EXPECT_FALSE(flows.changed());
  flows.take({.flows = {flow(1, 0), flow(2, 3)}, .complete = true});
  EXPECT_TRUE(flows.retransmits());
  EXPECT_FALSE(flows.changed());
  flows.reported();
  flows.take({.flows = {flow(1, 0)}, .complete = true});
  EXPECT_TRUE(flows.changed());
  EXPECT_EQ(flows.flows().size(), 1U);
}

}  // namespace nerve::cli
