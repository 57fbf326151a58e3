// Validates and enqueues send requests: every check that does not need the network.
#pragma once

#include "nic/config.h"
#include "nic/error.h"
#include "nic/qp_context/qp.h"
#include "nic/work.h"

namespace nerve::nic {

// Appends the request to the send queue, or returns an error and changes nothing.
Status enqueue_send(Qp& qp, const SendWr& wr, const Limits& limits);

}  // namespace nerve::nic
