// Sums over rows, in a fixed order: the second stage of weight gradients, and the gradient of a bias.
//
//   column_sum:          out[c] = Σ partials[r, c]: thread (c, y) adds rows y, y + 16, … in order, then the sixteen
//                        sums are added in order
//   bias_backward_strip: partials[block, c] = Σ dy[r, c] over the block's `strip` rows, in order
//
// Layout: column_sum: partials f32[rows, width] → out f32[width]. bias_backward_strip: dy bf16[rows, width], width a
//         multiple of 8 → partials f32[blocks, width].
// Grid:   column_sum: width / 32 blocks of 32 × 16 threads. bias_backward_strip: (strips, width / 512) blocks of 64
//         threads, eight columns a thread.
#include "bf16.cuh"

constexpr int COLUMNS = 32, LANES = 16;

extern "C" __global__ void __launch_bounds__(COLUMNS *LANES)
    column_sum(const float *partials, float *out, int rows, int width) {
  __shared__ float sums[LANES][COLUMNS];
  const int column = blockIdx.x * COLUMNS + threadIdx.x;
  float sum = 0.0f;
  if (column < width)
#pragma unroll 4
    for (int row = threadIdx.y; row < rows; row += LANES) sum += partials[size_t(row) * width + column];
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || column >= width) return;
  for (int lane = 1; lane < LANES; ++lane) sum += sums[lane][threadIdx.x];
  out[column] = sum;
}

extern "C" __global__ void __launch_bounds__(64)
    bias_backward_strip(const bf16 *dy, float *partials, int rows, int width, int strip) {
  const int column = (blockIdx.y * blockDim.x + threadIdx.x) * PACK;
  if (column >= width) return;
  const int first = blockIdx.x * strip, end = min(first + strip, rows);
  float total[PACK] = {};
#pragma unroll 4
  for (int row = first; row < end; ++row) {
    float d[PACK];
    unpack(load16(dy + size_t(row) * width + column), d);
    for (int i = 0; i < PACK; ++i) total[i] += d[i];
  }
  store_floats(partials + size_t(blockIdx.x) * width + column, total);
}
