#include "cli/terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <string_view>

namespace nerve::cli {
namespace {

constexpr std::string_view kOtherScreen = "\033[?1049h\033[?25l";
constexpr std::string_view kScreenBefore = "\033[?25h\033[?1049l";

void put_text(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

Terminal::Terminal() : known_{::tcgetattr(STDIN_FILENO, &before_) == 0} { enter(); }

Terminal::~Terminal() { leave(); }

void Terminal::enter() {
  if (entered_) return;
  entered_ = true;
  if (known_) {
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);  // Ctrl-C is still a signal
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    (void)::tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
  }
  put_text(kOtherScreen);
}

void Terminal::leave() {
  if (!entered_) return;
  entered_ = false;
  put_text(kScreenBefore);
  if (known_) (void)::tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
}

TopSize Terminal::size() {
  winsize found{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &found) != 0 || found.ws_col == 0 || found.ws_row == 0) {
    return {};
  }
  return {.columns = found.ws_col, .rows = found.ws_row};
}

void Terminal::draw(const std::string& text) const {
  if (!entered_) return;
  // Each line is cleared just before it is drawn, the last one with all below it: to clear the
  // screen at first would flicker, and to clear a line that fills its row afterwards takes its end.
  std::string out = "\033[H";
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = text.find('\n', begin);
    const bool last = end == std::string::npos;
    out.append(last ? "\033[J" : "\033[K").append(text, begin, end - begin);
    if (last) break;
    out += "\r\n";
    begin = end + 1;
  }
  put_text(out);
}

std::string keys_in(const std::string& sent) {
  std::string keys;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    if (sent[i] != kKeyEscape || i + 1 == sent.size()) {
      keys += sent[i];
      continue;
    }
    // CSI or SS3, parameters, and a final letter: only the arrows mean something here.
    const char introducer = sent[i + 1];
    if (introducer != '[' && introducer != 'O') {
      keys += sent[i];
      continue;
    }
    for (i += 2; i < sent.size() && (sent[i] < '@' || sent[i] > '~');) ++i;
    if (i >= sent.size()) break;
    if (sent[i] == 'A') keys += kKeyUp;
    if (sent[i] == 'B') keys += kKeyDown;
  }
  return keys;
}

std::string Terminal::keys(bool& ended) {
  pollfd look{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  ended = false;
  if (::poll(&look, 1, 0) <= 0) return {};
  std::array<char, 256> some{};
  const ssize_t came = ::read(STDIN_FILENO, some.data(), some.size());
  ended = came <= 0;
  return came > 0 ? keys_in(std::string{some.data(), static_cast<std::size_t>(came)})
                  : std::string{};
}

}  // namespace nerve::cli
