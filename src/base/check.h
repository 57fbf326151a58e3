// CHECK asserts an invariant of our own code. It stays on in release builds.
//
// Never use it on input from the wire, a file or an application. Such input is hostile until
// checked; a bad value is answered with an error value, a counter or an errno.
#pragma once

namespace nerve {

[[noreturn, gnu::cold]] void check_failed(const char* condition, const char* file, int line);

}  // namespace nerve

#define CHECK(condition) \
  ((condition) ? (void)0 : ::nerve::check_failed(#condition, __FILE__, __LINE__))
