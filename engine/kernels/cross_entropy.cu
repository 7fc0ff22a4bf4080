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
#include "bf16.cuh"
#include "reduce.cuh"

constexpr int THREADS = 1024, EVALUATE_THREADS = 512, AHEAD = 4, EVALUATE_AHEAD = 8;
constexpr float LOG2_E = 1.4426950408889634f, LOWEST = -1e30f;  // below any logit, and finite: LOWEST − LOWEST is 0

// exp2 at the rate of the hardware: relative error 2^-22, far below a bf16's 2^-9
__device__ __forceinline__ float power(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// A running maximum and the sum of exp(z − maximum).
struct Softmax {
  float maximum, sum;
};

__device__ __forceinline__ void join(Softmax &a, float maximum, float sum) {
  const float both = fmaxf(a.maximum, maximum);
  a.sum = a.sum * power((a.maximum - both) * LOG2_E) + sum * power((maximum - both) * LOG2_E);
  a.maximum = both;
}

__device__ __forceinline__ void add_pack(Softmax &a, const float (&z)[PACK]) {
  float maximum = z[0], sum = 0.0f;
  for (int i = 1; i < PACK; ++i) maximum = fmaxf(maximum, z[i]);
  maximum = fmaxf(maximum, a.maximum);
  const float offset = maximum * LOG2_E;
  for (int i = 0; i < PACK; ++i) sum += power(z[i] * LOG2_E - offset);
  a.sum = a.sum * power((a.maximum - maximum) * LOG2_E) + sum;
  a.maximum = maximum;
}

// Columns past the vocabulary must not count: exp2(−∞) is 0.
__device__ __forceinline__ void read_logits(uint4 pack, int column, int vocabulary, float (&z)[PACK]) {
  unpack(pack, z);
  if (column + PACK > vocabulary)
    for (int i = 0; i < PACK; ++i) z[i] = column + i < vocabulary ? z[i] : __int_as_float(0xff800000);
}

// Of the whole block, the same in every thread; scratch[32].
__device__ __forceinline__ Softmax block_softmax(Softmax mine, float2 *scratch) {
#pragma unroll
  for (int offset = WARP / 2; offset; offset /= 2)
    join(mine, __shfl_xor_sync(ALL_LANES, mine.maximum, offset), __shfl_xor_sync(ALL_LANES, mine.sum, offset));
  if (threadIdx.x % WARP == 0) scratch[threadIdx.x / WARP] = make_float2(mine.maximum, mine.sum);
  __syncthreads();
  Softmax all = {LOWEST, 0.0f};
  if (threadIdx.x % WARP < blockDim.x / WARP) all = {scratch[threadIdx.x % WARP].x, scratch[threadIdx.x % WARP].y};
#pragma unroll
  for (int offset = WARP / 2; offset; offset /= 2)
    join(all, __shfl_xor_sync(ALL_LANES, all.maximum, offset), __shfl_xor_sync(ALL_LANES, all.sum, offset));
  // Lanes may differ in the last bit, since a fused multiply-add rounds one of its two products only.
  return {__shfl_sync(ALL_LANES, all.maximum, 0), __shfl_sync(ALL_LANES, all.sum, 0)};
}

// Each thread's share of a row, AHEAD packs in flight; keeps the first `cached` packs in `cache`.
template <int THREADS, int AHEAD>
__device__ __forceinline__ Softmax online_pass(const bf16 *row, int packs, int vocabulary, int cached, uint4 *cache) {
  Softmax mine = {LOWEST, 0.0f};
  for (int start = threadIdx.x; start < packs; start += THREADS * AHEAD) {
    uint4 held[AHEAD];
#pragma unroll
    for (int j = 0; j < AHEAD; ++j)
      if (start + j * THREADS < packs) held[j] = load16(row + size_t(start + j * THREADS) * PACK);
#pragma unroll
    for (int j = 0; j < AHEAD; ++j) {
      const int at = start + j * THREADS;
      if (at >= packs) break;
      if (at < cached) cache[at] = held[j];
      float z[PACK];
      read_logits(held[j], at * PACK, vocabulary, z);
      add_pack(mine, z);
    }
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
#pragma unroll
    for (int j = 0; j < AHEAD; ++j) {
      const int at = start + j * THREADS;
      if (at < packs) held[j] = at < cached ? cache[at] : load16(row + size_t(at) * PACK);
    }
#pragma unroll
    for (int j = 0; j < AHEAD; ++j) {
      const int at = start + j * THREADS;
      if (at >= packs) break;
      float z[PACK];
      read_logits(held[j], at * PACK, vocabulary, z);
      for (int i = 0; i < PACK; ++i)
        z[i] = factor * power(z[i] * LOG2_E - offset) - (at * PACK + i == target ? weight : 0.0f);
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
