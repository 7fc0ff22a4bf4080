// A flat array of any length in pieces of eight elements: whole pieces by sixteen-byte accesses, the last few
// elements one by one. Arrays begin at a multiple of sixteen bytes.
#pragma once
#include "bf16.cuh"

// The elements that this thread works on: eight from `start`, fewer (or none) at the end.
struct Piece {
  long long start;
  int size;
};

__device__ __forceinline__ Piece piece_of(long long index, long long count) {
  const long long start = index * PACK, left = count - start;
  return {start, left >= PACK ? PACK : left > 0 ? int(left) : 0};
}

__device__ __forceinline__ void read_piece(const bf16 *array, Piece piece, float (&x)[PACK]) {
  if (piece.size == PACK) {
    unpack(load16(array + piece.start), x);
    return;
  }
#pragma unroll
  for (int i = 0; i < PACK; ++i) x[i] = i < piece.size ? to_float(array[piece.start + i]) : 0.0f;
}

__device__ __forceinline__ void read_piece(const float *array, Piece piece, float (&x)[PACK]) {
  if (piece.size == PACK) {
    load_floats(array + piece.start, x);
    return;
  }
#pragma unroll
  for (int i = 0; i < PACK; ++i) x[i] = i < piece.size ? array[piece.start + i] : 0.0f;
}

__device__ __forceinline__ void write_piece(bf16 *array, Piece piece, const float (&x)[PACK]) {
  if (piece.size == PACK) {
    store16(array + piece.start, packed(x));
    return;
  }
#pragma unroll
  for (int i = 0; i < PACK; ++i)
    if (i < piece.size) array[piece.start + i] = to_bf16(x[i]);
}

__device__ __forceinline__ void write_piece(float *array, Piece piece, const float (&x)[PACK]) {
  if (piece.size == PACK) {
    store_floats(array + piece.start, x);
    return;
  }
#pragma unroll
  for (int i = 0; i < PACK; ++i)
    if (i < piece.size) array[piece.start + i] = x[i];
}

__device__ __forceinline__ long long thread_index() { return (long long)blockIdx.x * blockDim.x + threadIdx.x; }
