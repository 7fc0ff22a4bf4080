// AdamW with fp32 state, in place, guarded by the decision that decide_step left on the device.
//
//   nothing at all is written where decision[1] = 0; else see adamw.cuh
//   adamw_f32    fp32 masters; writes the bf16 weights that the model calculates with too (working may be null)
//   adamw_bf16   bf16 weights are the masters: the new value is rounded stochastically by the Philox word of the element
//
// Layout: parameter f32 or bf16[count], first_moment, second_moment, gradient f32[count], working bf16[count].
// Grid:   a thread eight elements, 256 threads a block.
#include "adamw.cuh"
#include "philox.cuh"
#include "pieces.cuh"

extern "C" __global__ void __launch_bounds__(256)
    adamw_f32(float *parameter, float *first_moment, float *second_moment, const float *gradient, bf16 *working,
              const float *decision, const float *limits, const long long *optimizer_step, long long count,
              float beta2, float log_beta1, float log_beta2, float epsilon, float weight_decay) {
  const Piece piece = piece_of(thread_index(), count);
  if (piece.size == 0 || decision[1] == 0.0f) return;
  float p[PACK], m[PACK], v[PACK], g[PACK];
  read_piece(parameter, piece, p);
  read_piece(first_moment, piece, m);
  read_piece(second_moment, piece, v);
  read_piece(gradient, piece, g);
  const AdamW a = adamw_of(decision, limits, optimizer_step, beta2, log_beta1, log_beta2, epsilon, weight_decay);
  for (int i = 0; i < PACK; ++i) update(a, g[i], p[i], m[i], v[i]);
  write_piece(parameter, piece, p);
  write_piece(first_moment, piece, m);
  write_piece(second_moment, piece, v);
  if (working) write_piece(working, piece, p);
}

extern "C" __global__ void __launch_bounds__(256)
    adamw_bf16(bf16 *parameter, float *first_moment, float *second_moment, const float *gradient,
               const float *decision, const float *limits, const long long *optimizer_step,
               const long long *step_state, long long count, float beta2, float log_beta1, float log_beta2,
               float epsilon, float weight_decay, int purpose, int layer) {
  const Piece piece = piece_of(thread_index(), count);
  if (piece.size == 0 || decision[1] == 0.0f) return;
  float p[PACK], m[PACK], v[PACK], g[PACK];
  read_piece(parameter, piece, p);
  read_piece(first_moment, piece, m);
  read_piece(second_moment, piece, v);
  read_piece(gradient, piece, g);
  const AdamW a = adamw_of(decision, limits, optimizer_step, beta2, log_beta1, log_beta2, epsilon, weight_decay);
  unsigned words[PACK];
  random_words(stream_of(step_state, purpose, layer), piece.start, words);
  for (int i = 0; i < PACK; ++i) {
    update(a, g[i], p[i], m[i], v[i]);
    p[i] = to_float(stochastic_bf16(p[i], words[i]));
  }
  write_piece(parameter, piece, p);
  write_piece(first_moment, piece, m);
  write_piece(second_moment, piece, v);
}
