// RMSNorm of each q and k head (where the model has one) and rotary positions, on the packed output of one QKV GEMM.
//
//   rope_table   table[n, i] = scaling · (cos, sin)(positions[n] · frequencies[i]), angles in fp32, once a micro-batch
//   forward      n = x · rstd · weight, rstd = 1 / sqrt(mean(x²) + eps) over the head      (n = x without weights)
//                (y₁, y₂) = (n₁ cos − n₂ sin, n₂ cos + n₁ sin), the halves of a head (Su et al. 2021, HF's layout)
//   backward     g = dy turned back;  dx = rstd · (g · weight − x · rstd² · mean(g · weight · x))
//                dweight = Σ over tokens and heads of g · x · rstd: partials a block (qk_norm_rope_weight_backward),
//                which column_sum adds. rstd is formed again from x: nothing is saved.
//
// Layout: a row of qkv holds q_heads, then k_heads, then the v heads, each head_dim wide (a multiple of 16, at most
//         512); rows are `…_stride` elements apart (a multiple of 8). Only q and k heads are touched. y may be qkv
//         where there are no weights (with weights the backward needs x); dx may be dy. table f32[tokens, head_dim / 2,
//         2]; weights bf16[head_dim], both null or neither. partials f32[blocks, 2, head_dim]: q, then k.
// Grid:   head_dim / 16 lanes (rounded up to a power of two) do one or two heads of a token, eight elements of each
//         half a lane; 128 threads a block. Weight gradient: `blocks` blocks stride over the same work.
#include "bf16.cuh"
#include "reduce.cuh"

constexpr int THREADS = 128;
// Heads a thread has in flight: more of them share the table's sines, fewer leave registers for more threads.
constexpr int FORWARD_HEADS = 2, BACKWARD_HEADS = 1, WEIGHT_HEADS = 2;

extern "C" __global__ void __launch_bounds__(THREADS)
    rope_table(const int *positions, const float *frequencies, float *table, int tokens, int half, float scaling) {
  const long long index = (long long)blockIdx.x * THREADS + threadIdx.x;
  if (index >= (long long)tokens * half) return;
  float sine, cosine;
  sincosf(float(positions[index / half]) * frequencies[index % half], &sine, &cosine);
  reinterpret_cast<float2 *>(table)[index] = make_float2(cosine * scaling, sine * scaling);
}

// What a thread works on: heads from `first` of a token, elements column … + 7 of both halves.
struct Work {
  int token, first, column, lanes;
  bool active;
  float cosine[PACK], sine[PACK];
};

template <int HEADS>
__device__ __forceinline__ Work work_of(long long index, const float *table, int tokens, int heads, int head_dim) {
  Work work;
  work.lanes = 1;
  while (work.lanes * 2 * PACK < head_dim) work.lanes *= 2;
  const int lane = threadIdx.x & (work.lanes - 1), groups = (heads + HEADS - 1) / HEADS;
  const int item = int(index / work.lanes);
  work.token = item / groups;
  work.first = (item - work.token * groups) * HEADS;
  work.column = lane * PACK;
  work.active = work.token < tokens && work.column < head_dim / 2;
#pragma unroll
  for (int i = 0; i < PACK; i += 2) {
    const float *at = table + (size_t(work.token) * (head_dim / 2) + work.column + i) * 2;
    const float4 turn = work.active ? *reinterpret_cast<const float4 *>(at) : make_float4(0, 0, 0, 0);
    work.cosine[i] = turn.x, work.sine[i] = turn.y, work.cosine[i + 1] = turn.z, work.sine[i + 1] = turn.w;
  }
  return work;
}

// The sum over the lanes of a head; every lane of the warp takes part.
__device__ __forceinline__ float head_sum(float x, int lanes) {
  for (int offset = lanes / 2; offset; offset /= 2) x += __shfl_xor_sync(ALL_LANES, x, offset);
  return x;
}

