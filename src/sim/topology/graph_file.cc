#include "sim/topology/graph_file.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <span>
#include <sstream>

#include "sim/topology/graph_words.h"
#include "sim/topology/nv_links.h"

namespace nerve::sim {
namespace {

constexpr std::size_t kLongestName = 64;
constexpr std::size_t kMostNodes = std::size_t{1} << 21;
constexpr std::size_t kWordsOfLink = 5;
constexpr std::uint32_t kMostGpus = 256;  // of a server, as in scenario files

std::string in_quotes(std::string_view word) {
  std::string text = "\"" + std::string{word.substr(0, kLongestName)};
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || static_cast<unsigned char>(c) > '~') c = '?';
  }
  return text + (word.size() > kLongestName ? "...\"" : "\"");
}

// Sets the tier of each switch to its distance from the nearest NIC.
void find_tiers(Graph& graph) {
  std::vector<std::vector<std::uint32_t>> neighbours(graph.nodes.size());
  for (const Cable& cable : graph.cables) {
    neighbours[cable.a.value()].push_back(cable.b.value());
    neighbours[cable.b.value()].push_back(cable.a.value());
  }
  std::vector<std::uint32_t> ring;
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].kind == NodeKind::kNic) ring.push_back(i);
  }
  constexpr std::uint16_t kHighest = 0xffff;
  for (std::uint16_t tier = 1; !ring.empty() && tier < kHighest; ++tier) {
    std::vector<std::uint32_t> wider;
    for (const std::uint32_t node : ring) {
      for (const std::uint32_t next : neighbours[node]) {
        GraphNode& there = graph.nodes[next];
        if (there.kind == NodeKind::kNic || there.tier != 0) continue;
        there.tier = tier;
        wider.push_back(next);
      }
    }
    ring = std::move(wider);
  }
}

// Reads all formats: nodes by name, then the cables between them; builds a graph with the NICs
// first.
class Reader {
 public:
  Reader(std::string_view text, const std::string& name) : words_{words_of(text)}, name_{name} {}

  Result<Graph, std::string> read() {
    if (words_.empty()) return Unexpected{name_ + ":1: is empty"};
    if (!read_nodes()) return Unexpected{error_};
    return finish();
  }

 private:
  struct Node {
    NodeKind kind{};
    std::uint32_t number{};  // among the nodes of its kind
  };
  struct Joint {
    Node a;
    Node b;
    Rate rate;
    Duration delay;
  };

  bool read_nodes() {
    if (!number_of(words_[0].text)) return read_ours();
    // Only SimAI's first line ends in a word that is no number: the type of the GPUs.
    const std::span<const Word> first = line_at(0);
    return first.size() == 6 && !number_of(first[5].text) ? read_simai() : read_hpcc();
  }

  bool fail(std::uint32_t line, const std::string& what) {
    error_ = name_ + ":" + std::to_string(line) + ": " + what;
    return false;
  }
  [[nodiscard]] std::uint32_t last_line() const { return words_.back().line; }

  bool add(NodeKind kind, const std::string& name, std::uint32_t line) {
    auto& names = kind == NodeKind::kNic ? nics_ : switches_;
    if (nics_.size() + switches_.size() == kMostNodes) return fail(line, "too many nodes");
    const Node node{kind, static_cast<std::uint32_t>(names.size())};
    if (!nodes_.try_emplace(name, node).second) {
      return fail(line, "there is already a node named " + in_quotes(name));
    }
    names.push_back(name);
    return true;
  }

  bool join(const Word& a, const Word& b, const Node& from, const Node& to, const Word& rate,
            const Word& delay) {
    if (from.kind == to.kind && from.number == to.number) {
      return fail(a.line, "a cable from " + in_quotes(a.text) + " to itself");
    }
    if (from.kind == NodeKind::kNic && to.kind == NodeKind::kNic) {
      return fail(a.line, "a cable joins two NICs, " + in_quotes(a.text) + " and " +
                              in_quotes(b.text) + "; put a switch between them");
    }
    const auto speed = read_rate(rate);
    if (!speed) return false;
    const auto time = read_delay(delay);
    if (!time) return false;
    joints_.push_back({from, to, *speed, *time});
    return true;
  }

  std::optional<Rate> read_rate(const Word& word) {
    const auto rate = rate_of(word.text);
    if (!rate)
      fail(word.line, in_quotes(word.text) + " is not a rate; write 400G, from 1M to 100T");
    return rate;
  }
  std::optional<Duration> read_delay(const Word& word) {
    const auto delay = delay_of(word.text);
    if (!delay) fail(word.line, in_quotes(word.text) + " is not a delay; write 100ns, up to 1s");
    return delay;
  }

  // The words of the line that begins at word `at`.
  std::span<const Word> line_at(std::size_t at) {
    std::size_t end = at;
    while (end < words_.size() && words_[end].line == words_[at].line) ++end;
    return std::span{words_}.subspan(at, end - at);
  }

