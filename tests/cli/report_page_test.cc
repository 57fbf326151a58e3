#include "cli/report_page.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace nerve::cli {
namespace {

std::size_t times(std::string_view text, std::string_view word) {
  std::size_t found = 0;
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++found;
  return found;
}

constexpr std::string_view kOpening = R"(<script type="application/json" class="nerve-result">)";

// The contents of the elements that we inserted into the page.
std::vector<std::string> results_in(std::string_view page) {
  std::vector<std::string> found;
  std::size_t at = page.find(kOpening);
  while (at != page.npos) {
    const std::size_t start = at + kOpening.size();
    found.emplace_back(page.substr(start, page.find("</script>", start) - start));
    at = page.find(kOpening, start);
  }
  return found;
}

std::vector<std::string> round_trip(std::vector<std::string> jsons) {
  return results_in(report_page(jsons));
}

TEST(ReportPage, ContainsEachResultOnce) {
  EXPECT_EQ(round_trip({R"({"seed":1})", R"({"seed":2})"}),
            (std::vector<std::string>{R"({"seed":1})", R"({"seed":2})"}));
  EXPECT_TRUE(round_trip({}).empty());
}

TEST(ReportPage, RemovesOnlySpaceBetweenTokens) {
  EXPECT_EQ(round_trip({"{\n  \"a b\": \"c \\\" d \\\\\",\n\t\"e\": [1, 2]\r\n}\n"}),
            (std::vector<std::string>{R"({"a b":"c \" d \\","e":[1,2]})"}));
}

TEST(ReportPage, NothingInAResultEndsItsElement) {
  const std::string hostile = R"({"scenario":"</script><script>alert(1)</script><!--<script>"})";
  const std::string page = report_page(std::vector{hostile});
  EXPECT_EQ(results_in(page),
            (std::vector<std::string>{R"({"scenario":"\u003c/script>\u003cscript>alert(1))"
                                      R"(\u003c/script>\u003c!--\u003cscript>"})"}));
  EXPECT_EQ(times(page, "<script"), times(report_template(), "<script") + 1);
}

TEST(ReportPage, AMarkerInAResultIsNotReplaced) {
  const std::string json = R"({"description":"<!--results-->"})";
  EXPECT_EQ(round_trip({json, json}).size(), 2U);
}

TEST(ReportPage, InvalidJsonIsInsertedSafely) {
  EXPECT_EQ(round_trip({"<b>", "\"", "\\", ""}),
            (std::vector<std::string>{"\\u003cb>", "\"", "\\", ""}));
}

// The template that was built, with or without charts.
TEST(ReportPage, TheTemplateNeedsNoNetwork) {
  const std::string_view page = report_template();
  EXPECT_EQ(times(page, "<!--results-->"), 1U);
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>"));
  for (const std::string_view word : {"<link", "<img", "<iframe", "src=\"", "@import", "url("}) {
    EXPECT_EQ(times(page, word), 0U) << word;
  }
  EXPECT_LT(page.size(), 700'000U);
}

}  // namespace
}  // namespace nerve::cli
