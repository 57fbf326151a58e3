// What `nerve top` shows: text made from two samples, the size of the terminal and what the user
// chose. No I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/sample.h"

namespace nerve::cli {

enum class TopView : std::uint8_t { kProcesses, kQps };
enum class TopSort : std::uint8_t { kSent, kReceived, kPid, kProgram, kRetransmits, kNaks, kQps };

// What keys have chosen so far.
struct TopState {
  TopView view{TopView::kProcesses};
  TopSort sort{TopSort::kSent};
  bool reversed{};
  bool help{};
  std::string filter;   // of the program, pid, device, path or peer; empty: all
  bool typing{};        // the filter
  std::size_t first{};  // line of the table at the top, when not all fit
};

struct TopSize {
  std::size_t columns{80};
  std::size_t rows{24};
};

// Lines, each at most as long as the terminal is wide, at most as many as it is high, joined by
// newlines. `before` is the sample before this one; without it there are no rates.
[[nodiscard]] std::string top_frame(const Sample& now, const Sample* before, TopSize size,
                                    const TopState& state);

// What a key does. False: the user wants to leave. `key` is one character; of an escape sequence,
// the arrows arrive as the characters below.
inline constexpr char kKeyUp = '\x01';
inline constexpr char kKeyDown = '\x02';
inline constexpr char kKeyEscape = '\x1b';
[[nodiscard]] bool press(TopState& state, char key);

[[nodiscard]] const char* name_of(TopSort sort);
[[nodiscard]] std::optional<TopSort> sort_named(const std::string& name);

}  // namespace nerve::cli
