// Any graph, from a text file. Two formats; the first line that says anything tells which.
//
// Ours, a line for each thing; what follows a # is for people:
//
//   nic NAME                       NICs are numbered as they come
//   switch NAME
//   cable NAME NAME RATE DELAY     cable nic0 leaf1 400G 100ns
//
// That of the HPCC simulator: `nodes switches links`, then the numbers of the nodes that are
// switches, then `src dst rate delay error_rate` for each link. Nodes that are not switches are
// NICs, nic0 onwards in the order of their numbers; node 7, a switch, is switch7.
//
// The file is hostile until it is read: what is wrong is told as FILE:LINE.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "sim/fabric/graph.h"

namespace nerve::sim {

// `name` is what errors call the text.
[[nodiscard]] Result<Graph, std::string> parse_graph(std::string_view text,
                                                     const std::string& name);
[[nodiscard]] Result<Graph, std::string> read_graph(const std::string& path);

}  // namespace nerve::sim
