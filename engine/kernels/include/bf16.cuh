// bfloat16 in memory, fp32 in registers, sixteen bytes at a time. No CUDA header is needed: bf16 is the upper half of
// an fp32, and one PTX instruction rounds two of them to nearest even.
#pragma once

typedef unsigned short bf16;  // storage only: never calculated with

constexpr int PACK = 8;  // bf16 values in sixteen bytes

__device__ __forceinline__ uint4 load16(const void *address) { return *static_cast<const uint4 *>(address); }
__device__ __forceinline__ void store16(void *address, uint4 value) { *static_cast<uint4 *>(address) = value; }

__device__ __forceinline__ float to_float(bf16 value) { return __uint_as_float(unsigned(value) << 16); }

// (low, high) rounded to nearest even, low in the lower half
__device__ __forceinline__ unsigned rounded_pair(float low, float high) {
  unsigned pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

__device__ __forceinline__ bf16 to_bf16(float value) { return bf16(rounded_pair(value, 0.0f)); }

__device__ __forceinline__ void unpack(uint4 pack, float (&x)[PACK]) {
  const unsigned words[4] = {pack.x, pack.y, pack.z, pack.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    x[2 * i] = __uint_as_float(words[i] << 16);
    x[2 * i + 1] = __uint_as_float(words[i] & 0xffff0000u);
  }
}

__device__ __forceinline__ uint4 packed(const float (&x)[PACK]) {
  return make_uint4(rounded_pair(x[0], x[1]), rounded_pair(x[2], x[3]), rounded_pair(x[4], x[5]),
                    rounded_pair(x[6], x[7]));
}

// Eight fp32 values: two accesses of sixteen bytes.
__device__ __forceinline__ void load_floats(const float *address, float (&x)[PACK]) {
  const float4 a = reinterpret_cast<const float4 *>(address)[0], b = reinterpret_cast<const float4 *>(address)[1];
  x[0] = a.x, x[1] = a.y, x[2] = a.z, x[3] = a.w, x[4] = b.x, x[5] = b.y, x[6] = b.z, x[7] = b.w;
}

__device__ __forceinline__ void store_floats(float *address, const float (&x)[PACK]) {
  reinterpret_cast<float4 *>(address)[0] = make_float4(x[0], x[1], x[2], x[3]);
  reinterpret_cast<float4 *>(address)[1] = make_float4(x[4], x[5], x[6], x[7]);
}
