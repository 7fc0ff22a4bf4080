// Changes of dtype and of layout, and zeros.
//
//   cast_to_bf16            y = x rounded to nearest even
//   cast_to_bf16_stochastic y = x rounded up or down, unbiased, by the Philox word of each element (philox.cuh)
//   cast_to_f32             y = x, exactly
//   transpose               y[c, r] = x[r, c]
//   zero                    y = 0
//
// Layout: flat arrays of `count` elements; zero takes bytes, a multiple of four. transpose: bf16[rows, width] →
//         bf16[width, rows], both multiples of 8.
// Grid:   a thread eight elements (zero: sixteen bytes), 256 threads a block. transpose: a block of 256 threads a tile
//         of 64 × 64, read and written sixteen bytes at a time, turned in shared memory whose rows are padded by one
//         word: writing it meets no bank twice, reading it two at most.
#include "philox.cuh"
#include "pieces.cuh"

constexpr int TILE = 64;

extern "C" __global__ void __launch_bounds__(256) cast_to_bf16(const float *x, bf16 *y, long long count) {
  const Piece piece = piece_of(thread_index(), count);
  float values[PACK];
  read_piece(x, piece, values);
  write_piece(y, piece, values);
}

extern "C" __global__ void __launch_bounds__(256)
    cast_to_bf16_stochastic(const float *x, const long long *step_state, bf16 *y, long long count, int purpose,
                            int layer) {
  const Piece piece = piece_of(thread_index(), count);
  if (piece.size == 0) return;
  float values[PACK];
  read_piece(x, piece, values);
  unsigned words[PACK];
  random_words(stream_of(step_state, purpose, layer), piece.start, words);
  for (int i = 0; i < PACK; ++i) values[i] = to_float(stochastic_bf16(values[i], words[i]));
  write_piece(y, piece, values);  // exact: they are bf16 already
}

extern "C" __global__ void __launch_bounds__(256) cast_to_f32(const bf16 *x, float *y, long long count) {
  const Piece piece = piece_of(thread_index(), count);
  float values[PACK];
  read_piece(x, piece, values);
  write_piece(y, piece, values);
}

extern "C" __global__ void __launch_bounds__(256) transpose(const bf16 *x, bf16 *y, int rows, int width) {
  __shared__ bf16 tile[TILE][TILE + 2];
  const int row0 = blockIdx.y * TILE, column0 = blockIdx.x * TILE;
  const int line = threadIdx.x / (TILE / PACK), at = threadIdx.x % (TILE / PACK) * PACK;
#pragma unroll
  for (int r = line; r < TILE; r += 256 / (TILE / PACK)) {
    if (row0 + r >= rows || column0 + at >= width) continue;
    const uint4 pack = load16(x + size_t(row0 + r) * width + column0 + at);
    unsigned *words = reinterpret_cast<unsigned *>(&tile[r][at]);
    words[0] = pack.x, words[1] = pack.y, words[2] = pack.z, words[3] = pack.w;
  }
  __syncthreads();
#pragma unroll
  for (int c = line; c < TILE; c += 256 / (TILE / PACK)) {
    if (column0 + c >= width || row0 + at >= rows) continue;
    unsigned words[4];
    for (int i = 0; i < 4; ++i) words[i] = tile[at + 2 * i][c] | unsigned(tile[at + 2 * i + 1][c]) << 16;
    store16(y + size_t(column0 + c) * rows + row0 + at, make_uint4(words[0], words[1], words[2], words[3]));
  }
}

extern "C" __global__ void __launch_bounds__(256) zero(unsigned *y, long long bytes) {
  const long long start = thread_index() * 4, words = bytes / 4;
  if (start + 4 <= words) {
    store16(y + start, make_uint4(0, 0, 0, 0));
    return;
  }
  for (long long at = start; at < words; ++at) y[at] = 0;
}
