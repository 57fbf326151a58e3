#include "nic/flow_control/policy_file.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <span>
#include <vector>

namespace nerve::nic {
namespace {

constexpr std::int64_t kVersion = 1;
constexpr std::size_t kLongestText = 2000;
constexpr std::size_t kMostNumbers = 4096;

enum class Kind : std::uint8_t { kNumber, kText, kList };

struct Entry {
  std::string_view key;
  std::uint32_t line{};
  Kind kind{};
  std::int64_t number{};
  std::string_view text;
  std::vector<std::int64_t> list;
};

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Splits a text into its entries. After an error, `error` says why.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_{text} {}

  bool read(std::vector<Entry>& entries) {
    while (skip(true)) {
      Entry entry;
      entry.key = word();
      entry.line = line_;
      if (entry.key.empty()) return fail("expected a key, as in window = 5120");
      skip(false);
      if (!take('=')) return fail("expected '=' after the key", entry.key);
      skip(false);
      if (!value(entry)) return false;
      for (const Entry& other : entries) {
        if (other.key == entry.key) return fail("is there twice", entry.key);
      }
      entries.push_back(std::move(entry));
      skip(false);
      if (!at_end() && !end_of_line()) return fail("expected the end of the line after the value");
    }
    return true;
  }
  [[nodiscard]] std::uint32_t line() const { return line_; }
  PolicyError error{};

 private:
  [[nodiscard]] bool at_end() const { return at_ == text_.size(); }
  [[nodiscard]] bool end_of_line() const { return text_[at_] == '\n'; }

  bool fail(const char* why, std::string_view key = {}) {
    error = {line_, std::string{key}, why};
    return false;
  }

  // Skips white space and comments, and the ends of lines if `lines`. False at the end of the text.
  bool skip(bool lines) {
    for (; !at_end(); ++at_) {
      const char c = text_[at_];
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size()) - 1;
      } else if (c == '\n' && lines) {
        ++line_;
      } else if (c != ' ' && c != '\t' && c != '\r') {
        return true;
      }
    }
    return false;
  }

  bool take(char c) {
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  std::string_view word() {
    const std::size_t begin = at_;
    while (!at_end() && is_word(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  bool number(std::int64_t& into, std::string_view key) {
    const char* const begin = text_.data() + at_;
    const auto [end, wrong] = std::from_chars(begin, text_.data() + text_.size(), into);
    if (wrong != std::errc{}) return fail("expected a whole number", key);
    at_ += static_cast<std::size_t>(end - begin);
    if (!at_end() && (is_word(text_[at_]) || text_[at_] == '.')) {
      return fail("expected a whole number", key);
    }
    return true;
  }

  bool value(Entry& entry) {
    if (take('"')) return text(entry);
    if (take('[')) return list(entry);
    entry.kind = Kind::kNumber;
    return number(entry.number, entry.key);
  }

  bool text(Entry& entry) {
    entry.kind = Kind::kText;
    const std::size_t begin = at_;
    while (!at_end() && text_[at_] != '"') {
      const auto c = static_cast<unsigned char>(text_[at_]);
      if (c < ' ' || c == '\\' || c == 0x7f) return fail("expected a text without \\", entry.key);
      ++at_;
    }
    entry.text = text_.substr(begin, at_ - begin);
    if (entry.text.size() > kLongestText) return fail("is longer than 2000 bytes", entry.key);
    return take('"') || fail("expected '\"' at the end of the text", entry.key);
  }

  bool list(Entry& entry) {
    entry.kind = Kind::kList;
    while (skip(true)) {
      if (take(']')) return true;
      if (entry.list.size() == kMostNumbers) return fail("has too many numbers", entry.key);
      std::int64_t one = 0;
      if (!number(one, entry.key)) return false;
      entry.list.push_back(one);
      if (!skip(true)) break;
      if (!take(',') && text_[at_] != ']') return fail("expected ',' or ']'", entry.key);
    }
    return fail("expected ']' at the end of the list", entry.key);
  }

  std::string_view text_;
  std::size_t at_{};
  std::uint32_t line_{1};
};

// Takes values out of entries. The first problem is the one that is reported.
class Fields {
 public:
  Fields(std::span<const Entry> entries, std::uint32_t last_line)
      : entries_{entries}, used_(entries.size()), last_line_{last_line} {}

  void number(std::string_view key, std::int64_t& into, std::int64_t least, std::int64_t most) {
    const Entry* const entry = find(key, Kind::kNumber, "a whole number");
    if (entry == nullptr) return;
    if (entry->number < least || entry->number > most) {
      return wrong(entry->line, key,
                   std::to_string(entry->number) + " is not from " + std::to_string(least) +
                       " to " + std::to_string(most));
    }
    into = entry->number;
  }
  void text(std::string_view key, std::string& into) {
    const Entry* const entry = find(key, Kind::kText, "a text in quotes");
    if (entry != nullptr) into = entry->text;
  }
  template <class T, std::size_t N>
  void list(std::string_view key, std::array<T, N>& into) {
    const Entry* const entry = find(key, Kind::kList, "a list of whole numbers");
    if (entry == nullptr) return;
    if (entry->list.size() != N) {
      return wrong(
          entry->line, key,
          "has " + std::to_string(entry->list.size()) + " numbers; expected " + std::to_string(N));
    }
    for (std::size_t i = 0; i < N; ++i) {
      if (entry->list[i] < std::numeric_limits<T>::min() ||
          entry->list[i] > std::numeric_limits<T>::max()) {
        return wrong(entry->line, key, std::to_string(entry->list[i]) + " is out of range");
      }
      into[i] = static_cast<T>(entry->list[i]);
    }
  }
  [[nodiscard]] std::uint32_t line_of(std::string_view key) const {
    const auto found = std::ranges::find(entries_, key, &Entry::key);
    return found == entries_.end() ? last_line_ : found->line;
  }
  void refuse_others() {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (!used_[i]) wrong(entries_[i].line, entries_[i].key, "is not a key of policies");
    }
  }
  void wrong(std::uint32_t line, std::string_view key, std::string message) {
    if (failed_) return;
    failed_ = true;
    error_ = {line, std::string{key}, std::move(message)};
  }
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] PolicyError take() { return std::move(error_); }

 private:
  const Entry* find(std::string_view key, Kind kind, const char* expected) {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (entries_[i].key != key) continue;
      used_[i] = true;
      if (entries_[i].kind == kind) return &entries_[i];
      wrong(entries_[i].line, key, std::string{"expected "} + expected);
      return nullptr;
    }
    wrong(last_line_, key, std::string{"is missing; expected "} + expected);
    return nullptr;
  }

  std::span<const Entry> entries_;
  std::vector<bool> used_;
  std::uint32_t last_line_;
  bool failed_{};
  PolicyError error_{};
};

