// Cross-entropy of a chunk of logits: loss, and the gradient of the logits in their place.
//
//   z = logits[n];  m = max z,  lse = m + log Σ exp(z − m)
//   losses[n] = weights[n] · (lse − z[target]);   logits[n] = bf16(weights[n] · (softmax(z) − onehot(target)))
//   correct[n] = weights[n] where the target is the first of the largest logits, else 0       (cross_entropy_evaluate)
//   ordered_sum: out = Σ values, in fp64 and in a fixed order: the sums of losses and of weights over a micro-batch
//
// Maximum and sum come from one online pass (Milakov & Gimelshein 2018). The gradient needs the logits once more: what
// `cached` packs of eight take is kept in shared memory, the rest is read from the end backwards, so that the second
// read finds what the first left in L2. Nothing of this changes a bit of the result: `cached` is free to choose.
// A token of weight zero reads nothing (its target may be anything, −100 too) and writes zeros. A target outside the
// vocabulary with a weight gives NaN, which stops the step by name.
//
// Layout: logits bf16[rows, stride], the first `vocabulary` columns count, the others are written as zero; stride: a
//         multiple of 8. targets i32[rows], weights, losses, correct f32[rows].
// Grid:   a block of 1024 threads a row, cached · 16 bytes of dynamic shared memory (evaluate: 512 threads, none).
//         ordered_sum: one block of 1024.
#include "softmax.cuh"

constexpr int THREADS = 1024, EVALUATE_THREADS = 512, AHEAD = 4, EVALUATE_AHEAD = 8;

// AHEAD packs of a row from `start`, a block's width apart, all in flight together; the first `cached` from the cache.
template <int THREADS, int AHEAD>
__device__ __forceinline__ void read_packs(const bf16 *row, int start, int packs, int vocabulary, int cached,
                                           const uint4 *cache, uint4 (&held)[AHEAD]) {
#pragma unroll
  for (int j = 0; j < AHEAD; ++j) {
    const int at = start + j * THREADS;
    held[j] = make_uint4(NOTHING, NOTHING, NOTHING, NOTHING);
    if (at < packs) held[j] = at < cached ? cache[at] : load16(row + size_t(at) * PACK);
  }
#pragma unroll
  for (int j = 0; j < AHEAD; ++j) held[j] = masked(held[j], (start + j * THREADS) * PACK, vocabulary);
}

// Each thread's share of a row; keeps the first `cached` packs in `cache`.
template <int THREADS, int AHEAD>
__device__ __forceinline__ Softmax online_pass(const bf16 *row, int packs, int vocabulary, int cached, uint4 *cache) {
  Softmax mine = {LOWEST, 0.0f};
  for (int start = threadIdx.x; start < packs; start += THREADS * AHEAD) {
    uint4 held[AHEAD];
    read_packs<THREADS, AHEAD>(row, start, packs, vocabulary, 0, nullptr, held);
#pragma unroll
    for (int j = 0; j < AHEAD; ++j)
      if (start + j * THREADS < cached) cache[start + j * THREADS] = held[j];
    add_packs(mine, held);
  }
  return mine;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    cross_entropy(bf16 *logits, const int *targets, const float *weights, float *losses, int rows, int vocabulary,
                  int stride, int cached) {
  extern __shared__ uint4 cache[];
  __shared__ float2 scratch[WARP];
  const int packs = stride / PACK, target = targets[blockIdx.x];
  const float weight = weights[blockIdx.x];
  bf16 *row = logits + size_t(blockIdx.x) * stride;
  if (weight == 0.0f) {
    for (int at = threadIdx.x; at < packs; at += THREADS) store16(row + size_t(at) * PACK, make_uint4(0, 0, 0, 0));
    if (threadIdx.x == 0) losses[blockIdx.x] = 0.0f;
    return;
  }
  const bool known = unsigned(target) < unsigned(vocabulary);
  const float at_target = known ? to_float(row[target]) : __int_as_float(0x7fc00000);
  // The barrier inside comes after every thread's read of the target's logit, which is overwritten below.
  const Softmax all = block_softmax(online_pass<THREADS, AHEAD>(row, packs, vocabulary, cached, cache), scratch);
  if (threadIdx.x == 0) losses[blockIdx.x] = weight * (all.maximum + logf(all.sum) - at_target);
  const float offset = all.maximum * LOG2_E, factor = known ? weight / all.sum : at_target;
  const int steps = (packs + THREADS * AHEAD - 1) / (THREADS * AHEAD);
  for (int step = steps - 1; step >= 0; --step) {
    const int start = step * THREADS * AHEAD + threadIdx.x;
    uint4 held[AHEAD];
    read_packs<THREADS, AHEAD>(row, start, packs, vocabulary, cached, cache, held);
#pragma unroll
    for (int j = 0; j < AHEAD; ++j) {
      const int at = start + j * THREADS;
      if (at >= packs) break;
      float z[PACK];
      unpack(held[j], z);
      for (int i = 0; i < PACK; ++i) z[i] = factor * power(z[i] * LOG2_E - offset);
      if (at == target / PACK)
        for (int i = 0; i < PACK; ++i) z[i] -= i == target % PACK ? weight : 0.0f;
      store16(row + size_t(at) * PACK, packed(z));
    }
  }
}

extern "C" __global__ void __launch_bounds__(EVALUATE_THREADS)
    cross_entropy_evaluate(const bf16 *logits, const int *targets, const float *weights, float *losses, float *correct,
                           int rows, int vocabulary, int stride) {
  __shared__ float2 scratch[WARP];
  __shared__ int earliest;
  const int packs = stride / PACK, target = targets[blockIdx.x];
  const float weight = weights[blockIdx.x];
  const bf16 *row = logits + size_t(blockIdx.x) * stride;
  if (weight == 0.0f) {
    if (threadIdx.x == 0) losses[blockIdx.x] = correct[blockIdx.x] = 0.0f;
    return;
  }
  if (threadIdx.x == 0) earliest = vocabulary;
  const Softmax all = block_softmax(
      online_pass<EVALUATE_THREADS, EVALUATE_AHEAD>(row, packs, vocabulary, 0, nullptr), scratch);
  const bool known = unsigned(target) < unsigned(vocabulary);
  const float at_target = known ? to_float(row[target]) : __int_as_float(0x7fc00000);
  if (at_target == all.maximum)  // only then does it matter which of equals comes first
    for (int column = threadIdx.x; column < target; column += EVALUATE_THREADS)
      if (to_float(row[column]) == all.maximum) atomicMin(&earliest, column);
  __syncthreads();
  if (threadIdx.x != 0) return;
  losses[blockIdx.x] = weight * (all.maximum + logf(all.sum) - at_target);
  correct[blockIdx.x] = at_target == all.maximum && earliest == vocabulary ? weight : 0.0f;
}

extern "C" __global__ void __launch_bounds__(THREADS) ordered_sum(const float *values, float *out, int count) {
  __shared__ double scratch[WARP];
  double mine = 0.0;
  for (int at = threadIdx.x; at < count; at += THREADS) mine += double(values[at]);
  const double sum = block_sum(mine, scratch);
  if (threadIdx.x == 0) out[0] = float(sum);
}
