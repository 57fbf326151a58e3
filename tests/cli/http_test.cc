// Goal: the server of `nerve metrics` and `nerve web` answers good and bad clients. Method:
// requests as text; real clients on the loopback interface.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <thread>

#include "cli/http.h"
#include "cli/http_server.h"
#include "cli/listen_address.h"

namespace nerve::cli {
namespace {

// What a client hears that sends this and then only listens.
std::string talk(std::uint16_t port, const std::string& request, bool finish = false) {
  const host::Descriptor socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) return "?";
  (void)::send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL);
  if (finish) (void)::shutdown(socket.get(), SHUT_WR);
  std::string heard;
  std::array<char, 4096> some{};
  for (ssize_t came = 0; (came = ::recv(socket.get(), some.data(), some.size(), 0)) > 0;) {
    heard.append(some.data(), static_cast<std::size_t>(came));
  }
  return heard;
}

class ServerTest : public testing::Test {
 protected:
  ServerTest() {
    auto made = HttpServer::open(
        *parse_listen_address("127.0.0.1:0"), [](std::string_view path) -> HttpAnswer {
          return {.body = path == "/" ? "hello" : std::string(300'000, 'm')};
        });
    EXPECT_TRUE(made) << made.error();
    server_.emplace(*std::move(made));
    thread_ = std::thread{[this] {
      while (!stop_) {
        std::vector<pollfd> waiting;
        (void)server_->add_to(waiting);
        (void)::poll(waiting.data(), waiting.size(), 10);
        server_->serve();
      }
    }};
  }
  ~ServerTest() override {
    stop_ = true;
    thread_.join();
  }
  std::optional<HttpServer> server_;
  std::atomic<bool> stop_{};
  std::thread thread_;
};

}  // namespace

TEST(Http, AnswersRequestsAndRefusesTheRest) {
  const auto routes = [](std::string_view path) -> HttpAnswer {
    if (path != "/metrics") return not_found("?\n");
    return {.body = "m 1\n", .headers = "Cache-Control: no-store\r\n"};
  };
  const auto answer = [&](std::string_view request) { return answer_to(request, routes); };
  EXPECT_EQ(answer("GET /metrics HT"), std::nullopt);
  EXPECT_EQ(answer("GET /metrics HTTP/1.1\r\nHost: x\r\n"), std::nullopt);
  const std::string metrics = *answer("GET /metrics?a=b HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(metrics.starts_with("HTTP/1.1 200 OK\r\n")) << metrics;
  EXPECT_TRUE(
      metrics.ends_with("\r\nCache-Control: no-store\r\nContent-Length: 4\r\n"
                        "Connection: close\r\n\r\nm 1\n"))
      << metrics;
  EXPECT_TRUE(answer("HEAD /metrics HTTP/1.1\r\n\r\n")->ends_with("\r\n\r\n"));
  EXPECT_TRUE(answer("GET /etc/passwd HTTP/1.1\r\n\r\n")->starts_with("HTTP/1.1 404"));
  EXPECT_TRUE(answer("POST /metrics HTTP/1.1\r\n\r\n")->starts_with("HTTP/1.1 405"));
  EXPECT_TRUE(answer("\r\n\r\n")->starts_with("HTTP/1.1 400"));
  EXPECT_TRUE(answer("GET  HTTP/1.1\r\n\r\n")->starts_with("HTTP/1.1 400"));
  EXPECT_TRUE(answer("GET /metrics\r\n\r\n")->starts_with("HTTP/1.1 400"));
  EXPECT_EQ(answer(std::string(kLongestRequest - 1, 'x')), std::nullopt);
  EXPECT_TRUE(answer(std::string(kLongestRequest, 'x'))->starts_with("HTTP/1.1 431"));
}

TEST(ListenAddress, IsLoopbackUnlessGiven) {
  for (const char* own : {"9400", ":9400", "localhost:9400", "127.0.0.1:9400"}) {
    const auto address = parse_listen_address(own);
    ASSERT_TRUE(address) << address.error();
    EXPECT_TRUE(address->loopback);
    EXPECT_EQ(address->text, "127.0.0.1:9400");
  }
  EXPECT_TRUE(parse_listen_address("[::1]:80")->loopback);
  EXPECT_FALSE(parse_listen_address("0.0.0.0:80")->loopback);
  EXPECT_FALSE(parse_listen_address("[::]:80")->loopback);
  for (const char* bad : {"", ":", "127.0.0.1", "127.0.0.1:", "host:80", "1.2.3:80", "[::1:80",
                          "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:80x"}) {
    EXPECT_FALSE(parse_listen_address(bad)) << bad;
  }
}

TEST_F(ServerTest, ServesAnAnswerThatDoesNotFitASocket) {
  const std::string heard = talk(server_->port(), "GET /metrics HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(heard.starts_with("HTTP/1.1 200 OK\r\n"));
  EXPECT_TRUE(heard.ends_with(std::string(300'000, 'm')));
}

TEST_F(ServerTest, ClosesThoseThatSayTooMuchOrNothing) {
  EXPECT_EQ(talk(server_->port(), "GET /metr", true), "");
  // What it did not read makes the kernel reset the connection, perhaps before the answer is read.
  const std::string much = talk(server_->port(), std::string(4 * kLongestRequest, 'x'));
  EXPECT_TRUE(much.empty() || much.starts_with("HTTP/1.1 431")) << much;
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(talk(server_->port(), "GET /metrics HTTP/1.1\r\n"), "");  // and waits
  const auto took = std::chrono::steady_clock::now() - began;
  EXPECT_GE(took, HttpServer::kPatience);
  EXPECT_LT(took, 4 * HttpServer::kPatience);
  EXPECT_TRUE(talk(server_->port(), "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 200"));
}

TEST_F(ServerTest, ASlowClientDoesNotHoldUpOthers) {
  std::thread slow{[this] { (void)talk(server_->port(), "GET "); }};
  const auto began = std::chrono::steady_clock::now();
  EXPECT_TRUE(talk(server_->port(), "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 200"));
  EXPECT_LT(std::chrono::steady_clock::now() - began, HttpServer::kPatience);
  slow.join();
}

}  // namespace nerve::cli
