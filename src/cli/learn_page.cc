#include "cli/learn_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "cli/learn_score.h"

namespace nerve::cli {
namespace {

constexpr double kWidth = 860;
constexpr double kHeight = 300;
constexpr double kLeft = 60;
constexpr double kBottom = 30;
constexpr const char* kColours[] = {"#2563eb", "#dc2626", "#059669", "#d97706", "#7c3aed",
                                    "#0891b2", "#be185d", "#4d7c0f", "#475569", "#a16207"};

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') out += "&lt;";
    if (c == '>') out += "&gt;";
    if (c == '&') out += "&amp;";
    if (c != '<' && c != '>' && c != '&') out += c;
  }
  return out;
}

struct Curve {
  std::string name;
  std::vector<double> values;
};

double percent_of(std::int64_t score) {
  return 100 * (std::exp2(static_cast<double>(score) / static_cast<double>(kLogOne)) - 1);
}

// 1, 2 or 5 times a power of ten: the range has at most six of them.
double step_of(double range) {
  for (double power = 1;; power *= 10) {
    for (const double times : {1.0, 2.0, 5.0}) {
      if (range <= 6 * times * power) return times * power;
    }
  }
}

std::string chart(const std::string& title, const std::vector<Curve>& curves) {
  double low = -5;
  double high = 5;
  std::size_t points = 2;
  for (const Curve& curve : curves) {
    points = std::max(points, curve.values.size());
    for (const double value : curve.values) {
      low = std::min(low, value);
      high = std::max(high, std::min(value, 200.0));
    }
  }
  const double step = step_of(high - low);
  low = std::floor(low / step) * step;
  high = std::ceil(high / step) * step;
  const auto x = [&](std::size_t i) {
    return kLeft + (kWidth - kLeft) * static_cast<double>(i) / static_cast<double>(points - 1);
  };
  const auto y = [&](double value) {
    return (kHeight - kBottom) * (high - std::clamp(value, low, high)) / (high - low) + 5;
  };
  std::string text =
      fmt::format("<h2>{}</h2>\n<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n",
                  escaped(title), kWidth, kHeight + 20, escaped(title));
  for (double value = low; value < high + step / 2; value += step) {
    text += fmt::format(
        "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" class=\"grid\"/><text x=\"{3}\" "
        "y=\"{4:.1f}\" text-anchor=\"end\">{5:+.0f} %</text>\n",
        kLeft, kWidth, y(value), kLeft - 6, y(value) + 4, value);
  }
  for (std::size_t c = 0; c < curves.size(); ++c) {
    std::string line;
    for (std::size_t i = 0; i < curves[c].values.size(); ++i) {
      line += fmt::format("{:.1f},{:.1f} ", x(i), y(curves[c].values[i]));
    }
    text += fmt::format("<polyline points=\"{}\" stroke=\"{}\"/>\n", line,
                        kColours[c % std::size(kColours)]);
  }
  text += fmt::format(
      "<text x=\"{0}\" y=\"{2}\">generation 1</text><text x=\"{1}\" y=\"{2}\" "
      "text-anchor=\"end\">{3}</text></svg>\n<p>",
      kLeft, kWidth, kHeight - 10, points);
  for (std::size_t c = 0; c < curves.size(); ++c) {
    text += fmt::format("<span style=\"color:{}\">&#9632;</span> {} &nbsp; ",
                        kColours[c % std::size(kColours)], escaped(curves[c].name));
  }
  return text + "</p>\n";
}

}  // namespace

std::string learn_page(const LearnPlan& plan, std::span<const LearnGeneration> history) {
  std::vector<Curve> all{{"best candidate", {}}, {"centre of the search", {}}, {"median", {}}};
  std::vector<Curve> classes;
  for (const std::string& name : plan.classes) classes.push_back({name, {}});
  for (const LearnGeneration& one : history) {
    all[0].values.push_back(percent_of(one.best));
    all[1].values.push_back(percent_of(one.centre));
    all[2].values.push_back(percent_of(one.median));
    for (std::size_t i = 0; i < std::min(classes.size(), one.classes.size()); ++i) {
      classes[i].values.push_back(percent_of(one.classes[i]));
    }
  }
  const auto rules = std::ranges::count_if(history, &LearnGeneration::of_rules);
  return fmt::format(
             "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
             "<title>nerve learn: {0}</title>\n<style>body{{font:15px "
             "system-ui,sans-serif;max-width:900px;margin:2em auto;padding:0 "
             "1em;color:#1e293b}}svg{{width:100%}}text{{font-size:12px;fill:#64748b}}polyline{{fill"
             ":none;stroke-width:2}}.grid{{stroke:#e2e8f0}}</style></head><body>\n<h1>Learning "
             "{0}</h1>\n<p>{1} cases in {2} classes; {3} generations of rules, then {4} of "
             "networks. "
             "Zero is the better of DCQCN and Swift on each case, below zero is better than "
             "both.</p>\n",
             escaped(plan.name), plan.cases.size(), plan.classes.size(), rules,
             history.size() - static_cast<std::size_t>(rules)) +
         chart("Score", all) + chart("Score of the centre on each class", classes) +
         "</body></html>\n";
}

}  // namespace nerve::cli
