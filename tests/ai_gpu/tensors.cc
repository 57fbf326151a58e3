#include "tests/ai_gpu/tensors.h"

namespace ai_gpu_test {

std::string run_gpu_ranks(const Case& how, int ranks, const ai_test::Work& work) {
  ::setenv("NERVE_TRANSPORT", how.path, 1);
  gpu_test::use_copier(how.copier);
  const auto with_driver = [&](Group& group) -> std::string {
    if (cuInit(0) != gpu_test::kSuccess) return "no driver";
    fake_cuda_reset();
    fake_cuda_set_delay_us(5, 50);
    fake_cuda_begin_kernel();
    std::string complaint = work(group);
    if (complaint.empty() && fake_cuda_counts().default_stream_copies != 0) {
      complaint = "copies on the default stream";
    }
    fake_cuda_end_kernel();
    return complaint;
  };
  const ai_test::Setup setup{.ranks = ranks, .transport = how.transport};
  return ai_test::complaints(ai_test::run_ranks(setup, with_driver));
}

}  // namespace ai_gpu_test
