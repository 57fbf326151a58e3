# shellcheck shell=bash disable=SC2154  # part of ./nerve, which calls it
# What ./nerve --help prints, and --help of the sub-commands that are not part of the program.

usage() {
  cat <<'END'
Nerve: a software RDMA NIC. Runs RDMA programs without RDMA hardware, and simulates clusters.
usage: ./nerve COMMAND [OPTIONS]

Run programs
  demo                  stock RDMA programs on this machine: latency, bandwidth, packets
  run -- CMD...         run any RDMA program on this machine; --pcap, --fault, --transport, ...
  trace -- CMD...       run a program and show every step of its messages, as a page
  devices               the RDMA devices that programs see
  stat                  the traffic of running programs, per transport, with rates
  top                   the same as a terminal view that updates, with QPs and peers
  metrics               the same for Prometheus; --listen 127.0.0.1:9400 serves it
  web                   the same as a local page with charts, and finished reports
  controller --key FILE choose the paths of QPs between hosts, so that they share no cable
  key FILE              create a key, for sealed QPs and for the controller
  doctor                what this machine supports, what is missing, how to fix it

Simulate a data centre
  sim SCENARIO.toml     thousands of NICs in virtual time under AI workloads; sim compare A B...
  sweep SCENARIO.toml   the same for all combinations of values: --vary KEY=A,B,C
  plan PLAN.toml        servers and a network for a job: time against cost, with a bill of materials
  learn TRAINING.toml   search a policy for learned congestion control, or --judge one

Run AI jobs
  ai train              train a small transformer on several ranks: shm, udp and TCP compared
  ai infer              serve requests, prefill and decode on separate ranks, KV cache over RDMA

Look at packets
  decode FILE.pcap...   one line per RoCEv2 packet, with an ICRC check

Work on Nerve
  test [FILTER]         build and run all tests, or those whose name matches
  test clients          run stock RDMA programs over both transports
  test bad-days         kill, stop, starve and deceive communicating processes
  test attacks          attack running programs as another user, with packets and with files
  test controller       steer live flows between two hosts behind ECMP routers (root)
  test hashes           compare simulated results: builds, cores, arm64 beside x86-64
  test ai               run the two AI jobs, with planted bugs and killed ranks
  test gpu              run RDMA from and to GPU memory, and NCCL (needs a GPU)
  test interop          run stock RDMA programs against Soft-RoCE in a virtual machine (root)
  test fresh            run every sub-command on a bare Debian 12 (root)
  test install          install the packages on a bare Debian, run, purge (root)
  build                 build everything
  package               Debian packages and a relocatable archive
  bench [NAME]          measure one part: engine, icrc, ...
  bench live            measure RDMA programs against UCX, libfabric and TCP, with our aims
  bench threads         measure many threads in one process against UCX and TCP
  bench connections     measure connecting with rdma_cm and with TCP
  bench qps             measure a host with up to 100 000 QPs
  bench scale           measure the simulator with 1, 2, 4, ... threads or ranks
  bench gpu             measure WRITEs from and to GPU memory (needs a GPU)
  bench ai              measure all-reduces of the tensor library against Gloo and Open MPI
  fuzz [TARGET]         fuzz one target, or all of them
  lint                  format, clang-tidy, shellcheck and the rules of the tree
  format                apply the format
  clean                 remove build/

Each command has --help. Missing Debian packages are installed first (NERVE_NO_INSTALL=1: never).
New here? README.md is the five-minute start, ARCHITECTURE.md the map.
END
}

usage_of() {
  case $1 in
    ai)
      cat <<END
usage: ./nerve ai train [OPTIONS]    train a small transformer with PyTorch on 2 to 8 ranks
       ./nerve ai infer [OPTIONS]    serve requests; prefill sends its KV cache to decode workers

