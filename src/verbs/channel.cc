// Completion channels: a descriptor that becomes readable when an armed CQ has something to poll.
#include <cerrno>
#include <memory>
#include <new>

#include "verbs/cq.h"

using namespace nerve;
using namespace nerve::verbs;

namespace {

// A thread that is about to sleep first checks whether an event is imminent: a request and its
// answer over a link within the machine take two turns each way. False, with errno, if no event can
// come.
[[gnu::noinline]] bool prepare_wait(ibv_comp_channel& channel) noexcept {
  constexpr int kTurns = 4;
  VerbsChannel& mine = ours(&channel);
  if (check_live(&channel) != 0 || mine.events.inherited()) {
    errno = EBADF;
    return false;
  }
  host::Adapter& adapter = *ours(channel.context).adapter;
  for (int i = 0; i < kTurns && mine.events.empty(); ++i) {
    Session{adapter, mine.armed_in, Session::For::kControl}.drive();
  }
  return true;
}

[[gnu::noinline]] bool take_event(ibv_comp_channel& channel, ibv_cq*& cq,
                                  void*& cq_context) noexcept {
  return ours(&channel).events.next([&](VerbsCq* with_event) {
    ++with_event->channel_reported;
    cq = with_event->base();
    cq_context = with_event->ex.cq_context;
  });
}

}  // namespace

extern "C" {

ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) VERBS_NOEXCEPT {
  if (const int error = check_live(context); error != 0) return none(error);
  auto made = std::unique_ptr<VerbsChannel>{new (std::nothrow) VerbsChannel};
  if (!made) return none(ENOMEM);
  if (made->events.fd() < 0) return none(EMFILE);
  made->channel = {.context = context, .fd = made->events.fd(), .refcnt = 0};
  add_live(made->channel);
  return &made.release()->channel;
}

int ibv_destroy_comp_channel(ibv_comp_channel* channel) VERBS_NOEXCEPT {
  if (const int error = check_live(channel); error != 0) return fail(error);
  ibv_context* context = channel->context;
  ::pthread_mutex_lock(&context->mutex);
  const bool used = channel->refcnt > 0;
  ::pthread_mutex_unlock(&context->mutex);
  if (used) return fail(EBUSY);
  remove_live(channel);
  delete &ours(channel);
  return 0;
}

// A thread that waits here may be cancelled: see host/runtime/event_queue.h.
int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** cq_context) {
  if (!prepare_wait(*channel)) return -1;
  while (host::await_signal(channel->fd)) {
    if (take_event(*channel, *cq, *cq_context)) return 0;
  }
  return -1;
}

void ibv_ack_cq_events(ibv_cq* cq, unsigned int count) VERBS_NOEXCEPT {
  ::pthread_mutex_lock(&cq->mutex);
  cq->comp_events_completed += count;
  ::pthread_cond_signal(&cq->cond);
  ::pthread_mutex_unlock(&cq->mutex);
}

}  // extern "C"
