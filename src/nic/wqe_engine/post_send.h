// Taking a send request in: everything about it that can be judged without the network.
#pragma once

#include "nic/config.h"
#include "nic/error.h"
#include "nic/qp_manager/qp.h"
#include "nic/work.h"

namespace nerve::nic {

// Appends the request to the send queue, or says why not and changes nothing.
Status enqueue_send(Qp& qp, const SendWr& wr, const Limits& limits);

}  // namespace nerve::nic
