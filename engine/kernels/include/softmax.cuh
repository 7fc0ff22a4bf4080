// The running maximum and the sum of exponentials of a row of logits (Milakov & Gimelshein 2018).
#pragma once
#include "bf16.cuh"
#include "reduce.cuh"

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

// The larger of each half, as bf16; a NaN loses here, but not in the exponential
__device__ __forceinline__ unsigned larger(unsigned a, unsigned b) {
  unsigned c;
  asm("max.bf16x2 %0, %1, %2;" : "=r"(c) : "r"(a), "r"(b));
  return c;
}

// Several packs at once, so that the sum is rescaled once for all of them. Their maximum is found two by two.
template <int COUNT>
__device__ __forceinline__ void add_packs(Softmax &a, const uint4 (&packs)[COUNT]) {
  unsigned pair = packs[0].x;
#pragma unroll
  for (int j = 0; j < COUNT; ++j)
    pair = larger(pair, larger(larger(packs[j].x, packs[j].y), larger(packs[j].z, packs[j].w)));
  const float maximum =
      fmaxf(a.maximum, fmaxf(__uint_as_float(pair << 16), __uint_as_float(pair & 0xffff0000u)));
  const float offset = maximum * LOG2_E;
  float sum = 0.0f;
#pragma unroll
  for (int j = 0; j < COUNT; ++j) {
    float z[PACK];
    unpack(packs[j], z);
    for (int i = 0; i < PACK; ++i) sum += power(z[i] * LOG2_E - offset);
  }
  a.sum = a.sum * power((a.maximum - maximum) * LOG2_E) + sum;
  a.maximum = maximum;
}

constexpr unsigned NOTHING = 0xff80ff80u;  // −∞ twice: exp2(−∞) is 0

// A pack whose columns past the vocabulary do not count.
__device__ __forceinline__ uint4 masked(uint4 pack, int column, int vocabulary) {
  if (column + PACK <= vocabulary) return pack;
  unsigned words[4] = {pack.x, pack.y, pack.z, pack.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (column + 2 * i >= vocabulary) words[i] = NOTHING;
    else if (column + 2 * i + 1 >= vocabulary) words[i] = (words[i] & 0xffffu) | (NOTHING & 0xffff0000u);
  }
  return make_uint4(words[0], words[1], words[2], words[3]);
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
