// Philox 4x32-10 (Salmon et al., SC 2011), keyed as engine/runtime/philox.py is:
//   key = (seed low, seed high), counter = (element / 4, step, micro_batch, purpose * 65536 + layer),
//   word of an element = output[element % 4]
#pragma once

// step_state i64[4] = (seed, step, micro_batch, 0), in device memory
struct Stream {
  unsigned key0, key1, step, micro_batch, use;
};

__device__ __forceinline__ Stream stream_of(const long long *step_state, int purpose, int layer) {
  const unsigned long long seed = step_state[0];
  return {unsigned(seed), unsigned(seed >> 32), unsigned(step_state[1]), unsigned(step_state[2]),
          unsigned(purpose) << 16 | unsigned(layer)};
}

// The words of elements 4 * block … 4 * block + 3
__device__ __forceinline__ uint4 random_block(const Stream &stream, unsigned block) {
  unsigned c0 = block, c1 = stream.step, c2 = stream.micro_batch, c3 = stream.use;
  unsigned k0 = stream.key0, k1 = stream.key1;
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const unsigned high0 = __umulhi(0xD2511F53u, c0), low0 = 0xD2511F53u * c0;
    const unsigned high1 = __umulhi(0xCD9E8D57u, c2), low1 = 0xCD9E8D57u * c2;
    c0 = high1 ^ c1 ^ k0, c1 = low1, c2 = high0 ^ c3 ^ k1, c3 = low0;
    k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
  }
  return make_uint4(c0, c1, c2, c3);
}

// The words of the eight elements from `start`, a multiple of eight
__device__ __forceinline__ void random_words(const Stream &stream, long long start, unsigned (&words)[8]) {
  const uint4 a = random_block(stream, unsigned(start / 4)), b = random_block(stream, unsigned(start / 4) + 1);
  words[0] = a.x, words[1] = a.y, words[2] = a.z, words[3] = a.w;
  words[4] = b.x, words[5] = b.y, words[6] = b.z, words[7] = b.w;
}

// fp32 → bf16 bits, up with the probability that the lower half says: unbiased. Infinity and NaN stay what they are.
__device__ __forceinline__ unsigned short stochastic_bf16(float value, unsigned word) {
  const unsigned bits = __float_as_uint(value);
  if ((bits & 0x7f800000u) == 0x7f800000u) return (unsigned short)(bits >> 16 | ((bits & 0xffffu) ? 0x40u : 0u));
  return (unsigned short)((bits + (word & 0xffffu)) >> 16);
}
