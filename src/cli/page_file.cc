#include "cli/page_file.h"

#include "cli/file_bytes.h"
#include "cli/this_program.h"

namespace nerve::cli {

Result<std::string, std::string> read_page(std::string_view name) {
  const FileBytes file = read_bytes(page_of(this_program(), name).string());
  if (!file.error.empty()) return Unexpected{file.error + "; " + how_to_restore()};
  return std::string{reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size()};
}

}  // namespace nerve::cli
