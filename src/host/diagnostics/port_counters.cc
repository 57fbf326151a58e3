#include "host/diagnostics/port_counters.h"

namespace nerve::host {
namespace {

using Counters = const DeviceCounters&;

constexpr std::string_view kPort = "counters";
constexpr std::string_view kHardware = "hw_counters";
constexpr std::uint64_t kWord = 4;  // PortXmitData and PortRcvData count in these (IBTA 16.1.3.5)

std::uint64_t none(Counters) { return 0; }

constexpr PortCounter kCounters[] = {
    {kPort, "port_xmit_data", "port_data_transmitted_bytes_total",
     "Number of data octets transmitted on all links",
     [](Counters c) { return c.engine.bytes_sent + c.direct.bytes_written; }, kWord},
    {kPort, "port_rcv_data", "port_data_received_bytes_total",
     "Number of data octets received on all links",
     [](Counters c) { return c.engine.bytes_received + c.direct.bytes_read; }, kWord},
    {kPort, "port_xmit_packets", "port_packets_transmitted_total",
     "Number of packets transmitted on all VLs from this port (including errors)",
     [](Counters c) { return c.engine.frames_sent + c.direct.writes; }},
    {kPort, "port_rcv_packets", "port_packets_received_total",
     "Number of packets received on all VLs by this port (including errors)",
     [](Counters c) { return c.engine.frames_received + c.direct.reads; }},
    {kPort, "port_rcv_errors", "port_errors_received_total",
     "Number of packets containing an error that were received on this port",
     [](Counters c) { return c.engine.dropped_malformed; }},
    {kPort, "port_xmit_discards", "port_discards_transmitted_total",
     "Number of outbound packets discarded by the port because the port is down or congested",
     [](Counters c) { return c.transports.unreachable; }},
    {kPort, "port_rcv_constraint_errors", "port_constraint_errors_received_total",
     "Number of packets received on the switch physical port that are discarded", none},
    {kPort, "port_xmit_constraint_errors", "port_constraint_errors_transmitted_total",
     "Number of packets not transmitted from the switch physical port", none},
    {kPort, "port_rcv_remote_physical_errors", "port_receive_remote_physical_errors_total",
     "Number of packets marked with the EBP (End of Bad Packet) delimiter received on the port.",
     none},
    {kPort, "port_rcv_switch_relay_errors", "port_receive_switch_relay_errors_total",
     "Number of packets that could not be forwarded by the switch.", none},
    {kPort, "port_xmit_wait", "port_transmit_wait_total",
     "Number of ticks during which the port had data to transmit but no data was sent during the "
     "entire tick",
     none},
    {kPort, "symbol_error", "symbol_error_total",
     "Number of minor link errors detected on one or more physical lanes.", none},
    {kPort, "link_error_recovery", "link_error_recovery_total",
     "Number of times the link successfully recovered from an error state", none},
    {kPort, "link_downed", "link_downed_total",
     "Number of times the link failed to recover from an error state and went down", none},
    {kPort, "local_link_integrity_errors", "local_link_integrity_errors_total",
     "Number of times that the count of local physical errors exceeded the threshold specified by "
     "LocalPhyErrors.",
     none},
    {kPort, "excessive_buffer_overrun_errors", "excessive_buffer_overrun_errors_total",
     "Number of times that OverrunErrors consecutive flow control update periods occurred, each "
     "having at least one overrun error.",
     none},
    {kPort, "VL15_dropped", "vl15_dropped_total",
     "Number of incoming VL15 packets dropped due to resource limitations.", none},
    {kHardware, "duplicate_request", "duplicate_requests_packets_total",
     "The number of received packets. A duplicate request is a request that had been previously "
     "executed.",
     [](Counters c) { return c.engine.duplicates_received; }},
    {kHardware, "implied_nak_seq_err", "implied_nak_seq_errors_total",
     "The number of time the requested decided an ACK. with a PSN larger than the expected PSN for "
     "an RDMA read or response.",
     [](Counters c) { return c.engine.implied_naks; }},
    {kHardware, "local_ack_timeout_err", "local_ack_timeout_errors_total",
     "The number of times QP's ack timer expired for RC, XRC, DCT QPs at the sender side. The QP "
     "retry limit was not exceed, therefore it is still recoverable error.",
     [](Counters c) { return c.engine.timeouts; }},
    {kHardware, "np_cnp_sent", "np_cnp_packets_sent_total",
     "The number of CNP packets sent by the Notification Point when it noticed congestion "
     "experienced in the RoCEv2 IP header (ECN bits).",
     [](Counters c) { return c.engine.cnps_sent; }},
    {kHardware, "np_ecn_marked_roce_packets", "np_ecn_marked_roce_packets_received_total",
     "The number of RoCEv2 packets received by the notification point which were marked for "
     "experiencing the congestion (ECN bits where '11' on the ingress RoCE traffic).",
     [](Counters c) { return c.engine.ecn_marked_received; }},
    {kHardware, "out_of_buffer", "out_of_buffer_drops_total",
     "The number of drops occurred due to lack of WQE for the associated QPs.",
     [](Counters c) { return c.engine.dropped_no_receive + c.engine.rnr_naks_sent; }},
    {kHardware, "out_of_sequence", "out_of_sequence_packets_received_total",
     "The number of out of sequence packets received.",
     [](Counters c) { return c.engine.out_of_order_received; }},
    {kHardware, "packet_seq_err", "packet_sequence_errors_total",
     "The number of received NAK sequence error packets. The QP retry limit was not exceeded.",
     [](Counters c) { return c.engine.sequence_naks_received + c.engine.selective_naks_received; }},
    {kHardware, "rnr_nak_retry_err", "rnr_nak_retry_packets_received_total",
     "The number of received RNR NAK packets. The QP retry limit was not exceeded.",
     [](Counters c) { return c.engine.rnr_naks_received; }},
    {kHardware, "rp_cnp_handled", "rp_cnp_packets_handled_total",
     "The number of CNP packets handled by the Reaction Point HCA to throttle the transmission "
     "rate.",
     [](Counters c) { return c.engine.cnps_received; }},
};

}  // namespace

std::span<const PortCounter> port_counters() { return kCounters; }

}  // namespace nerve::host
