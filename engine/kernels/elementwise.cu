// Sums and multiples, and the strided copy that puts LoRA's low-rank activations beside its input.
//
//   add          z = bf16(x + y)
//   scale_add    z = bf16(x + factor · y)
//   multiply     z = bf16(x · y)
//   scale_copy   out[r, c] = bf16(factor · x[r, c]) for rows that are x_stride and out_stride elements apart:
//                [x | s · x Aᵀ] · [W | B]ᵀ is then one GEMM. factor = 1 copies exactly
//
// Layout: bf16 throughout; flat arrays of `count` elements, z may be x or y. scale_copy: width and strides multiples
//         of 8.
// Grid:   a thread eight elements, 256 threads a block.
#include "pieces.cuh"

template <typename F>
__device__ __forceinline__ void pairwise(const bf16 *x, const bf16 *y, bf16 *z, long long count, F f) {
  const Piece piece = piece_of(thread_index(), count);
  if (piece.size == 0) return;
  float a[PACK], b[PACK];
  read_piece(x, piece, a);
  read_piece(y, piece, b);
  for (int i = 0; i < PACK; ++i) a[i] = f(a[i], b[i]);
  write_piece(z, piece, a);
}

extern "C" __global__ void __launch_bounds__(256) add(const bf16 *x, const bf16 *y, bf16 *z, long long count) {
  pairwise(x, y, z, count, [](float a, float b) { return a + b; });
}

extern "C" __global__ void __launch_bounds__(256) multiply(const bf16 *x, const bf16 *y, bf16 *z, long long count) {
  pairwise(x, y, z, count, [](float a, float b) { return a * b; });
}

extern "C" __global__ void __launch_bounds__(256)
    scale_add(const bf16 *x, const bf16 *y, bf16 *z, long long count, float factor) {
  pairwise(x, y, z, count, [factor](float a, float b) { return a + factor * b; });
}

extern "C" __global__ void __launch_bounds__(256)
    scale_copy(const bf16 *x, bf16 *out, int rows, int width, int x_stride, int out_stride, float factor) {
  const int packs = width / PACK;
  const long long index = thread_index();
  const long long row = index / packs;
  if (row >= rows) return;
  const int column = int(index - row * packs) * PACK;
  float values[PACK];
  unpack(load16(x + row * x_stride + column), values);
  for (int i = 0; i < PACK; ++i) values[i] *= factor;
  store16(out + row * out_stride + column, packed(values));
}