void add_list(std::string& text, std::string_view key, const auto& values, std::size_t in_a_row) {
  ((text += key) += " = [") += values.size() > in_a_row ? "\n" : "";
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values.size() > in_a_row) text += i % in_a_row == 0 ? "  " : " ";
    if (values.size() <= in_a_row && i > 0) text += " ";
    text += std::to_string(values[i]);
    if (i + 1 < values.size()) text += ",";
    if (values.size() > in_a_row && ((i + 1) % in_a_row == 0 || i + 1 == values.size())) {
      text += "\n";
    }
  }
  text += "]\n";
}

}  // namespace

Result<PolicyFile, PolicyError> read_policy(std::string_view text) {
  if (text.size() > kLongestPolicy) {
    return Unexpected{PolicyError{1, "", "is longer than 64 KiB; is it a policy?"}};
  }
  std::vector<Entry> entries;
  Reader reader{text};
  if (!reader.read(entries)) return Unexpected{std::move(reader.error)};
  Fields fields{entries, reader.line()};
  PolicyFile file;
  Policy& policy = file.policy;
  std::int64_t version = 0;
  std::int64_t window = 0;
  std::string hash;
  fields.number("version", version, kVersion, kVersion);
  fields.text("name", file.name);
  fields.text("trained_on", file.trained_on);
  fields.text("hash", hash);
  fields.number("window", window, 0, 8 * std::int64_t{Policy::kOne});
  fields.list("low", policy.low);
  fields.list("high", policy.high);
  fields.list("scale", policy.scale);
  fields.list("first", policy.first);
  fields.list("second", policy.second);
  fields.list("last", policy.last);
  fields.refuse_others();
  policy.window = static_cast<std::int32_t>(window);
  if (!fields.failed() && hash != hash_text(policy)) {
    fields.wrong(fields.line_of("hash"), "hash",
                 "is not that of the numbers below, " + hash_text(policy) +
                     ": the file was damaged or edited");
  }
  if (!fields.failed()) {
    if (const char* const why = objection_to(policy)) {
      fields.wrong(fields.line_of("first"), "", std::string{"refused: "} + why);
    }
  }
  if (fields.failed()) return Unexpected{fields.take()};
  return file;
}

std::string hash_text(const Policy& policy) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const std::uint64_t hash = hash_of(policy);
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[hash >> shift & 0xfU];
  return text;
}

std::string text_of(const PolicyFile& file) {
  std::string text = "# A policy for learned congestion control; docs/learned.md has the format.\n";
  text += "version = " + std::to_string(kVersion) + "\n";
  text += "name = \"" + file.name + "\"\n";
  text += "trained_on = \"" + file.trained_on + "\"\n";
  text += "hash = \"" + hash_text(file.policy) + "\"\n";
  text +=
      "\n# In units of 1/4096. The inputs: log of the round trip over the least one, of it over"
      "\n# the one before, share of marked ACKs, log of the rate over the line rate, the last"
      "\n# two actions, log of 1 + queued packets.\n";
  const Policy& policy = file.policy;
  text += "window = " + std::to_string(policy.window) + "\n";
  add_list(text, "low", policy.low, 16);
  add_list(text, "high", policy.high, 16);
  add_list(text, "scale", policy.scale, 16);
  text += "\n# One row for each neuron: the weights of its inputs, then its bias.\n";
  add_list(text, "first", policy.first, Policy::kInputs + 1);
  add_list(text, "second", policy.second, Policy::kHidden + 1);
  add_list(text, "last", policy.last, 16);
  return text;
}

std::string text_of(const PolicyError& error, std::string_view file) {
  std::string text{file};
  if (error.line > 0) text += ":" + std::to_string(error.line);
  text += ": ";
  if (!error.key.empty()) text += error.key + ": ";
  return text + error.message;
}

}  // namespace nerve::nic
