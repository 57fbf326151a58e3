#include "cli/trace_page.h"

#include <gtest/gtest.h>

#include <string>

namespace nerve::cli::trace_page_test {
namespace {

constexpr std::string_view kPage = "<main></main>\n<!--trace-->\n<script>1</script>\n";
constexpr std::string_view kOpening = R"(<script type="application/json" class="nerve-trace">)";

// The content of the element that was inserted.
std::string inserted(std::string_view json) {
  const std::string page = trace_page(kPage, json);
  const std::size_t start = page.find(kOpening) + kOpening.size();
  return page.substr(start, page.find("</script>", start) - start);
}

TEST(TracePage, ReplacesTheMarkerOnly) {
  EXPECT_EQ(trace_page(kPage, R"({"format":"nerve-trace-1"})"),
            "<main></main>\n" + std::string{kOpening} +
                "{\"format\":\"nerve-trace-1\"}</script>\n\n<script>1</script>\n");
}

TEST(TracePage, RemovesOnlySpaceBetweenTokens) {
  EXPECT_EQ(inserted("{\n \"a b\": \"c \\\" d \\\\\",\n\"events\": [[0, 1],\n[2, 3]]\r\n}\n"),
            R"({"a b":"c \" d \\","events":[[0,1],[2,3]]})");
}

TEST(TracePage, NothingInADocumentEndsItsElement) {
  EXPECT_EQ(inserted(R"({"title":"</script><script>alert(1)</script><!--<script>"})"),
            R"({"title":"\u003c/script>\u003cscript>alert(1)\u003c/script>\u003c!--)"
            R"(\u003cscript>"})");
}

TEST(TracePage, AMarkerInADocumentIsNotReplaced) {
  EXPECT_EQ(inserted(R"({"title":"<!--trace-->"})"), R"({"title":"\u003c!--trace-->"})");
}

TEST(TracePage, InvalidJsonIsInsertedSafely) {
  EXPECT_EQ(inserted("<b>"), "\\u003cb>");
  EXPECT_EQ(inserted("\""), "\"");
  EXPECT_EQ(inserted(""), "");
}

TEST(TracePage, APageWithoutAMarkerKeepsTheDocument) {
  EXPECT_EQ(trace_page("<p>", "{}"), "<p>" + std::string{kOpening} + "{}</script>\n");
}

}  // namespace
}  // namespace nerve::cli::trace_page_test
