// Processes that fork, exit, start and stop while they communicate: `verbs_lives WHAT`. Prints a
// few words and exits with 0 if everything was right, otherwise with a line on stderr.
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string_view>
#include <thread>

#include "tests/bad_days/peer/stream.h"

namespace {

using namespace bad_days;

constexpr int kForks = 20;

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "verbs_lives: %s\n", what);
  ::_exit(1);
}

void expect_child_ok(pid_t child, const char* what) {
  int status = -1;
  ::waitpid(child, &status, 0);
  if (status != 0) fail(what);
}

// `also` runs in another thread once the two ends are connected.
Outcome converse(const Options& options, Endpoint& endpoint, const std::atomic<bool>& stop,
                 const std::function<void()>& also = {}) {
  Stream stream{options, endpoint};
  if (!stream.prepare() || !endpoint.meet()) return {Outcome::Kind::kRefused, "no meeting"};
  if (also) std::thread{also}.detach();
  return stream.run(stop);
}

// An exchange with a process created for it. The leader is a thread of ours, so that this thread
// can do other things meanwhile.
class Conversation {
 public:
  explicit Conversation(std::uint64_t rounds, const std::function<void()>& follower_does = {}) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) fail("socketpair");
    options_ = {.role = Role::kLead,
                .channel = ends[0],
                .rounds = rounds,
                .largest = 8192,
                .timeout = 16,
                .retry_count = 3,
                .wait = Wait::kEvent};
    follower_ = ::fork();
    if (follower_ == 0) follow(ends, follower_does);
    ::close(ends[1]);
    endpoint_ = Endpoint::open(options_, Stream::memory_for(options_));
    if (!endpoint_) fail("no endpoint");
    leader_ = std::thread{[this] { outcome_ = converse(options_, *endpoint_, stop_); }};
  }

  Outcome finish() {
    stop_ = options_.rounds == 0;
    leader_.join();
    ::close(options_.channel);
    return outcome_;
  }
  void expect_ok() {
    const Outcome outcome = finish();
    if (outcome.kind != Outcome::Kind::kOk) fail(("the conversation: " + outcome.what).c_str());
    expect_child_ok(follower_, "the follower");
  }
  Endpoint& endpoint() { return *endpoint_; }
  [[nodiscard]] pid_t follower() const { return follower_; }

 private:
  [[noreturn]] void follow(const std::array<int, 2>& ends, const std::function<void()>& also) {
    ::close(ends[0]);
    options_.role = Role::kFollow;
    options_.channel = ends[1];
    auto endpoint = Endpoint::open(options_, Stream::memory_for(options_));
    if (!endpoint) ::_exit(2);
    const Outcome outcome = converse(options_, *endpoint, stop_, also);
    ::_exit(outcome.kind == Outcome::Kind::kOk ? 0 : 1);
  }

  Options options_;
  pid_t follower_{};
  std::optional<Endpoint> endpoint_;
  std::atomic<bool> stop_{};
  Outcome outcome_;
  std::thread leader_;
};

// Forks repeatedly during an exchange; the children run `child_does`.
void fork_often(const std::function<void(Conversation&)>& child_does) {
  Conversation conversation{0};
  ::usleep(50'000);
  for (int i = 0; i < kForks; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      child_does(conversation);
      ::_exit(0);
    }
    expect_child_ok(child, "a child");
    ::usleep(5000);
  }
  conversation.expect_ok();
  std::printf("%d forks\n", kForks);
}

void fork_and_open() {
  fork_often([](Conversation&) { Conversation{20}.expect_ok(); });
}
void fork_and_exit() {
  fork_often([](Conversation&) { std::exit(0); });
}
void fork_and_exec() {
  fork_often([](Conversation&) {
    ::execl("/bin/true", "true", nullptr);
    fail("exec");
  });
}
void fork_and_destroy() {
  fork_often([](Conversation& inherited) {
    if (inherited.endpoint().destroy() != 0) fail("destroying what was inherited");
  });
}

void exit_with_everything_open() {
  for (int i = 0; i < 5; ++i) {
    Conversation conversation{~std::uint64_t{0}, [] {
                                ::usleep(100'000);
                                std::exit(0);
                              }};
    const Outcome outcome = conversation.finish();
    if (outcome.kind != Outcome::Kind::kDead) fail(outcome.what.c_str());
    expect_child_ok(conversation.follower(), "who left");
  }
  std::printf("5 exits\n");
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd"}) {
    ++count;
  }
  return count;
}

std::size_t resident_pages() {
  std::size_t size = 0;
  std::size_t resident = 0;
  std::ifstream{"/proc/self/statm"} >> size >> resident;
  return resident;
}

void open_and_close(int times) {
  for (int i = 0; i < times; ++i) {
    Options options;
    options.wait = Wait::kEvent;
    auto endpoint = Endpoint::open(options, 4096);
    if (!endpoint || endpoint->destroy() != 0) fail("open or close");
  }
}

void open_and_close_1000() {
  open_and_close(100);
  const std::size_t descriptors = open_descriptors();
  const std::size_t pages = resident_pages();
  open_and_close(900);
  const std::size_t more_pages = resident_pages() - std::min(pages, resident_pages());
  std::printf("%zu descriptors, %zu pages more\n", open_descriptors(), more_pages);
  if (open_descriptors() != descriptors) fail("descriptors leak");
  if (more_pages > 100) fail("memory leaks");
}

void list() {
  int count = 0;
  ibv_device** devices = ibv_get_device_list(&count);
  if (devices == nullptr || count == 0) fail("no devices");
  for (int i = 0; i < count; ++i) std::printf("%s\n", ibv_get_device_name(devices[i]));
  ibv_free_device_list(devices);
}

void open() { open_and_close(1); }

struct Life {
  std::string_view name;
  void (*live)();
};
constexpr std::array kLives{Life{"list", list},
                            Life{"open", open},
                            Life{"fork-and-open", fork_and_open},
                            Life{"fork-and-exit", fork_and_exit},
                            Life{"fork-and-exec", fork_and_exec},
                            Life{"fork-and-destroy", fork_and_destroy},
                            Life{"exit-with-everything-open", exit_with_everything_open},
                            Life{"open-and-close-1000", open_and_close_1000}};

}  // namespace

int main(int argc, char** argv) {
  for (const Life& life : kLives) {
    if (argc != 2 || life.name != argv[1]) continue;
    life.live();
    return 0;
  }
  std::fprintf(stderr, "usage: verbs_lives WHAT\n");
  return 2;
}
