// The calls of the two kinds of stream sockets that connections are made of: TCP sockets of the
// kernel, and rsockets, which are streams over RDMA that rdma_cm connects.
//
// librdmacm has rsockets. It is loaded when they are first used, so that programs that do not use
// them need not have it.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "ai/error.h"

namespace nerve::ai {

struct SocketCalls {
  const char* name{};
  int type{};                     // of socket()
  int (*accept)(int listener){};  // the connection is closed by exec()
  void (*tune)(int fd){};         // what a connection needs, besides not to block
  int (*socket)(int domain, int type, int protocol){};
  int (*bind)(int fd, const sockaddr* name, socklen_t length){};
  int (*listen)(int fd, int backlog){};
  int (*connect)(int fd, const sockaddr* name, socklen_t length){};
  ssize_t (*send)(int fd, const void* bytes, std::size_t length, int flags){};
  ssize_t (*recv)(int fd, void* bytes, std::size_t length, int flags){};
  int (*poll)(pollfd* fds, nfds_t count, int milliseconds){};
  int (*getsockname)(int fd, sockaddr* name, socklen_t* length){};
  int (*getsockopt)(int fd, int level, int option, void* value, socklen_t* length){};
  int (*setsockopt)(int fd, int level, int option, const void* value, socklen_t length){};
  int (*fcntl)(int fd, int command, ...){};
  int (*close)(int fd){};
};

const SocketCalls& tcp_sockets();
// Fails if librdmacm cannot be loaded.
Result<const SocketCalls*, Error> rdma_sockets();

}  // namespace nerve::ai
