// Goal: ranks that do not belong together do not form a group, and the error says why.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "ai/message.h"
#include "ai/rendezvous.h"
#include "ai/sockets.h"
#include "tests/ai/ranks.h"

namespace ai_test {
namespace {

using nerve::ai::Clock;
using nerve::ai::MessageWriter;
using nerve::ai::open_rendezvous;
using nerve::ai::Patience;
using nerve::ai::Place;
using std::chrono::milliseconds;

struct Outcome {
  std::vector<std::string> texts;
  std::string error;
  int rank{-1};
};

Outcome meet(const std::string& url, Place place, milliseconds timeout) {
  const Patience patience{Clock::now() + timeout, nullptr};
  auto opened = open_rendezvous(url, nullptr, place, patience);
  if (!opened) return {{}, opened.error().text, opened.error().rank};
  auto texts = (*opened)->exchange("text of " + std::to_string(place.rank), patience);
  if (!texts) return {{}, texts.error().text, texts.error().rank};
  return {*texts, "", -1};
}

// All of these at the same time; the outcomes in their order.
std::vector<Outcome> meet_all(const std::string& url, const std::vector<Place>& places,
                              milliseconds timeout = milliseconds{10'000}) {
  std::vector<Outcome> outcomes(places.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < places.size(); ++i) {
    threads.emplace_back([&, i] { outcomes[i] = meet(url, places[i], timeout); });
  }
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

std::string free_url() {
  const auto listener = nerve::ai::listen_at({"127.0.0.1", 0});
  return "tcp://127.0.0.1:" + std::to_string(port_of(*listener));
}

void contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

class Rendezvous : public ::testing::TestWithParam<std::string> {
 protected:
  std::string url() { return GetParam() == "tcp" ? free_url() : folder_.url(); }
  Folder folder_;
};

TEST_P(Rendezvous, GivesAllTextsToAllRanks) {
  for (const Outcome& one : meet_all(url(), {{0, 3}, {1, 3}, {2, 3}})) {
    EXPECT_EQ(one.error, "");
    EXPECT_EQ(one.texts, (std::vector<std::string>{"text of 0", "text of 1", "text of 2"}));
  }
}

TEST(RendezvousPort, ThatIsInUseIsNamed) {
  const auto taken = nerve::ai::listen_at({"127.0.0.1", 0});
  const std::string url = "tcp://127.0.0.1:" + std::to_string(port_of(*taken));
  const Outcome outcome = meet(url, {0, 2}, milliseconds{200});
  contains(outcome.error, "cannot listen at " + url + ": another program uses this port");
}

TEST_P(Rendezvous, NamesTheRanksThatDoNotCome) {
  const auto outcomes = meet_all(url(), {{0, 5}, {3, 5}}, milliseconds{200});
  contains(outcomes[0].error, "ranks 1, 2 and 4 of 5 did not come");
}

TEST_P(Rendezvous, RefusesAnotherNumberOfRanks) {
  const auto outcomes = meet_all(url(), {{0, 2}, {1, 3}}, milliseconds{2000});
  contains(outcomes[0].error, "rank 1 expects 3 ranks, this process 2");
}

TEST_P(Rendezvous, RefusesARankThatComesTwice) {
  const auto outcomes = meet_all(url(), {{0, 3}, {1, 3}, {1, 3}}, milliseconds{300});
  const std::string all = outcomes[0].error + outcomes[1].error + outcomes[2].error;
  contains(all, GetParam() == "tcp" ? "two processes claim to be rank 1" : "use an empty folder");
}

INSTANTIATE_TEST_SUITE_P(All, Rendezvous, ::testing::Values("tcp", "file"));

TEST(RendezvousFile, RefusesFilesThatNoRankWrote) {
  for (const std::string& content :
       {std::string{}, std::string{"x"}, std::string(100, '\xff'), std::string(100'000, 'a')}) {
    const Folder folder;
    std::filesystem::create_directory(folder.path() + "/group");
    std::ofstream{folder.path() + "/group/nerve-rank-1"} << content;
    const Outcome outcome = meet(folder.url(), {0, 2}, milliseconds{1000});
    contains(outcome.error, "no rank of a group wrote");
  }
}

TEST(RendezvousFile, RefusesAnotherVersion) {
  const Folder folder;
  std::filesystem::create_directory(folder.path() + "/group");
  MessageWriter card;
  card.number(0x4e4552564541490aU).number(99).number(2).number(1).text("");
  std::ofstream{folder.path() + "/group/nerve-rank-1"} << card.as_text();
  const Outcome outcome = meet(folder.url(), {0, 2}, milliseconds{1000});
  contains(outcome.error, "rank 1 speaks version 99");
  EXPECT_EQ(outcome.rank, 1);
}

TEST(RendezvousTcp, IgnoresStrangers) {
  const std::string url = free_url();
  std::thread stranger{[&] {
    const Patience patience{Clock::now() + milliseconds{5000}, nullptr};
    const auto address = *nerve::ai::parse_address(url.substr(6));
    const auto silent = nerve::ai::connect_to(address, patience);
    const auto noisy = nerve::ai::connect_to(address, patience);
    ASSERT_TRUE(silent && noisy);
    const std::vector<std::byte> noise(1000, std::byte{0x55});
    (void)nerve::ai::send_message(*noisy, noise, patience);
    const Outcome outcome = meet(url, {1, 2}, milliseconds{5000});
    EXPECT_EQ(outcome.error, "");
  }};
  const Outcome outcome = meet(url, {0, 2}, milliseconds{5000});
  stranger.join();
  EXPECT_EQ(outcome.error, "");
}

TEST(Join, ReportsInvalidOptions) {
  const auto error = [](const GroupOptions& options) { return Group::join(options).error().text; };
  contains(error({.rank = 2, .size = 2}), "rank 2 of 2 ranks");
  contains(error({.rank = 0, .size = 65}), "the limit is 64");
  contains(error({.size = 2, .rendezvous = "http://x"}),
           "none of tcp://host:port, rdma://host:port and file");
  contains(error({.size = 2, .transport = "carrier pigeon"}), "there are rdma and tcp");
  contains(error({.size = 2, .rendezvous = "tcp://127.0.0.1"}), "write host:port");
}

}  // namespace
}  // namespace ai_test
