// A table with aligned columns: the first left, numbers right.
#pragma once

#include <string>
#include <vector>

namespace nerve::sim {

class TextTable {
 public:
  explicit TextTable(std::vector<std::string> titles) { rows_.push_back(std::move(titles)); }

  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  [[nodiscard]] bool empty() const { return rows_.size() == 1; }

  // Indents each line.
  [[nodiscard]] std::string text(std::size_t indent) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace nerve::sim
