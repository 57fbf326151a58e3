#include "sim/ranks.h"

#include <fmt/format.h>

namespace nerve::sim {
namespace {

Packed packed(const std::vector<Term>& terms) {
  Packed message;
  Packer to{message};
  to.put(static_cast<std::uint32_t>(terms.size()));
  for (const Term& term : terms) {
    to.put_text(term.what);
    to.put_text(term.value);
  }
  return message;
}

// How the terms of another rank differ from ours; empty if they do not.
std::string difference(const std::vector<Term>& terms, const Packed& theirs, std::size_t rank) {
  Unpacker from{theirs};
  const auto count = from.take<std::uint32_t>();
  bool same_terms = count == terms.size();
  for (const Term& term : terms) {
    const std::string what = from.take_text();
    const std::string value = from.take_text();
    same_terms = same_terms && from.intact() && what == term.what;
    if (!same_terms) return fmt::format("rank {} is another version of this program", rank);
    if (value == term.value) continue;
    return fmt::format("rank {} has another {}: {} there, {} here", rank, term.what, value,
                       term.value);
  }
  return {};
}

}  // namespace

std::string agree(Ranks& ranks, const std::vector<Term>& terms) {
  const std::vector<Packed> out(ranks.count(), packed(terms));
  std::vector<Packed> in(ranks.count());
  if (!ranks.exchange(out, in)) return ranks.trouble();
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (i == ranks.rank()) continue;
    if (std::string differs = difference(terms, in[i], i); !differs.empty()) return differs;
  }
  return {};
}

std::string first_trouble(Ranks& ranks, const std::string& why) {
  Packed mine;
  Packer{mine}.put_text(why);
  const std::vector<Packed> out(ranks.count(), mine);
  std::vector<Packed> in(ranks.count());
  if (!ranks.exchange(out, in)) return ranks.trouble();
  for (std::size_t i = 0; i < in.size(); ++i) {
    const std::string here = i == ranks.rank() ? why : Unpacker{in[i]}.take_text();
    if (!here.empty()) return i == 0 ? here : "rank " + std::to_string(i) + ": " + here;
  }
  return {};
}

}  // namespace nerve::sim
