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

__device__ __forceinline__ void read_codes(const void *codes, Piece piece, unsigned char (&out)[PACK]) {
  const unsigned char *from = static_cast<const unsigned char *>(codes) + piece.start;
  if (piece.size == PACK) {
    *reinterpret_cast<uint2 *>(out) = *reinterpret_cast<const uint2 *>(from);
    return;
  }
  for (int i = 0; i < PACK; ++i) out[i] = i < piece.size ? from[i] : 0;
}

__device__ __forceinline__ void write_codes(void *codes, Piece piece, const unsigned char (&in)[PACK]) {
  unsigned char *to = static_cast<unsigned char *>(codes) + piece.start;
  if (piece.size == PACK) {
    *reinterpret_cast<uint2 *>(to) = *reinterpret_cast<const uint2 *>(in);
    return;
  }
  for (int i = 0; i < PACK; ++i)
    if (i < piece.size) to[i] = in[i];
}

__device__ __forceinline__ float block_maximum(float x) {
  for (int offset = LANES / 2; offset; offset /= 2) x = fmaxf(x, __shfl_xor_sync(ALL_LANES, x, offset));
  return x;
}

__device__ __forceinline__ bf16 rounded_up(float x) {
  return bf16(min((__float_as_uint(x) + 0xffffu) >> 16, 0x7f7fu));  // the largest finite one at most
}

__device__ __forceinline__ void decode(const State &state, Piece piece, float (&m)[PACK], float (&v)[PACK]) {
  alignas(8) unsigned char m_codes[PACK], v_codes[PACK];
  read_codes(state.m_codes, piece, m_codes);
  read_codes(state.v_codes, piece, v_codes);
  const long long block = piece.start / (PACK * LANES);
  const float m_scale = piece.size ? to_float(state.m_scales[block]) : 0.0f;
  const float v_scale = piece.size ? to_float(state.v_scales[block]) : 0.0f;
  for (int i = 0; i < PACK; ++i) {
    const float z = float((signed char)m_codes[i]) / 127.0f, root = float(v_codes[i]) / 255.0f * v_scale;
    m[i] = z / (2.0f - fabsf(z)) * m_scale;
    v[i] = root * root;
  }
}

// All lanes of the warp take part.
__device__ __forceinline__ void encode(const State &state, Piece piece, const float (&m)[PACK], const float (&v)[PACK]) {
  alignas(8) unsigned char m_codes[PACK], v_codes[PACK];
  float m_largest = 0.0f, v_largest = 0.0f;
  for (int i = 0; i < PACK; ++i) {
    m_largest = fmaxf(m_largest, fabsf(m[i]));
    v_largest = fmaxf(v_largest, sqrtf(v[i]));
  }
  const bf16 m_rounded = rounded_up(block_maximum(m_largest)), v_rounded = rounded_up(block_maximum(v_largest));
  const float m_scale = to_float(m_rounded), v_scale = to_float(v_rounded);
  for (int i = 0; i < PACK; ++i) {
    const float r = m_scale > 0.0f ? m[i] / m_scale : 0.0f;
    m_codes[i] = (unsigned char)(signed char)__float2int_rn(127.0f * (2.0f * r / (1.0f + fabsf(r))));
    const float share = v_scale > 0.0f ? sqrtf(v[i]) / v_scale : 0.0f;
    v_codes[i] = (unsigned char)max(__float2int_rn(255.0f * share), v[i] > 0.0f ? 1 : 0);
  }
  if (piece.size == 0) return;
  write_codes(state.m_codes, piece, m_codes);
  write_codes(state.v_codes, piece, v_codes);
  if (threadIdx.x % LANES != 0) return;
  state.m_scales[piece.start / (PACK * LANES)] = m_rounded;
  state.v_scales[piece.start / (PACK * LANES)] = v_rounded;
}

// Updates p; the elements past the end are zeros throughout and stay so.
template <typename T>
__device__ __forceinline__ void update_piece(const AdamW &a, const State &state, const T *parameter,
                                             const float *gradient, Piece piece, float (&p)[PACK]) {
  float m[PACK], v[PACK], g[PACK];
  read_piece(parameter, piece, p);
  read_piece(gradient, piece, g);
  decode(state, piece, m, v);
  for (int i = 0; i < PACK; ++i) update(a, g[i], p[i], m[i], v[i]);
  encode(state, piece, m, v);
}

extern "C" __global__ void __launch_bounds__(256)
    adamw_8bit_f32(float *parameter, signed char *m_codes, unsigned char *v_codes, bf16 *m_scales, bf16 *v_scales,
                   const float *gradient, bf16 *working, const float *decision, const float *limits,
                   const long long *optimizer_step, long long count, float beta2, float log_beta1,
                   float log_beta2, float epsilon, float weight_decay) {
  if (decision[1] == 0.0f) return;
  const Piece piece = piece_of(thread_index(), count);
  const AdamW a = adamw_of(decision, limits, optimizer_step, beta2, log_beta1, log_beta2, epsilon, weight_decay);
  float p[PACK];
  update_piece(a, State{m_codes, v_codes, m_scales, v_scales}, parameter, gradient, piece, p);
  if (piece.size == 0) return;
  write_piece(parameter, piece, p);
  if (working) write_piece(working, piece, p);
}

extern "C" __global__ void __launch_bounds__(256)
    adamw_8bit_bf16(bf16 *parameter, signed char *m_codes, unsigned char *v_codes, bf16 *m_scales, bf16 *v_scales,
                    const float *gradient, const float *decision, const float *limits, const long long *optimizer_step,
                    const long long *step_state, long long count, float beta2, float log_beta1,
                    float log_beta2, float epsilon, float weight_decay, int purpose, int layer) {
  if (decision[1] == 0.0f) return;
  const Piece piece = piece_of(thread_index(), count);
  const AdamW a = adamw_of(decision, limits, optimizer_step, beta2, log_beta1, log_beta2, epsilon, weight_decay);
  float p[PACK];
  update_piece(a, State{m_codes, v_codes, m_scales, v_scales}, parameter, gradient, piece, p);
  if (piece.size == 0) return;
  unsigned words[PACK];
  random_words(stream_of(step_state, purpose, layer), piece.start, words);
  for (int i = 0; i < PACK; ++i) p[i] = to_float(stochastic_bf16(p[i], words[i]));
  write_piece(parameter, piece, p);
}
