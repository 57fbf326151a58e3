// Goal: `nerve web` shows counters and reports to those who know its address, and nothing to
// others.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/sample_json.h"
#include "cli/web_reports.h"
#include "cli/web_routes.h"
#include "tests/cli/program.h"
#include "tests/cli/samples.h"

namespace nerve::cli {
namespace {

namespace fs = std::filesystem;

class WebTest : public testing::Test {
 protected:
  WebTest() : folder_{fs::path{testing::TempDir()} / ("nerve-web-" + random_token())} {
    write("results/first run/report.html", "<p>first");
    write("secret.html", "<p>secret");
    routes_ = {.token = "t0ken", .page = "<p>page", .reports = folder_ / "results", .sample = [] {
                 return std::string{"{}"};
               }};
  }
  ~WebTest() override { fs::remove_all(folder_); }

  void write(const fs::path& name, std::string_view text) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream{folder_ / name} << text;
  }

  fs::path folder_;
  WebRoutes routes_;
};

TEST_F(WebTest, AnswersOnlyBelowTheToken) {
  EXPECT_EQ(routes_("/t0ken/").body, "<p>page");
  EXPECT_EQ(routes_("/t0ken/sample.json").body, "{}");
  EXPECT_NE(routes_("/t0ken/").headers.find("no-referrer"), std::string_view::npos);
  const std::string refused = routes_("/").body;
  for (const char* path : {"/t0ken", "/t0keN/", "/t0ke/", "/t0ken2/", "//", "/sample.json",
                           "/t0keN/reports/first%20run/report.html"}) {
    EXPECT_EQ(routes_(path).status, "404 Not Found") << path;
    EXPECT_EQ(routes_(path).body, refused) << path;
  }
  EXPECT_EQ(routes_("/t0ken/other").status, "404 Not Found");
}

TEST_F(WebTest, ServesTheReportsOfItsFolderAndNoOtherFile) {
  write("results/first run/result.json", "{}");
  fs::create_symlink(folder_ / "secret.html", folder_ / "results/link.html");
  fs::create_directory_symlink(folder_, folder_ / "results/up");
  const std::vector<WebReport> found = find_reports(folder_ / "results");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].name, "first run/report.html");
  EXPECT_EQ(found[0].bytes, 8U);
  const HttpAnswer page = routes_("/t0ken/reports/first%20run/report.html");
  EXPECT_EQ(page.body, "<p>first");
  EXPECT_NE(page.headers.find("sandbox"), std::string_view::npos);
  for (const char* name : {"../secret.html", "..%2fsecret.html", "link.html", "up/secret.html",
                           "first%20run/../../secret.html", "first%20run/result.json",
                           "/etc/passwd", "first%20run/report.html%00", ""}) {
    EXPECT_EQ(routes_(std::string{"/t0ken/reports/"} + name).status, "404 Not Found") << name;
  }
  EXPECT_TRUE(find_reports(folder_ / "absent").empty());
}

TEST_F(WebTest, TheNewestReportsComeFirst) {
  write("results/b.html", "");
  write("results/c.html", "");
  const auto now = fs::file_time_type::clock::now();
  fs::last_write_time(folder_ / "results/c.html", now + std::chrono::hours{1});
  fs::last_write_time(folder_ / "results/b.html", now + std::chrono::hours{1});
  const std::vector<WebReport> found = find_reports(folder_ / "results");
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].name, "b.html");
  EXPECT_EQ(found[1].name, "c.html");
  EXPECT_TRUE(reports_json(found).starts_with("[{\"name\":\"b.html\",\"bytes\":0,\"modified\":"));
}

TEST(Web, TokensDiffer) {
  const std::string token = random_token();
  EXPECT_EQ(token.size(), 32U);
  EXPECT_NE(token, random_token());
}

TEST(Web, PercentDecodingLeavesMalformedEscapes) {
  EXPECT_EQ(percent_decoded("a%20b%2Fc"), "a b/c");
  for (const char* text : {"%", "%2", "%zz", "a%", "%-1", "%+1"}) {
    EXPECT_EQ(percent_decoded(text), text);
  }
}

TEST(SampleJson, HasRunningAndEndedPrograms) {
  Sample sample = test::busy_sample(2.5);
  sample.devices = {{.name = "nerve0", .up = true}};
  host::ProcessRecord ended = test::process_record(77, "ended\xff");
  ended.alive = false;
  host::DeviceCounters counters;
  counters.transports.shm_bytes = 900;
  ended.devices = {{.name = "nerve0", .counters = counters}};
  sample.records.processes = {test::process_record(11, "sender"), ended};
  const auto json = nlohmann::json::parse(sample_json(sample));
  EXPECT_EQ(json["at"], 2.5);
  EXPECT_EQ(json["devices"][0]["up"], true);
  ASSERT_EQ(json["programs"].size(), 4U);
  EXPECT_EQ(json["programs"][0]["counters"]["shm_bytes_sent"], 1'000'000);
  EXPECT_EQ(json["programs"][0]["qps"][0]["peer"], 4661);
  EXPECT_EQ(json["programs"][2]["answers"], false);
  EXPECT_EQ(json["programs"][3]["running"], false);
  EXPECT_EQ(json["programs"][3]["counters"]["shm_bytes_sent"], 900);
}

TEST(Web, EndsWithStatusZeroWhenInterrupted) {
  const test::Outcome served =
      test::nerve("--help >/dev/null; timeout --preserve-status -s INT 1 " NERVE_PROGRAM " web");
  EXPECT_EQ(served.exit_code, 0) << served.text;
  EXPECT_TRUE(served.text.starts_with("nerve web: http://127.0.0.1:")) << served.text;
  EXPECT_EQ(test::nerve("web --listen nowhere:1").exit_code, 2);
}

}  // namespace
}  // namespace nerve::cli
