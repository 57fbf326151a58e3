// Goal: verbs calls of a forked child on inherited objects have no effect: neither on its parent,
// nor on its own files that reuse the descriptor numbers of the parent.
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "tests/verbs/pair.h"

namespace verbs_test {
namespace {

class Forked : public Pair {
 protected:
  static constexpr int kCompletions = 200;

  ibv_cq* make_cq(int /*depth*/) override { return Pair::make_cq(kCompletions); }

  void leave_completions() {
    for (int i = 0; i < kCompletions; ++i) {
      ibv_sge from = a.sge(8);
      ibv_send_wr wr{};
      wr.sg_list = &from;
      wr.num_sge = 1;
      wr.opcode = IBV_WR_RDMA_WRITE;
      wr.send_flags = IBV_SEND_SIGNALED;
      wr.wr.rdma = {.remote_addr = b.at(), .rkey = b.mr->rkey};
      ibv_send_wr* bad = nullptr;
      while (ibv_post_send(a.qp, &wr, &bad) == ENOMEM) {
        ibv_wc none{};
        (void)ibv_poll_cq(b.cq, 1, &none);  // drives the engine; nothing arrives there
      }
    }
  }
};

// Polls find completions that were waiting, then nothing; the files stay empty.
int drain(ibv_cq* cq) {
  std::vector<int> files;
  for (int i = 0; i < 64; ++i) files.push_back(::memfd_create("mine", 0));
  for (int i = 0; i < 1000; ++i) {
    ibv_wc taken{};
    if (ibv_poll_cq(cq, 1, &taken) < 0) return 1;
  }
  for (const int file : files) {
    struct stat now {};
    if (::fstat(file, &now) != 0 || now.st_size != 0) return 2;
  }
  return 0;
}

TEST_F(Forked, AChildThatPollsWritesToNoFile) {
  leave_completions();
  const pid_t child = ::fork();
  if (child == 0) ::_exit(drain(a.cq));
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace verbs_test