  bool read_ours() {
    for (std::size_t at = 0; at < words_.size();) {
      const std::span<const Word> line = line_at(at);
      at += line.size();
      if (!read_line(line)) return false;
    }
    return true;
  }

  bool read_line(std::span<const Word> line) {
    const std::string_view what = line[0].text;
    const std::uint32_t number = line[0].line;
    if (what == "nic" || what == "switch") {
      if (line.size() != 2) return fail(number, std::string{what} + " takes one NAME");
      if (line[1].text.size() > kLongestName)
        return fail(number, "the name is longer than 64 bytes");
      return add(what == "nic" ? NodeKind::kNic : NodeKind::kSwitch, std::string{line[1].text},
                 number);
    }
    if (what != "cable") {
      return fail(number, in_quotes(what) + " is not nic, switch or cable");
    }
    if (line.size() != 5) return fail(number, "write cable NAME NAME RATE DELAY");
    const auto a = nodes_.find(std::string{line[1].text});
    const auto b = nodes_.find(std::string{line[2].text});
    for (const auto& [found, word] : {std::pair{a, line[1]}, std::pair{b, line[2]}}) {
      if (found == nodes_.end()) {
        return fail(number, "no node above is named " + in_quotes(word.text));
      }
    }
    return join(line[1], line[2], a->second, b->second, line[3], line[4]);
  }

  // Numbers at the start of the file, then as many nodes that are switches.
  template <std::size_t N>
  bool read_counts(std::uint32_t (&counts)[N], const char* expected) {
    if (words_.size() < N) return fail(last_line(), expected);
    for (std::size_t i = 0; i < N; ++i) {
      const auto count = number_of(words_[i].text);
      if (!count) return fail(words_[i].line, in_quotes(words_[i].text) + " is not a number");
      counts[i] = *count;
    }
    if (counts[0] > kMostNodes) return fail(words_[0].line, "too many nodes");
    return true;
  }

  bool check_words(std::size_t before, std::size_t switches, std::size_t links) {
    if (words_.size() == before + switches + links * kWordsOfLink) return true;
    return fail(last_line(), "the first line announces " + std::to_string(switches) +
                                 " switches and " + std::to_string(links) +
                                 " links of five words; there are " +
                                 std::to_string(words_.size() - before) + " words");
  }

  // Marks the nodes that are switches.
  bool read_switches(std::span<const Word> words, std::vector<bool>& is_switch) {
    for (const Word& word : words) {
      const auto number = node_number(word, is_switch.size());
      if (!number) return false;
      if (is_switch[*number])
        return fail(word.line, "switch " + in_quotes(word.text) + " is listed twice");
      is_switch[*number] = true;
    }
    return true;
  }

  // NVSwitches are no nodes of the graph.
  std::vector<Node> name_nodes(const std::vector<bool>& is_switch, const NvLinks& nvlinks) {
    std::vector<Node> all;
    for (std::uint32_t i = 0; i < is_switch.size(); ++i) {
      if (nvlinks.has_switch(i)) {
        all.push_back({NodeKind::kSwitch, 0});
        continue;
      }
      const NodeKind kind = is_switch[i] ? NodeKind::kSwitch : NodeKind::kNic;
      auto& names = is_switch[i] ? switches_ : nics_;
      all.push_back({kind, static_cast<std::uint32_t>(names.size())});
      names.push_back(is_switch[i] ? "switch" + std::to_string(i)
                                   : "nic" + std::to_string(names.size()));
    }
    return all;
  }

  bool read_hpcc() {
    std::uint32_t counts[3]{};
    if (!read_counts(counts, "write the numbers of nodes, switches and links")) return false;
    const auto [nodes, switches, links] = counts;
    if (!check_words(3, switches, links)) return false;
    std::vector<bool> is_switch(nodes);
    if (!read_switches(std::span{words_}.subspan(3, switches), is_switch)) return false;
    const std::vector<Node> all = name_nodes(is_switch, {});
    for (std::size_t at = 3 + switches; at < words_.size(); at += kWordsOfLink) {
      if (!read_link(std::span{words_}.subspan(at, kWordsOfLink), all)) return false;
    }
    return true;
  }

  bool read_simai() {
    constexpr std::size_t kFirst = 6;
    std::uint32_t counts[5]{};
    if (!read_counts(counts, "")) return false;
    const auto [nodes, gpus, nvswitches, switches, links] = counts;
    const std::size_t others = std::size_t{nvswitches} + switches;
    if (!check_words(kFirst, others, links)) return false;
    std::vector<bool> is_switch(nodes);
    if (!read_switches(std::span{words_}.subspan(kFirst, others), is_switch)) return false;
    const std::size_t all_gpus = nodes - others;  // every switch is another node
    if (gpus == 0 || gpus > kMostGpus || all_gpus % gpus != 0) {
      return fail(words_[1].line, std::to_string(gpus) +
                                      " GPUs per server: expected 1 to 256 that divide the " +
                                      std::to_string(all_gpus) + " GPUs");
    }
    NvLinks nvlinks{gpus, all_gpus};
    for (const Word& word : std::span{words_}.subspan(kFirst, nvswitches)) {
      nvlinks.add_switch(*number_of(word.text));
    }
    const std::vector<Node> all = name_nodes(is_switch, nvlinks);
    for (std::size_t at = kFirst + others; at < words_.size(); at += kWordsOfLink) {
      const std::span<const Word> link = std::span{words_}.subspan(at, kWordsOfLink);
      if (!(is_nvlink(link, nvlinks) ? read_nvlink(link, all, nvlinks) : read_link(link, all))) {
        return false;
      }
    }
    if (const std::string why = nvlinks.objection(); !why.empty()) return fail(last_line(), why);
    servers_ = nvlinks.servers();
    return true;
  }

