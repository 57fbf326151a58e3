// The steps in which a scenario is read: the tables, then what follows from them, then whether all
// of it can be.
#pragma once

#include "sim/scenario/key.h"
#include "sim/scenario/scenario.h"

namespace nerve::sim::scenario_file {

// What the file says.
void read_tables(const TableAt& document, Scenario& scenario);
void read_jobs(const TableAt& document, Scenario& scenario);

// What it leaves open and other keys decide: congestion control by the kind of link, marks by the
// rate, ranks by the cluster.
void settle(const TableAt& document, Scenario& scenario);

// What cannot be built or run, with the value and what would do.
void check_cluster(const TableAt& document, const Scenario& scenario);
void check_jobs(const TableAt& document, const Scenario& scenario);

}  // namespace nerve::sim::scenario_file