Both run over shared memory, UDP and TCP, compare the results with one process, and print where the
time went. They need no GPU. Each has --help; docs/ai.md describes them.
END
      ;;
    build) echo "usage: ./nerve build [--preset $(presets | paste -sd '|')]" ;;
    test)
      cat <<END
usage: ./nerve test [FILTER] [--preset P] [--seeds N|A-B] [--most-seeds N] [--failures N] [--list]
       ./nerve test clients [FILTER]     stock RDMA programs; see its --help
       ./nerve test bad-days [FILTER]    process deaths, shortages, hostile peers; see its --help
       ./nerve test attacks [FILTER]     other users, forged packets, floods, hostile files; see its --help
       ./nerve test controller [FILTER]  live flows on paths that a controller chooses; needs root; see its --help
       ./nerve test hashes [SCENARIO]    results of every build, core count and architecture; see its --help
       ./nerve test ai [FILTER]          training and serving jobs with PyTorch; see its --help
       ./nerve test gpu [FILTER]         GPU memory and NCCL; needs a GPU; see its --help
       ./nerve test interop [FILTER]     stock programs against Soft-RoCE in a VM; needs root
       ./nerve test fresh [ORDER]        every sub-command on a bare Debian 12; needs root
       ./nerve test install              the packages on a bare Debian; needs root

  FILTER       run the tests whose name matches this regular expression: ./nerve test '^wire\.'
  --preset P   $(presets | paste -sd '|'); default release
  --seeds N    run seeds 1 to N in each seeded test instead of its default number
  --seeds A-B  run seeds A to B: --seeds 1000001-2000000 continues after --seeds 1000000
  --most-seeds N   run the default number of seeds, but at most N
  --failures N     end a test after N failing seeds; default 8
  --list       print the names without running anything

Random worlds run on all cores (NERVE_JOBS=N: on N). With --seeds, a line every ten seconds shows
the number of seeds done, the rate, and the time left. A failing seed is printed at once, with the
command that replays it:
  NERVE_SEED=17 ./nerve test Suite.Name
END
      ;;
    bench)
      cat <<END
usage: ./nerve bench [NAME] [OPTIONS of Google Benchmark]
       ./nerve bench live [--quick] [--repeat N] [--only REGEX] [--json FILE] [--list]
       ./nerve bench connections [COUNT]
       ./nerve bench threads [--quick] [--threads 1,2,4] [--only REGEX] [--repeat N] [--json FILE]
       ./nerve bench qps [COUNT...]
       ./nerve bench gpu [--json] [--quick]
       ./nerve bench scale [--largest HOSTS] [--cores 1,2,4 | --ranks 1,2,4] [--repeat N] [--json FILE]
       ./nerve bench ai [--quick] [--ranks 2,4,8] [--sizes 1024,65536] [--json FILE]

  NAME         one of: $(names bench | xargs); default all
  --list       print the names
  live         stock RDMA programs on Nerve compared with UCX, libfabric, TCP and UDP, as ratios
               with our aims; see its --help
  connections  the time of COUNT (1000) connections with rdma_cm and with TCP
  threads      the rate of many threads in one process, compared with UCX and TCP
  qps          memory and time of 1 000, 12 500 and 100 000 QPs, idle and used in turn
  scale        the simulator with 1, 2, 4, ... threads, or processes of MPI
  gpu          WRITEs from and to GPU memory; exit status 2 if there is no CUDA driver
  ai           all-reduces of the tensor library, compared with Gloo and Open MPI

  ./nerve bench icrc --benchmark_filter=64K
END
      ;;
    fuzz)
      cat <<END
usage: ./nerve fuzz [TARGET] [--seconds N] [--replay FILE] [--list]

  TARGET         one of: $(names fuzz | xargs); default all
  --seconds N    time per target; default 60
  --replay FILE  run one input and stop

Starts from fuzz/corpus/TARGET/; findings are written to build/fuzz/findings/TARGET/.
END
      ;;
  esac
}
