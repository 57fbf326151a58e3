// Programs that use rdma_cm and fail in many ways: `cm_peer WHAT [ARGUMENTS]`. Linked to the
// distribution's librdmacm and to nothing of Nerve; tests/bad_days/connections.py starts and ends
// them.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/bad_days/connections/cm.h"

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const std::string what = words.empty() ? "" : words[0];
  const auto number = [&](std::size_t at) { return std::atoi(words[at].c_str()); };
  if (what == "errors") {
    bad_days::errors();
  } else if (what == "rejections") {
    bad_days::rejections();
  } else if (what == "forks") {
    bad_days::forks();
  } else if (what == "threads") {
    bad_days::threads();
  } else if (what == "churn" && words.size() == 2) {
    bad_days::churn(number(1));
  } else if (what == "flood" && words.size() == 2) {
    bad_days::flood(number(1));
  } else if (what == "serve" && words.size() == 3) {
    bad_days::serve(words[1], words[2]);
  } else if (what == "ask" && words.size() == 4) {
    bad_days::ask(words[1], words[2], static_cast<std::uint16_t>(number(3)));
  } else {
    std::fprintf(stderr, "usage: cm_peer WHAT [ARGUMENTS]\n");
    return 2;
  }
  return 0;
}
