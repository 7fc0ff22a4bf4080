// AdamW with 8-bit state: 2.125 bytes a parameter for both moments. Guarded and rounded as in adamw.cu.
//
//   blocks of 32 elements, each with one scale for m and one for sqrt(v): the block's largest magnitude, as a bf16
//   rounded up, so that no quotient exceeds 1 and the scale that encodes is the one that decodes
//   m        code = round(127 · 2r / (1 + |r|)), r = m / scale: softsign spends its codes on small values
//            r = z / (2 − |z|), z = code / 127
//   sqrt(v)  code = round(255 · sqrt(v) / scale), but at least 1 where v > 0: a v that became 0 would make the step
//            m / epsilon
//   A block of zeros has scale 0 and codes 0 and decodes to zeros.
//
// Layout: parameter bf16 (adamw_8bit_bf16: stochastic rounding) or f32 (adamw_8bit_f32, with working bf16 or null)
//         [count]; gradient f32[count]; m_codes i8[count], v_codes u8[count], m_scales, v_scales bf16[count / 32,
//         rounded up].
// Grid:   a thread eight elements, four lanes a block of 32; 256 threads a block.
#include "adamw.cuh"
#include "philox.cuh"
#include "pieces.cuh"
#include "reduce.cuh"

constexpr int LANES = 4;  // of eight elements: one block of 32

struct State {
  signed char *m_codes;
  unsigned char *v_codes;
  bf16 *m_scales, *v_scales;
};

// Integers are turned to and from fp32 by adding a large number, whose last place is 1: conversion instructions come at
// an eighth of the rate.
constexpr float SHIFT = 8388608.0f;             // 2^23: the bits of SHIFT + n end in n
constexpr float ROUNDING = 12582912.0f;         // 1.5 · 2^23: the same for n of both signs, rounded to nearest even
constexpr unsigned SHIFT_BITS = 0x4b000000u;
constexpr float SMALLEST = 1.17549435e-38f;     // 2^-126: quotients by less are not defined

__device__ __forceinline__ float byte_of(uint2 codes, int i) {
  return __uint_as_float(__byte_perm(i < 4 ? codes.x : codes.y, SHIFT_BITS, 0x7650 + i % 4)) - SHIFT;
}

__device__ __forceinline__ unsigned rounded_byte(float x) { return __float_as_uint(x + ROUNDING) & 0xffu; }

__device__ __forceinline__ uint2 read_codes(const void *codes, Piece piece) {
  const unsigned char *from = static_cast<const unsigned char *>(codes) + piece.start;
  if (piece.size == PACK) return *reinterpret_cast<const uint2 *>(from);
  unsigned words[2] = {0, 0};
#pragma unroll
  for (int i = 0; i < PACK; ++i)
    if (i < piece.size) words[i / 4] |= unsigned(from[i]) << 8 * (i % 4);
  return make_uint2(words[0], words[1]);
}

__device__ __forceinline__ void write_codes(void *codes, Piece piece, const unsigned (&bytes)[PACK]) {
  unsigned char *to = static_cast<unsigned char *>(codes) + piece.start;
  if (piece.size == PACK) {
    *reinterpret_cast<uint2 *>(to) = make_uint2(bytes[0] | bytes[1] << 8 | bytes[2] << 16 | bytes[3] << 24,
                                                bytes[4] | bytes[5] << 8 | bytes[6] << 16 | bytes[7] << 24);
    return;
  }
#pragma unroll
  for (int i = 0; i < PACK; ++i)
    if (i < piece.size) to[i] = (unsigned char)bytes[i];
}

__device__ __forceinline__ float block_maximum(float x) {
  for (int offset = LANES / 2; offset; offset /= 2) x = fmaxf(x, __shfl_xor_sync(ALL_LANES, x, offset));
  return x;
}

__device__ __forceinline__ bf16 rounded_up(float x) {
  return bf16(min((__float_as_uint(x) + 0xffffu) >> 16, 0x7f7fu));  // the largest finite one at most
}

__device__ __forceinline__ void decode(const State &state, Piece piece, float (&m)[PACK], float (&v)[PACK]) {
  uint2 m_codes = read_codes(state.m_codes, piece);
  const uint2 v_codes = read_codes(state.v_codes, piece);
  const long long block = piece.start / (PACK * LANES);
  const float m_scale = piece.size ? to_float(state.m_scales[block]) : 0.0f;
  const float v_scale = piece.size ? to_float(state.v_scales[block]) * (1.0f / 255.0f) : 0.0f;
  m_codes.x ^= 0x80808080u, m_codes.y ^= 0x80808080u;  // signed bytes become their distance from −128
#pragma unroll
  for (int i = 0; i < PACK; ++i) {
    const float code = byte_of(m_codes, i) - 128.0f, root = byte_of(v_codes, i) * v_scale;
    m[i] = m_scale * __fdividef(code, 254.0f - fabsf(code));
    v[i] = root * root;
  }
}

