// Rows of a table by token id, and the table's gradient.
//
//   forward    x[n] = weight[ids[n]]; an id outside the table gives a row of NaN, which stops the step by name
//   order      order[#{m : (ids[m], m) < (ids[n], n)}] = n: the tokens sorted by id, ties in token order. Counting
//              costs tokens² comparisons (4,096 tokens: 17 million) and no more memory than its result
//   backward   dweight[v] = Σ dy[n] over the n with ids[n] = v, added in ascending n to what dweight[v] holds (zero it
//              first, or let it be an accumulator). Rows of ids that are not there are not touched: the gradient of a
//              table of 150,000 rows costs what its 4,096 tokens cost
//
// Layout: ids i32[tokens], weight bf16[vocabulary, width], x, dy bf16[tokens, width], dweight f32[vocabulary, width],
//         order i32[tokens]; width: a multiple of 8.
// Grid:   forward, backward: (tokens, width / 1024) blocks of 128 threads, eight columns a thread. In the backward the
//         block of an id's first token in `order` owns the whole row; the others leave. order: a warp for KEYS tokens.
#include "bf16.cuh"
#include "reduce.cuh"

constexpr int THREADS = 128, KEYS = 4, AHEAD = 8;

extern "C" __global__ void __launch_bounds__(THREADS)
    embedding_forward(const int *ids, const bf16 *weight, bf16 *x, int tokens, int width, int vocabulary) {
  const int column = (blockIdx.y * THREADS + threadIdx.x) * PACK;
  if (column >= width) return;
  const int id = ids[blockIdx.x];
  const bool known = unsigned(id) < unsigned(vocabulary);
  const unsigned nan = 0x7fc07fc0u;
  store16(x + size_t(blockIdx.x) * width + column,
          known ? load16(weight + size_t(id) * width + column) : make_uint4(nan, nan, nan, nan));
}

extern "C" __global__ void __launch_bounds__(THREADS) embedding_order(const int *ids, int *order, int tokens) {
  const int lane = threadIdx.x % WARP, warp = (blockIdx.x * THREADS + threadIdx.x) / WARP, first = warp * KEYS;
  int keys[KEYS], ranks[KEYS] = {};
#pragma unroll
  for (int j = 0; j < KEYS; ++j) keys[j] = first + j < tokens ? ids[first + j] : 0;
  for (int m = lane; m < tokens; m += WARP) {
    const int id = ids[m];
#pragma unroll
    for (int j = 0; j < KEYS; ++j) ranks[j] += id < keys[j] || (id == keys[j] && m < first + j);
  }
#pragma unroll
  for (int j = 0; j < KEYS; ++j) {
    const int rank = warp_sum(ranks[j]);
    if (lane == 0 && first + j < tokens) order[rank] = first + j;
  }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    embedding_backward(const int *ids, const int *order, const bf16 *dy, float *dweight, int tokens, int width,
                       int vocabulary) {
  const int column = (blockIdx.y * THREADS + threadIdx.x) * PACK, first = blockIdx.x;
  const int id = ids[order[first]];
  if (unsigned(id) >= unsigned(vocabulary) || (first > 0 && ids[order[first - 1]] == id) || column >= width) return;
  float *row = dweight + size_t(id) * width + column;
  float total[PACK];
  load_floats(row, total);
  for (int start = first; start < tokens; start += AHEAD) {
    uint4 packs[AHEAD];
    bool same[AHEAD];
#pragma unroll
    for (int j = 0; j < AHEAD; ++j) {  // loads first, so that they are in flight together
      const int n = start + j < tokens ? order[start + j] : 0;
      same[j] = start + j < tokens && ids[n] == id;
      packs[j] = same[j] ? load16(dy + size_t(n) * width + column) : make_uint4(0, 0, 0, 0);
    }
#pragma unroll
    for (int j = 0; j < AHEAD; ++j) {
      if (!same[j]) continue;
      float d[PACK];
      unpack(packs[j], d);
      for (int i = 0; i < PACK; ++i) total[i] += d[i];
    }
    if (!same[AHEAD - 1]) break;
  }
  store_floats(row, total);
}
