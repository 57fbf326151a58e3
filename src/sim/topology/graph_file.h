// Reads a graph from a text file, in one of three formats. The first line decides which.
//
// Ours has one item per line; # starts a comment:
//
//   nic NAME                       NICs are numbered in order
//   switch NAME
//   cable NAME NAME RATE DELAY     cable nic0 leaf1 400G 100ns
//
// The format of the HPCC simulator: `nodes switches links`, then the numbers of the nodes that are
// switches, then `src dst rate delay error_rate` for each link. The other nodes are NICs, nic0
// onwards in the order of their numbers; node 7, if a switch, is switch7.
//
// The format of SimAI: `nodes gpus_per_server nvswitches switches links gpu_type`, then the numbers
// of the NVSwitches and of the switches, then links as above. The other nodes are GPUs, each with
// its NIC, a server's GPUs one after the other. Links to NVSwitches are not cables of the graph:
// they make up the interconnect of the servers.
//
// The file is untrusted. Errors have the form FILE:LINE.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "sim/fabric/graph.h"

namespace nerve::sim {

// `name` is the file name in errors.
[[nodiscard]] Result<Graph, std::string> parse_graph(std::string_view text,
                                                     const std::string& name);
[[nodiscard]] Result<Graph, std::string> read_graph(const std::string& path);

}  // namespace nerve::sim
