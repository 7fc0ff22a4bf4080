// Reductions whose order depends on the launch shape alone: butterflies within a warp, warps in ascending order.
#pragma once

constexpr int WARP = 32;
constexpr unsigned ALL_LANES = 0xffffffffu;

template <typename T>
__device__ __forceinline__ T warp_sum(T x) {
#pragma unroll
  for (int offset = WARP / 2; offset; offset /= 2) x += __shfl_xor_sync(ALL_LANES, x, offset);
  return x;
}

// The sum over the block, in every thread. scratch[32] must not be in use by an earlier reduction that some warp may
// still be reading: alternate between two where reductions follow one another without a barrier.
template <typename T>
__device__ __forceinline__ T block_sum(T x, T *scratch) {
  const int warps = blockDim.x / WARP, lane = threadIdx.x % WARP;
  x = warp_sum(x);
  if (warps == 1) return x;
  if (lane == 0) scratch[threadIdx.x / WARP] = x;
  __syncthreads();
  return warp_sum(lane < warps ? scratch[lane] : T(0));
}
