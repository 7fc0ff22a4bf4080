// Dropout whose mask is a pure function of what it is for: bit-equal to engine/runtime/reference/dropout.py.
//
//   y[i] = word(i) < threshold ? 0 : bf16(x[i] · factor),   threshold = round(probability · 2³²), factor = 1/(1 − p)
//
// word(i): see philox.cuh; seed, step and micro-batch are read from device memory, so a captured graph replays with
// new masks. The backward is the same kernel on dy.
//
// Layout: x, y bf16[count], y may be x; step_state i64[4]. count at most 2³⁴ − 8.
// Grid:   a thread eight elements (two Philox blocks), 256 threads a block.
#include "philox.cuh"
#include "pieces.cuh"

extern "C" __global__ void __launch_bounds__(256)
    dropout(const bf16 *x, const long long *step_state, bf16 *y, long long count, unsigned threshold, float factor,
            int purpose, int layer) {
  const Piece piece = piece_of(thread_index(), count);
  if (piece.size == 0) return;
  float values[PACK];
  read_piece(x, piece, values);
  unsigned words[PACK];
  random_words(stream_of(step_state, purpose, layer), piece.start, words);
  for (int i = 0; i < PACK; ++i) values[i] = words[i] < threshold ? 0.0f : values[i] * factor;
  write_piece(y, piece, values);
}
