// The Debian packages of the programs that people run on Nerve.
#pragma once

#include <span>
#include <string_view>

namespace nerve::cli {

struct Package {
  std::string_view name;
  std::string_view program;   // by which it is known
  std::string_view what;      // it has
  std::string_view prefixes;  // how its programs are called: words that begin so
};

// Those that everybody wants first.
[[nodiscard]] std::span<const Package> packages();

// The package of a program that is not installed; empty when it is none of these.
[[nodiscard]] std::string_view package_of(std::string_view program);

}  // namespace nerve::cli
