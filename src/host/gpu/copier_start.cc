#include "host/gpu/copier_start.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

#include "host/gpu/copier_layout.h"
#include "host/peers/unix_socket.h"

namespace nerve::host {
namespace {

// The copier serves programs with other settings, and sees all GPUs whichever of them this program
// sees.
bool is_left_out(std::string_view variable) {
  return variable.starts_with("LD_PRELOAD=") || variable.starts_with("NERVE_") ||
         variable.starts_with("CUDA_VISIBLE_DEVICES=");
}

// Starts it with the socket at which programs already may call. It leaves this process at once: it
// is no child of the program, which might wait for its children.
int start(const std::string& program, int listener) {
  std::vector<char*> environment;
  for (char** at = environ; *at != nullptr; ++at) {
    if (!is_left_out(*at)) environment.push_back(*at);
  }
  environment.push_back(nullptr);
  std::string name{program};
  const std::array<char*, 2> arguments{name.data(), nullptr};
  posix_spawn_file_actions_t actions{};
  ::posix_spawn_file_actions_init(&actions);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    ::posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
  }
  ::posix_spawn_file_actions_adddup2(&actions, listener, copier::kListener);
  ::posix_spawn_file_actions_addclosefrom_np(&actions, copier::kListener + 1);
  pid_t child{};
  const int failed = ::posix_spawn(&child, program.c_str(), &actions, nullptr, arguments.data(),
                                   environment.data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return failed;
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return 0;
}

}  // namespace

link::Descriptor reach_copier(const std::string& program, std::string& why) {
  const std::string name = copier::socket_name();
  constexpr int kTries = 100;
  for (int tried = 0; tried < kTries; ++tried) {
    if (link::Descriptor socket = call(name)) {
      if (own_peer(socket.get())) return socket;
      why = "another user's process holds the name " + name;
      return {};
    }
    // Whoever holds the name starts it, so that there is one.
    const link::Descriptor listener = hold_name(name);
    if (listener && listen_to_calls(listener.get())) {
      const int failed = start(program, listener.get());
      link::Descriptor socket = failed == 0 ? call(name) : link::Descriptor{};
      if (!socket) why = program + ": " + (failed != 0 ? std::strerror(failed) : "ended at once");
      return socket;
    }
    ::usleep(1000);
  }
  why = "the name " + name + " is taken, and no process answers";
  return {};
}

std::string copier_program() {
  Dl_info where{};
  if (::dladdr(reinterpret_cast<const void*>(&copier_program), &where) == 0) return {};
  const std::string library{where.dli_fname};
  return library.substr(0, library.rfind('/') + 1) + copier::kProgram;
}

}  // namespace nerve::host
