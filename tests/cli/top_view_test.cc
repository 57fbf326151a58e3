// Goal: `nerve top` shows what samples say, in what the terminal has room for. Method: frames of
// samples that are values; keys by the function that they call.
#include "cli/top_view.h"

#include <gtest/gtest.h>

#include "cli/terminal.h"
#include "tests/cli/samples.h"

namespace nerve::cli {
namespace {

using test::busy_sample;

constexpr TopSize kWide{.columns = 200, .rows = 50};

// A second and 2 MB later.
Sample a_second_later() {
  Sample sample = busy_sample(2);
  sample.processes[0].counters["shm_bytes_sent"] += 2'000'000;
  sample.processes[0].counters["packets_sent"] += 5000;
  sample.processes[1].counters["bytes_received"] += 3'000'000;
  return sample;
}

std::string line_with(const std::string& frame, const std::string& word) {
  const std::size_t at = frame.find(word);
  if (at == std::string::npos) return "";
  const std::size_t begin = frame.rfind('\n', at) + 1;
  return frame.substr(begin, frame.find('\n', at) - begin);
}

}  // namespace

TEST(TopView, ALineForEachProcess) {
  const Sample before = busy_sample();
  const std::string frame = top_frame(a_second_later(), &before, kWide, {});
  EXPECT_EQ(frame.substr(0, frame.find('\n')), "nerve top: 3 programs, 2.0 MB/s sent; by sent");
  EXPECT_EQ(line_with(frame, "sender"),
            "      11 sender              1     1   2.0 MB/s        0/s     5.0 k       4       3"
            "        2  2.5 Gb/s    shm+direct");
  EXPECT_NE(line_with(frame, "receiver").find("3.0 MB/s"), std::string::npos) << frame;
  EXPECT_NE(line_with(frame, "stopped").find("- (does not answer)"), std::string::npos) << frame;
}

TEST(TopView, WithoutAnEarlierSampleThereAreNoRates) {
  const std::string frame = top_frame(busy_sample(), nullptr, kWide, {});
  EXPECT_NE(line_with(frame, "sender").find(" 0/s "), std::string::npos) << frame;
}

// A pid that another program has now did not send a negative amount.
TEST(TopView, APidThatIsAnotherProgramsNowHasNoRate) {
  Sample before = a_second_later();
  before.at = std::chrono::duration<double>{0};
  const std::string frame = top_frame(busy_sample(), &before, kWide, {});
  EXPECT_NE(frame.find("programs, 0/s sent"), std::string::npos) << frame;
}

TEST(TopView, FitsTheTerminal) {
  const Sample before = busy_sample();
  for (const TopView view : {TopView::kProcesses, TopView::kQps}) {
    for (std::size_t columns = 1; columns < 130; columns += 7) {
      for (std::size_t rows = 1; rows < 8; ++rows) {
        TopState state;
        state.view = view;
        state.help = columns % 2 == 0;
        state.first = columns;
        const std::string frame =
            top_frame(a_second_later(), &before, {.columns = columns, .rows = rows}, state);
        EXPECT_LT(static_cast<std::size_t>(std::ranges::count(frame, '\n')), rows);
        std::size_t length = 0;
        for (const char c : frame) {
          length = c == '\n' ? 0 : length + 1;
          EXPECT_LE(length, columns);
        }
      }
    }
  }
}

TEST(TopView, SortsByWhatWasChosen) {
  const Sample before = busy_sample();
  const auto first_row = [&](const TopState& state) {
    const std::string frame = top_frame(a_second_later(), &before, kWide, state);
    const std::size_t begin = frame.find('\n', frame.find('\n') + 1) + 1;
    return frame.substr(begin, frame.find('\n', begin) - begin);
  };
  TopState state;
  EXPECT_TRUE(press(state, 'r'));
  EXPECT_NE(first_row(state).find("receiver"), std::string::npos);
  EXPECT_TRUE(press(state, 'c'));
  EXPECT_NE(first_row(state).find("receiver"), std::string::npos);
  EXPECT_TRUE(press(state, 't'));
  EXPECT_NE(first_row(state).find("sender"), std::string::npos);
  EXPECT_TRUE(press(state, 'p'));
  EXPECT_TRUE(press(state, 'R'));
  EXPECT_NE(first_row(state).find("stopped"), std::string::npos);
  EXPECT_TRUE(press(state, 'n'));
  EXPECT_TRUE(press(state, 'R'));
  EXPECT_NE(first_row(state).find("receiver"), std::string::npos);
  EXPECT_EQ(sort_named("naks"), TopSort::kNaks);
  EXPECT_EQ(sort_named("nothing"), std::nullopt);
}

TEST(TopView, AFilterIsTypedAndCleared) {
  TopState state;
  for (const char key : std::string{"/sendx\x7f"}) EXPECT_TRUE(press(state, key));
  EXPECT_TRUE(state.typing);
  EXPECT_NE(top_frame(busy_sample(), nullptr, kWide, state).find("filter: send_"),
            std::string::npos);
  EXPECT_TRUE(press(state, '\n'));
  const std::string frame = top_frame(busy_sample(), nullptr, kWide, state);
  EXPECT_NE(frame.find(" sender "), std::string::npos);
  EXPECT_EQ(frame.find("receiver"), std::string::npos) << frame;
  EXPECT_TRUE(press(state, kKeyEscape));
  EXPECT_NE(top_frame(busy_sample(), nullptr, kWide, state).find("receiver"), std::string::npos);
}

TEST(TopView, QpsWithTheirPeersAndPaths) {
  TopState state;
  EXPECT_TRUE(press(state, '\t'));
  std::string frame = top_frame(busy_sample(), nullptr, kWide, state);
  EXPECT_EQ(line_with(frame, "0x1234"),
            "      11 sender          nerve0     0x1234 RC  RTS      0x1235  shm     2.5 Gb/s"
            "  10.0.0.7");
  state.filter = "10.0.0.7";
  frame = top_frame(busy_sample(), nullptr, kWide, state);
  EXPECT_EQ(frame.find("UD"), std::string::npos) << frame;
  state.filter = "none of them";
  EXPECT_NE(top_frame(busy_sample(), nullptr, kWide, state).find("nothing to show"),
            std::string::npos);
}

TEST(TopView, KeysLeaveHelpAndScroll) {
  TopState state;
  EXPECT_FALSE(press(state, 'q'));
  EXPECT_TRUE(press(state, '?'));
  EXPECT_NE(top_frame(busy_sample(), nullptr, kWide, state).find("type a filter"),
            std::string::npos);
  EXPECT_TRUE(press(state, 'q'));  // ends the help alone
  EXPECT_TRUE(press(state, kKeyUp));
  EXPECT_EQ(state.first, 0U);
  EXPECT_TRUE(press(state, kKeyDown));
  EXPECT_EQ(top_frame(busy_sample(), nullptr, kWide, state).find(" 11 "), std::string::npos);
}

TEST(Terminal, ReadsArrowsAndLeavesOtherSequencesOut) {
  EXPECT_EQ(keys_in("q"), "q");
  EXPECT_EQ(keys_in("\033[A\033OBs"), std::string{kKeyUp} + kKeyDown + "s");
  EXPECT_EQ(keys_in("\033[1;5Cx\033[3~y"), "xy");
  EXPECT_EQ(keys_in("\033"), "\033");
  EXPECT_EQ(keys_in("\033["), "");
  EXPECT_EQ(keys_in("\033q"), "\033q");
}

}  // namespace nerve::cli
