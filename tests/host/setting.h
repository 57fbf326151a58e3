// A setting for the processes that a test starts: they read it when they become hosts.
#pragma once

#include <stdlib.h>

namespace nerve::test {

class Setting {
 public:
  Setting(const char* name, const char* value) : name_{name} { ::setenv(name, value, 1); }
  ~Setting() { ::unsetenv(name_); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  const char* name_;
};

}  // namespace nerve::test
