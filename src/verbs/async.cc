// Asynchronous events of CQs, QPs and SRQs, and of the port.
#include <cerrno>

#include "verbs/cq.h"

namespace nerve::verbs {
namespace {

void acknowledge(pthread_mutex_t& mutex, pthread_cond_t& cond, std::uint32_t& completed) {
  ::pthread_mutex_lock(&mutex);
  ++completed;
  ::pthread_cond_signal(&cond);
  ::pthread_mutex_unlock(&mutex);
}

}  // namespace

ibv_event_type event_type(nic::EventKind kind) {
  using enum nic::EventKind;
  switch (kind) {
    case kCqError:
      return IBV_EVENT_CQ_ERR;
    case kQpFatal:
      return IBV_EVENT_QP_FATAL;
    case kQpRequestError:
      return IBV_EVENT_QP_REQ_ERR;
    case kQpAccessError:
      return IBV_EVENT_QP_ACCESS_ERR;
    case kCommEstablished:
      return IBV_EVENT_COMM_EST;
    case kSqDrained:
      return IBV_EVENT_SQ_DRAINED;
    case kPathMigrated:
      return IBV_EVENT_PATH_MIG;
    case kPathMigrationError:
      return IBV_EVENT_PATH_MIG_ERR;
    case kPortActive:
      return IBV_EVENT_PORT_ACTIVE;
    case kPortError:
      return IBV_EVENT_PORT_ERR;
    case kSrqError:
      return IBV_EVENT_SRQ_ERR;
    case kSrqLimitReached:
      return IBV_EVENT_SRQ_LIMIT_REACHED;
    case kQpLastWqeReached:
      return IBV_EVENT_QP_LAST_WQE_REACHED;
    case kGidChange:
      return IBV_EVENT_GID_CHANGE;
    case kPkeyChange:
      return IBV_EVENT_PKEY_CHANGE;
    case kCompletion:  // goes to a channel, never here
    case kDeviceFatal:
      break;
  }
  return IBV_EVENT_DEVICE_FATAL;
}

}  // namespace nerve::verbs

using namespace nerve;
using namespace nerve::verbs;

namespace {

[[gnu::noinline]] bool prepare_wait(ibv_context& context) noexcept {
  if (const int error = check_live(&context); error != 0) {
    errno = error;
    return false;
  }
  VerbsContext& mine = ours(&context);
  if (mine.async.inherited()) {
    errno = EBADF;
    return false;
  }
  if (mine.async.empty()) Session(*mine.adapter, Session::For::kControl).drive();
  return true;
}

[[gnu::noinline]] bool take_event(ibv_context& context, ibv_async_event& event) noexcept {
  return ours(&context).async.next([&](const AsyncEvent& oldest) {
    event.event_type = oldest.type;
    if (oldest.element == nullptr) {
      event.element.port_num = kPort;
      return;
    }
    event.element.qp = static_cast<ibv_qp*>(oldest.element);
    ++*oldest.reported;
  });
}

}  // namespace

extern "C" {

// A thread that waits here may be cancelled: see host/runtime/event_queue.h.
int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  if (!prepare_wait(*context)) return -1;
  while (host::await_signal(context->async_fd)) {
    if (take_event(*context, *event)) return 0;
  }
  return -1;
}

void ibv_ack_async_event(ibv_async_event* event) VERBS_NOEXCEPT {
  switch (event->event_type) {
    case IBV_EVENT_CQ_ERR: {
      ibv_cq* cq = event->element.cq;
      return acknowledge(cq->mutex, cq->cond, cq->async_events_completed);
    }
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED: {
      ibv_qp* qp = event->element.qp;
      return acknowledge(qp->mutex, qp->cond, qp->events_completed);
    }
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED: {
      ibv_srq* srq = event->element.srq;
      return acknowledge(srq->mutex, srq->cond, srq->events_completed);
    }
    default:  // port and device events are not waited for
      return;
  }
}

}  // extern "C"