__device__ __forceinline__ void read_halves(const bf16 *start, int half, float (&a)[PACK], float (&b)[PACK]) {
  unpack(load16(start), a);
  unpack(load16(start + half), b);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    qk_norm_rope_forward(const bf16 *qkv, const bf16 *q_weight, const bf16 *k_weight, const float *table, bf16 *y,
                         int tokens, int q_heads, int k_heads, int head_dim, int stride, int y_stride, float eps) {
  constexpr int HEADS = FORWARD_HEADS;
  const int heads = q_heads + k_heads, half = head_dim / 2;
  const Work work = work_of<HEADS>((long long)blockIdx.x * THREADS + threadIdx.x, table, tokens, heads, head_dim);
  uint4 packs[HEADS][2];
#pragma unroll
  for (int j = 0; j < HEADS; ++j) {
    const int head = work.first + j;
    packs[j][0] = packs[j][1] = make_uint4(0, 0, 0, 0);
    if (!work.active || head >= heads) continue;
    const bf16 *start = qkv + size_t(work.token) * stride + head * head_dim + work.column;
    packs[j][0] = load16(start);
    packs[j][1] = load16(start + half);
  }
#pragma unroll
  for (int j = 0; j < HEADS; ++j) {
    const int head = work.first + j;
    const bool present = work.active && head < heads;
    float a[PACK], b[PACK];
    unpack(packs[j][0], a);
    unpack(packs[j][1], b);
    if (q_weight) {
      float squares = 0.0f, wa[PACK] = {}, wb[PACK] = {};
      for (int i = 0; i < PACK; ++i) squares += a[i] * a[i] + b[i] * b[i];
      const float rstd = rsqrtf(head_sum(squares, work.lanes) / head_dim + eps);
      if (present) read_halves((head < q_heads ? q_weight : k_weight) + work.column, half, wa, wb);
      for (int i = 0; i < PACK; ++i) a[i] *= rstd * wa[i], b[i] *= rstd * wb[i];
    }
    if (!present) continue;
    float first[PACK], second[PACK];
    for (int i = 0; i < PACK; ++i) {
      first[i] = a[i] * work.cosine[i] - b[i] * work.sine[i];
      second[i] = b[i] * work.cosine[i] + a[i] * work.sine[i];
    }
    bf16 *out = y + size_t(work.token) * y_stride + head * head_dim + work.column;
    store16(out, packed(first));
    store16(out + half, packed(second));
  }
}

// The gradients of one thread's heads; adds to total[q or k][half] where WEIGHT.
template <int HEADS, bool WEIGHT>
__device__ __forceinline__ void work_backward(const Work &work, const bf16 *dy, const bf16 *qkv, const bf16 *q_weight,
                                              const bf16 *k_weight, bf16 *dx, int q_heads, int heads, int head_dim,
                                              int dy_stride, int stride, int dx_stride, float eps,
                                              float (&total)[2][2][PACK]) {
  const int half = head_dim / 2;
  uint4 packs[HEADS][4];
#pragma unroll
  for (int j = 0; j < HEADS; ++j) {  // loads first, so that they are in flight together
    const int head = work.first + j, at = head * head_dim + work.column;
    packs[j][0] = packs[j][1] = packs[j][2] = packs[j][3] = make_uint4(0, 0, 0, 0);
    if (!work.active || head >= heads) continue;
    const bf16 *upstream = dy + size_t(work.token) * dy_stride + at, *x = qkv + size_t(work.token) * stride + at;
    packs[j][0] = load16(upstream), packs[j][1] = load16(upstream + half);
    if (q_weight) packs[j][2] = load16(x), packs[j][3] = load16(x + half);
  }
#pragma unroll
  for (int j = 0; j < HEADS; ++j) {
    const int head = work.first + j, at = head * head_dim + work.column;
    const bool present = work.active && head < heads;
    float first[PACK], second[PACK], a[PACK], b[PACK];
    unpack(packs[j][0], first), unpack(packs[j][1], second), unpack(packs[j][2], a), unpack(packs[j][3], b);
    for (int i = 0; i < PACK; ++i) {
      const float g = first[i] * work.cosine[i] + second[i] * work.sine[i];
      second[i] = second[i] * work.cosine[i] - first[i] * work.sine[i];
      first[i] = g;
    }
    if (q_weight) {
      const bool is_q = head < q_heads;
      float wa[PACK] = {}, wb[PACK] = {}, squares = 0.0f, dot = 0.0f;
      if (present) read_halves((is_q ? q_weight : k_weight) + work.column, half, wa, wb);
      for (int i = 0; i < PACK; ++i) {
        squares += a[i] * a[i] + b[i] * b[i];
        dot += first[i] * wa[i] * a[i] + second[i] * wb[i] * b[i];
      }
      const float rstd = rsqrtf(head_sum(squares, work.lanes) / head_dim + eps);
      const float mean = head_sum(dot, work.lanes) / head_dim * rstd * rstd;
      for (int i = 0; i < PACK; ++i) {
        if (WEIGHT) {
          const float da = first[i] * (a[i] * rstd), db = second[i] * (b[i] * rstd);
          total[0][0][i] += is_q ? da : 0.0f, total[0][1][i] += is_q ? db : 0.0f;
          total[1][0][i] += is_q ? 0.0f : da, total[1][1][i] += is_q ? 0.0f : db;
        }
        first[i] = rstd * (first[i] * wa[i] - a[i] * mean);
        second[i] = rstd * (second[i] * wb[i] - b[i] * mean);
      }
    }
    if (!present) continue;
    bf16 *out = dx + size_t(work.token) * dx_stride + at;
    store16(out, packed(first));
    store16(out + half, packed(second));
  }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    qk_norm_rope_backward(const bf16 *dy, const bf16 *qkv, const bf16 *q_weight, const bf16 *k_weight,
                          const float *table, bf16 *dx, int tokens, int q_heads, int k_heads, int head_dim,
                          int dy_stride, int stride, int dx_stride, float eps) {
  const int heads = q_heads + k_heads;
  float unused[2][2][PACK];
  const long long index = (long long)blockIdx.x * THREADS + threadIdx.x;
  const Work work = work_of<BACKWARD_HEADS>(index, table, tokens, heads, head_dim);
  work_backward<BACKWARD_HEADS, false>(work, dy, qkv, q_weight, k_weight, dx, q_heads, heads, head_dim, dy_stride,
                                       stride, dx_stride, eps, unused);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    qk_norm_rope_weight_backward(const bf16 *dy, const bf16 *qkv, const bf16 *q_weight, const bf16 *k_weight,
                                 const float *table, bf16 *dx, float *partials, int tokens, int q_heads, int k_heads,
                                 int head_dim, int dy_stride, int stride, int dx_stride, float eps) {
  __shared__ float sums[THREADS * 2 * 2 * PACK];
  const int heads = q_heads + k_heads, half = head_dim / 2;
  float total[2][2][PACK] = {};
  const long long groups = (heads + WEIGHT_HEADS - 1) / WEIGHT_HEADS;
  int lanes = 1;
  while (lanes * 2 * PACK < head_dim) lanes *= 2;
  const long long work_items = groups * tokens * lanes;
  for (long long start = (long long)blockIdx.x * THREADS; start < work_items; start += (long long)gridDim.x * THREADS) {
    const Work work = work_of<WEIGHT_HEADS>(start + threadIdx.x, table, tokens, heads, head_dim);
    work_backward<WEIGHT_HEADS, true>(work, dy, qkv, q_weight, k_weight, dx, q_heads, heads, head_dim, dy_stride,
                                      stride, dx_stride, eps, total);
  }
  const int column = threadIdx.x % lanes * PACK, group = threadIdx.x / lanes;
  if (column < half)
    for (int which = 0; which < 2; ++which)
      for (int side = 0; side < 2; ++side)
        for (int i = 0; i < PACK; ++i)
          sums[(group * 2 + which) * head_dim + side * half + column + i] = total[which][side][i];
  __syncthreads();
  for (int at = threadIdx.x; at < 2 * head_dim; at += THREADS) {
    float sum = 0.0f;
    for (int g = 0; g < THREADS / lanes; ++g) sum += sums[g * 2 * head_dim + at];
    partials[size_t(blockIdx.x) * 2 * head_dim + at] = sum;
  }
}
