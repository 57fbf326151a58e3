// The Debian packages of programs that are commonly run with Nerve.
#pragma once

#include <span>
#include <string_view>

namespace nerve::cli {

struct Package {
  std::string_view name;
  std::string_view program;   // the program to look for
  std::string_view what;      // its contents, for display
  std::string_view prefixes;  // prefixes of its programs' names, separated by spaces
};

// The most common ones first.
[[nodiscard]] std::span<const Package> packages();

// The package that contains a program; empty if unknown.
[[nodiscard]] std::string_view package_of(std::string_view program);

}  // namespace nerve::cli
