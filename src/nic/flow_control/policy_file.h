// Policy files: policies/NAME.toml. They are a small part of TOML: keys with integers, texts in
// quotes and lists of integers, and comments.
//
//  version     1
//  name        how results call it
//  trained_on  what it was trained on, for readers
//  hash        of everything below, 16 hexadecimal digits: a damaged or edited file is refused
//  window, low, high, scale, first, second, last   as in policy.h
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "nic/flow_control/policy.h"

namespace nerve::nic {

struct PolicyFile {
  std::string name;
  std::string trained_on;
  Policy policy{};

  friend bool operator==(const PolicyFile&, const PolicyFile&) = default;
};

struct PolicyError {
  std::uint32_t line{};  // from 1
  std::string key;       // empty: none
  std::string message;
};

// Longer files are refused.
inline constexpr std::size_t kLongestPolicy = std::size_t{64} << 10U;

[[nodiscard]] Result<PolicyFile, PolicyError> read_policy(std::string_view text);

// A file that read_policy accepts if objection_to(file.policy) is null, and if the texts have
// neither quotes nor control characters.
[[nodiscard]] std::string text_of(const PolicyFile& file);

// 16 hexadecimal digits.
[[nodiscard]] std::string hash_text(const Policy& policy);

// FILE:LINE: KEY: MESSAGE
[[nodiscard]] std::string text_of(const PolicyError& error, std::string_view file);

}  // namespace nerve::nic
