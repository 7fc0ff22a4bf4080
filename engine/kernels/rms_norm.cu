// Residual add + RMSNorm (Zhang & Sennrich 2019) over rows of a [rows, width] array.
//
//   forward    s = bf16(x + residual)                      (s = x where residual is null; then `sum` is not written)
//              rstd = 1 / sqrt(mean(s²) + eps),  y = bf16(s · rstd · weight)
//   backward   g = dy · weight
//              dx = bf16(dresidual + rstd · (g − s · rstd² · mean(g · s)))          (dresidual may be null: 0)
//              dweight = Σ over rows of dy · s · rstd:  partials[block] = the sum over the block's rows, in order;
//              column_sum adds the blocks. Only in rms_norm_weight_backward.
//
// What is normalised is the rounded sum, so the backward that reads it differentiates exactly what was calculated, and
// the fused op equals add followed by rms_norm.
//
// Layout: x, residual, sum, y, dy, dresidual, dx bf16[rows, width]; weight bf16[width]; rstd f32[rows];
//         partials f32[blocks, width]. width: a multiple of 8, at most 8192. sum may be x or residual, dx may be dy or
//         dresidual: each element is read before it is written, by the same thread.
// Grid:   a block a row (weight gradient: a block for each strip of consecutive rows), width / 16 threads, at least 32;
//         a thread holds two packs of eight. One barrier a row.
#include "bf16.cuh"
#include "reduce.cuh"

constexpr int HELD = 2;  // packs a thread
constexpr int THREADS = 512;

extern "C" __global__ void __launch_bounds__(THREADS)
    rms_norm_forward(const bf16 *x, const bf16 *residual, const bf16 *weight, bf16 *sum, bf16 *y, float *rstd,
                     int rows, int width, float eps) {
  __shared__ float scratch[WARP];
  const size_t row = size_t(blockIdx.x) * width;
  uint4 a[HELD], b[HELD], w[HELD];
#pragma unroll
  for (int j = 0; j < HELD; ++j) {
    const int column = (threadIdx.x + j * blockDim.x) * PACK;
    a[j] = b[j] = w[j] = make_uint4(0, 0, 0, 0);
    if (column < width) {
      a[j] = load16(x + row + column);
      if (residual) b[j] = load16(residual + row + column);
      w[j] = load16(weight + column);
    }
  }
  float squares = 0.0f;
#pragma unroll
  for (int j = 0; j < HELD; ++j) {
    const int column = (threadIdx.x + j * blockDim.x) * PACK;
    float s[PACK], r[PACK];
    if (residual) {
      unpack(a[j], s);
      unpack(b[j], r);
      for (int i = 0; i < PACK; ++i) s[i] += r[i];
      a[j] = packed(s);
      if (column < width) store16(sum + row + column, a[j]);
    }
    unpack(a[j], s);
    for (int i = 0; i < PACK; ++i) squares += s[i] * s[i];
  }
  const float scale = rsqrtf(block_sum(squares, scratch) / width + eps);
  if (threadIdx.x == 0) rstd[blockIdx.x] = scale;
#pragma unroll
  for (int j = 0; j < HELD; ++j) {
    const int column = (threadIdx.x + j * blockDim.x) * PACK;
    if (column >= width) continue;
    float s[PACK], v[PACK];
    unpack(a[j], s);
    unpack(w[j], v);
    for (int i = 0; i < PACK; ++i) s[i] = s[i] * scale * v[i];
    store16(y + row + column, packed(s));
  }
}

struct Row {
  uint4 dy[HELD], s[HELD], dresidual[HELD];
  float rstd;
};

__device__ __forceinline__ Row read_row(const bf16 *dy, const bf16 *s, const float *rstd, const bf16 *dresidual,
                                        int row, int width) {
  Row out;
  const size_t start = size_t(row) * width;
#pragma unroll
  for (int j = 0; j < HELD; ++j) {
    const int column = (threadIdx.x + j * blockDim.x) * PACK;
    out.dy[j] = out.s[j] = out.dresidual[j] = make_uint4(0, 0, 0, 0);
    if (column < width) {
      out.dy[j] = load16(dy + start + column);
      out.s[j] = load16(s + start + column);
      if (dresidual) out.dresidual[j] = load16(dresidual + start + column);
    }
  }
  out.rstd = rstd[row];
  return out;
}

// One row's dx; adds dy · s · rstd to `total` where WEIGHT.
template <bool WEIGHT>
__device__ __forceinline__ void finish_row(const Row &in, const bf16 *weight, bf16 *dx, int width, float *scratch,
                                           float (&total)[HELD][PACK]) {
  float dot = 0.0f;
#pragma unroll
  for (int j = 0; j < HELD; ++j) {
    const int column = (threadIdx.x + j * blockDim.x) * PACK;
    float d[PACK], s[PACK], w[PACK];
    unpack(in.dy[j], d);
    unpack(in.s[j], s);
    unpack(column < width ? load16(weight + column) : make_uint4(0, 0, 0, 0), w);
    for (int i = 0; i < PACK; ++i) {
      dot += d[i] * w[i] * s[i];
      if (WEIGHT) total[j][i] += d[i] * (s[i] * in.rstd);
    }
  }
  const float mean = block_sum(dot, scratch) / width * in.rstd * in.rstd;
#pragma unroll
  for (int j = 0; j < HELD; ++j) {
    const int column = (threadIdx.x + j * blockDim.x) * PACK;
    if (column >= width) continue;
    float d[PACK], s[PACK], w[PACK], r[PACK];
    unpack(in.dy[j], d);
    unpack(in.s[j], s);
    unpack(load16(weight + column), w);
    unpack(in.dresidual[j], r);
    for (int i = 0; i < PACK; ++i) d[i] = r[i] + in.rstd * (d[i] * w[i] - s[i] * mean);
    store16(dx + column, packed(d));
  }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    rms_norm_backward(const bf16 *dy, const bf16 *s, const bf16 *weight, const float *rstd, const bf16 *dresidual,
                      bf16 *dx, int rows, int width) {
  __shared__ float scratch[WARP];
  float unused[HELD][PACK];
  const Row row = read_row(dy, s, rstd, dresidual, blockIdx.x, width);
  finish_row<false>(row, weight, dx + size_t(blockIdx.x) * width, width, scratch, unused);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    rms_norm_weight_backward(const bf16 *dy, const bf16 *s, const bf16 *weight, const float *rstd,
                             const bf16 *dresidual, bf16 *dx, float *partials, int rows, int width, int strip) {
  __shared__ float scratch[2][WARP];
  float total[HELD][PACK] = {};
  const int first = blockIdx.x * strip, end = min(first + strip, rows);
  Row next = read_row(dy, s, rstd, dresidual, first, width);
  for (int row = first; row < end; ++row) {
    const Row current = next;
    if (row + 1 < end) next = read_row(dy, s, rstd, dresidual, row + 1, width);  // in flight across the barrier
    finish_row<true>(current, weight, dx + size_t(row) * width, width, scratch[row & 1], total);
  }
#pragma unroll
  for (int j = 0; j < HELD; ++j) {
    const int column = (threadIdx.x + j * blockDim.x) * PACK;
    if (column < width) store_floats(partials + size_t(blockIdx.x) * width + column, total[j]);
  }
}
