// The terminal while a program draws on all of it: keys arrive one by one and are not echoed, the
// cursor is hidden, and what was on the screen before comes back at the end.
#pragma once

#include <termios.h>

#include <string>

#include "cli/top_view.h"

namespace nerve::cli {

class Terminal {
 public:
  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // Both may be called again and again: around a stop (Ctrl-Z), and at the end.
  void enter();
  void leave();

  [[nodiscard]] static TopSize size();       // as it is now
  void draw(const std::string& text) const;  // over what is there
  // The keys that wait, with arrows as top_view.h has them. Does not wait. `ended`: the terminal is
  // gone.
  [[nodiscard]] static std::string keys(bool& ended);

 private:
  termios before_{};
  bool known_{};
  bool entered_{};
};

// Keys from what the terminal sent.
[[nodiscard]] std::string keys_in(const std::string& sent);

}  // namespace nerve::cli
