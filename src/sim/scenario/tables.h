// The steps of reading a scenario: read the tables, derive the open values, check the result.
#pragma once

#include "sim/scenario/key.h"
#include "sim/scenario/scenario.h"

namespace nerve::sim::scenario_file {

// Reads the values in the file.
void read_tables(const TableAt& document, Scenario& scenario);
void read_jobs(const TableAt& document, Scenario& scenario);

// Sets the values that the file leaves open and that depend on other keys: congestion control by
// the kind of link, ECN thresholds by the transport, ranks by the cluster size.
void settle(const TableAt& document, Scenario& scenario);

// Reports what cannot be built or run, with the value and how to fix it.
void check_cluster(const TableAt& document, const Scenario& scenario);
void check_jobs(const TableAt& document, const Scenario& scenario);

}  // namespace nerve::sim::scenario_file