  static bool is_nvlink(std::span<const Word> link, const NvLinks& nvlinks) {
    return nvlinks.has_switch(number_of(link[0].text)) ||
           nvlinks.has_switch(number_of(link[1].text));
  }

  bool read_nvlink(std::span<const Word> link, const std::vector<Node>& all, NvLinks& nvlinks) {
    const auto a = node_number(link[0], all.size());
    if (!a) return false;
    const auto b = node_number(link[1], all.size());
    if (!b) return false;
    if (!has_no_errors(link[4])) return false;
    const Node& one = all[nvlinks.has_switch(a) ? *b : *a];
    if (one.kind != NodeKind::kNic) {
      return fail(link[0].line, "a link from " + in_quotes(link[0].text) + " to " +
                                    in_quotes(link[1].text) +
                                    ": an NVSwitch may only be connected to GPUs of one server");
    }
    const auto rate = read_rate(link[2]);
    if (!rate) return false;
    const auto delay = read_delay(link[3]);
    if (!delay) return false;
    const std::string why = nvlinks.add(one.number, nvlinks.has_switch(a) ? *a : *b, *rate, *delay);
    return why.empty() || fail(link[0].line, why);
  }

  bool read_link(std::span<const Word> link, const std::vector<Node>& all) {
    const auto a = node_number(link[0], all.size());
    if (!a) return false;
    const auto b = node_number(link[1], all.size());
    if (!b) return false;
    if (!has_no_errors(link[4])) return false;
    return join(link[0], link[1], all[*a], all[*b], link[2], link[3]);
  }

  bool has_no_errors(const Word& word) {
    if (is_zero(word.text)) return true;
    return fail(word.line, "error rate " + in_quotes(word.text) +
                               ": must be 0; use a [[fault]] of kind errors");
  }

  std::optional<std::uint32_t> node_number(const Word& word, std::size_t nodes) {
    const auto number = number_of(word.text);
    if (number && *number < nodes) return number;
    fail(word.line, in_quotes(word.text) + " is not a node; nodes are 0 to " +
                        std::to_string(nodes == 0 ? 0 : nodes - 1));
    return std::nullopt;
  }

  Result<Graph, std::string> finish() {
    Graph graph;
    const auto nics = static_cast<std::uint32_t>(nics_.size());
    if (nics == 0) {
      fail(last_line(), "there are no NICs");
      return Unexpected{error_};
    }
    const auto id = [&](const Node& node) {
      return NodeId{node.kind == NodeKind::kNic ? node.number : nics + node.number};
    };
    for (const std::string& name : nics_) graph.add(NodeKind::kNic, name, 0);
    for (const std::string& name : switches_) graph.add(NodeKind::kSwitch, name, 0);
    std::vector<bool> joined(nics);
    for (const Joint& joint : joints_) {
      graph.join(id(joint.a), id(joint.b), joint.rate, joint.delay);
      for (const Node& end : {joint.a, joint.b}) {
        if (end.kind == NodeKind::kNic) joined[end.number] = true;
      }
    }
    const auto alone = std::ranges::find(joined, false);
    if (alone != joined.end()) {
      fail(last_line(), "NIC " +
                            in_quotes(nics_[static_cast<std::size_t>(alone - joined.begin())]) +
                            " has no cable");
      return Unexpected{error_};
    }
    find_tiers(graph);
    graph.servers = servers_;
    return graph;
  }

  std::vector<Word> words_;
  std::string name_;
  std::string error_;
  std::map<std::string, Node> nodes_;
  std::vector<std::string> nics_;
  std::vector<std::string> switches_;
  std::vector<Joint> joints_;
  std::optional<ServersOfFile> servers_;
};

}  // namespace

Result<Graph, std::string> parse_graph(std::string_view text, const std::string& name) {
  return Reader{text, name}.read();
}

Result<Graph, std::string> read_graph(const std::string& path) {
  constexpr std::size_t kLargest = std::size_t{256} << 20U;
  std::ifstream file{path, std::ios::binary};
  if (!file) return Unexpected{path + ": cannot be read"};
  std::ostringstream text;
  text << file.rdbuf();
  std::string all = std::move(text).str();
  if (all.size() > kLargest) return Unexpected{path + ": is larger than 256 MiB"};
  return parse_graph(all, path);
}

}  // namespace nerve::sim
