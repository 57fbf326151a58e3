// CHECK states what must be true if our own code is right. It stays on in release builds.
//
// It is never used on what came off the wire, from a file or from an application: those are
// hostile until checked, and get a value, a counter or an errno.
#pragma once

namespace nerve {

[[noreturn, gnu::cold]] void check_failed(const char* condition, const char* file, int line);

}  // namespace nerve

#define CHECK(condition) \
  ((condition) ? (void)0 : ::nerve::check_failed(#condition, __FILE__, __LINE__))