// All lanes of the warp take part.
__device__ __forceinline__ void encode(const State &state, Piece piece, const float (&m)[PACK],
                                       const float (&roots)[PACK]) {
  float m_largest = 0.0f, root_largest = 0.0f;
#pragma unroll
  for (int i = 0; i < PACK; ++i) {
    m_largest = fmaxf(m_largest, fabsf(m[i]));
    root_largest = fmaxf(root_largest, roots[i]);
  }
  const bf16 m_rounded = rounded_up(block_maximum(m_largest)), v_rounded = rounded_up(block_maximum(root_largest));
  const float m_scale = to_float(m_rounded), v_scale = to_float(v_rounded);
  const float v_share = v_scale > 0.0f ? 255.0f / v_scale : 0.0f;
  unsigned m_codes[PACK], v_codes[PACK];
#pragma unroll
  for (int i = 0; i < PACK; ++i) {
    // 2r / (1 + |r|) with r = m / scale, in one division
    m_codes[i] = rounded_byte(m_scale >= SMALLEST ? __fdividef(254.0f * m[i], m_scale + fabsf(m[i])) : 0.0f);
    v_codes[i] = max(rounded_byte(roots[i] * v_share), roots[i] > 0.0f ? 1u : 0u);
  }
  if (piece.size == 0) return;
  write_codes(state.m_codes, piece, m_codes);
  write_codes(state.v_codes, piece, v_codes);
  if (threadIdx.x % LANES != 0) return;
  state.m_scales[piece.start / (PACK * LANES)] = m_rounded;
  state.v_scales[piece.start / (PACK * LANES)] = v_rounded;
}

extern "C" __global__ void __launch_bounds__(256)
    adamw_8bit_f32(float *parameter, signed char *m_codes, unsigned char *v_codes, bf16 *m_scales, bf16 *v_scales,
                   const float *gradient, bf16 *working, const float *decision, const float *limits,
                   const long long *optimizer_step, long long count, float beta2, float log_beta1, float log_beta2,
                   float epsilon, float weight_decay) {
  if (decision[1] == 0.0f) return;
  __shared__ AdamW a;
  const Piece piece = piece_of(thread_index(), count);
  const State state = {m_codes, v_codes, m_scales, v_scales};
  float p[PACK], m[PACK], v[PACK], g[PACK];
  read_piece(parameter, piece, p);
  read_piece(gradient, piece, g);
  decode(state, piece, m, v);
  if (threadIdx.x == 0)  // once a block: arithmetic, not memory, is what is scarce here
    a = adamw_of(decision, limits, optimizer_step, beta2, log_beta1, log_beta2, epsilon, weight_decay);
  __syncthreads();
  // The elements past the end are zeros throughout and stay so; v turns into its root.
  for (int i = 0; i < PACK; ++i) v[i] = update(a, g[i], p[i], m[i], v[i]);
  encode(state, piece, m, v);
  if (piece.size == 0) return;
  write_piece(parameter, piece, p);
  if (working) write_piece(working, piece, p);
}

extern "C" __global__ void __launch_bounds__(256)
    adamw_8bit_bf16(bf16 *parameter, signed char *m_codes, unsigned char *v_codes, bf16 *m_scales, bf16 *v_scales,
                    const float *gradient, const float *decision, const float *limits, const long long *optimizer_step,
                    const long long *step_state, long long count, float beta2, float log_beta1, float log_beta2,
                    float epsilon, float weight_decay, int purpose, int layer) {
  if (decision[1] == 0.0f) return;
  __shared__ AdamW a;
  const Piece piece = piece_of(thread_index(), count);
  const State state = {m_codes, v_codes, m_scales, v_scales};
  float p[PACK], m[PACK], v[PACK], g[PACK];
  read_piece(parameter, piece, p);
  read_piece(gradient, piece, g);
  decode(state, piece, m, v);
  if (threadIdx.x == 0)  // once a block: arithmetic, not memory, is what is scarce here
    a = adamw_of(decision, limits, optimizer_step, beta2, log_beta1, log_beta2, epsilon, weight_decay);
  __syncthreads();
  // The elements past the end are zeros throughout and stay so; v turns into its root.
  for (int i = 0; i < PACK; ++i) v[i] = update(a, g[i], p[i], m[i], v[i]);
  encode(state, piece, m, v);
  if (piece.size == 0) return;
  unsigned words[PACK];
  random_words(stream_of(step_state, purpose, layer), piece.start, words);
  for (int i = 0; i < PACK; ++i) p[i] = to_float(stochastic_bf16(p[i], words[i]));
  write_piece(parameter, piece, p);
}
