// JSON inside a script element of a page.
#pragma once

#include <string>
#include <string_view>

namespace nerve::cli {

// Appends JSON so that nothing in it ends the element; what a parser reads is the same. White space
// between tokens is removed. Text that is not JSON is appended safely, too.
void append_embedded_json(std::string& page, std::string_view json);

}  // namespace nerve::cli
