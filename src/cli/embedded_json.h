// JSON inside a script element of a page.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace nerve::cli {

// Appends JSON so that nothing in it ends the element; what a parser reads is the same. White space
// between tokens is removed. Text that is not JSON is appended safely, too.
void append_embedded_json(std::string& page, std::string_view json);

// `page` with the documents in place of its marker, each in a script element of this class; at its
// end if it has no marker.
[[nodiscard]] std::string page_with(std::string_view page, std::string_view marker,
                                    std::string_view element_class,
                                    std::span<const std::string_view> documents);

}  // namespace nerve::cli
