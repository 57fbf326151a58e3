// Short sums by which ranks compare their files and programs, and a sweep what it has completed.
// Not against forgery.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace nerve::cli {

[[nodiscard]] std::string sum_of(std::span<const std::byte> bytes);
[[nodiscard]] std::string sum_of(std::string_view text);
// Of this program; another build of it has another sum.
[[nodiscard]] std::string sum_of_program();

}  // namespace nerve::cli
