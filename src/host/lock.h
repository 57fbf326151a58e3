// The host's lock. It is held for a fraction of a microsecond at a time and taken at every verb, so
// a thread that finds it taken spins a little before it asks the kernel to wait.
#pragma once

#include <pthread.h>

namespace nerve::host {

class Lock {
 public:
  Lock() {
    pthread_mutexattr_t attributes;
    ::pthread_mutexattr_init(&attributes);
    ::pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP);
    ::pthread_mutex_init(&mutex_, &attributes);
    ::pthread_mutexattr_destroy(&attributes);
  }
  ~Lock() { ::pthread_mutex_destroy(&mutex_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  void lock() { ::pthread_mutex_lock(&mutex_); }
  void unlock() { ::pthread_mutex_unlock(&mutex_); }
  [[nodiscard]] bool try_lock() { return ::pthread_mutex_trylock(&mutex_) == 0; }

 private:
  pthread_mutex_t mutex_{};
};

}  // namespace nerve::host
