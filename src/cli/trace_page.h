// The page of a trace: one HTML file that needs only a browser. The page is web/trace.html, bundled
// at build time; this inserts the document.
#pragma once

#include <string>
#include <string_view>

namespace nerve::cli {

// `page` is the text of trace.html and `json` a trace document. Text that is not JSON is inserted
// safely, and the page reports that it cannot read it.
[[nodiscard]] std::string trace_page(std::string_view page, std::string_view json);

}  // namespace nerve::cli
