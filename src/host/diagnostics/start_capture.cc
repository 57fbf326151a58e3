#include "host/diagnostics/start_capture.h"

#include "link/tap/pcap_file.h"

namespace nerve::host {

std::string start_capture(const std::string& file) { return link::PcapFile::start_anew(file); }

}  // namespace nerve::host
