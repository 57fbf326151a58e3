// What the server of `nerve web` answers: the page, live counters, and finished reports.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "cli/http.h"

namespace nerve::cli {

// Everything is below /TOKEN/, and all other paths are answered alike, so that pages of other
// origins and other users of this machine learn nothing. Reports are served as documents of no
// origin: a script in one cannot read the rest.
struct WebRoutes {
  std::string token;
  std::string page;  // HTML
  std::filesystem::path reports;
  std::function<std::string()> sample;  // JSON

  HttpAnswer operator()(std::string_view path) const;
};

// 128 random bits, in hexadecimal.
[[nodiscard]] std::string random_token();

// "first%20run" becomes "first run". Malformed escapes stay as they are.
[[nodiscard]] std::string percent_decoded(std::string_view text);

}  // namespace nerve::cli
