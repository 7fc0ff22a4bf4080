// Step boundaries: accumulation, the gradient's norm, and the decision to apply a step. See engine/graph/ops/step.py.
//
//   accumulate_f32, accumulate_bf16   accumulator = gradient at micro-batch 0, else accumulator + gradient
//   store_slot      slots[micro_batch] = value
//   squared_sums    partials[chunk] = Σ x² over the chunk, fp32 products added in fp32 by a fixed tree
//   slot_sums       squares[slot] = Σ partials of the slot's chunks, in fp64, by a fixed tree. NaN and infinity pass
//                   through both, so that decide_step is the check for finiteness too
//   decide_step     total = Σ weight_slots, loss = Σ loss_slots / total, grad_norm = sqrt(Σ squares) / total,
//                   clip = min(1, maximum / (grad_norm + 1e-6)), applied, decision, metrics: in fp64, one thread in
//                   order, as the reference does
//
// All gradients are one launch: the host writes the table of chunks once, at binding.
// Layout: chunk_addresses u64[chunks] (device addresses of f32), chunk_counts i32[chunks] (at most 2¹⁶ elements),
//         slot_starts i32[slots + 1] (chunks of a slot are consecutive); partials f32[chunks], squares f32[slots].
//         step_state i64[4], limits f32[4], decision f32[2], metrics f32[6], optimizer_step i64[1].
// Grid:   accumulate: a thread eight elements. squared_sums: a block of 512 threads a chunk. slot_sums: a block of 128
//         a slot. store_slot, decide_step: one thread, one block.
#include "pieces.cuh"
#include "reduce.cuh"

template <typename T>
__device__ __forceinline__ void accumulate(float *accumulator, const T *gradient, const long long *step_state,
                                           long long count) {
  const Piece piece = piece_of(thread_index(), count);
  if (piece.size == 0) return;
  float g[PACK], a[PACK];
  read_piece(gradient, piece, g);
  if (step_state[2] != 0) {  // at micro-batch 0 stale contents, NaN too, have no influence
    read_piece(accumulator, piece, a);
    for (int i = 0; i < PACK; ++i) g[i] += a[i];
  }
  write_piece(accumulator, piece, g);
}

extern "C" __global__ void __launch_bounds__(256)
    accumulate_f32(float *accumulator, const float *gradient, const long long *step_state, long long count) {
  accumulate(accumulator, gradient, step_state, count);
}

extern "C" __global__ void __launch_bounds__(256)
    accumulate_bf16(float *accumulator, const bf16 *gradient, const long long *step_state, long long count) {
  accumulate(accumulator, gradient, step_state, count);
}

extern "C" __global__ void store_slot(float *slots, const float *value, const long long *step_state) {
  slots[step_state[2]] = value[0];
}

extern "C" __global__ void __launch_bounds__(512)
    squared_sums(const unsigned long long *chunk_addresses, const int *chunk_counts, float *partials, int chunks) {
  __shared__ float scratch[WARP];
  const float *x = reinterpret_cast<const float *>(chunk_addresses[blockIdx.x]);
  const int count = chunk_counts[blockIdx.x];
  float sum = 0.0f;
#pragma unroll 4
  for (int at = threadIdx.x; at < count / 4; at += 512) {
    const float4 v = reinterpret_cast<const float4 *>(x)[at];
    sum += v.x * v.x + v.y * v.y + (v.z * v.z + v.w * v.w);
  }
  const int last = count / 4 * 4 + threadIdx.x;
  if (last < count) sum += x[last] * x[last];
  sum = block_sum(sum, scratch);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(128)
    slot_sums(const float *partials, const int *slot_starts, float *squares, int slots) {
  __shared__ double scratch[WARP];
  double sum = 0.0;
  for (int at = slot_starts[blockIdx.x] + threadIdx.x; at < slot_starts[blockIdx.x + 1]; at += 128) sum += partials[at];
  sum = block_sum(sum, scratch);
  if (threadIdx.x == 0) squares[blockIdx.x] = float(sum);
}

__device__ __forceinline__ double sum_in_order(const float *values, int count) {
  double sum = 0.0;
#pragma unroll 8
  for (int at = 0; at < count; ++at) sum += values[at];
  return sum;
}

extern "C" __global__ void decide_step(const float *squares, const float *loss_slots, const float *weight_slots,
                                       const float *limits, long long *optimizer_step, float *metrics, float *decision,
                                       int square_count, int slot_count) {
  const double total = sum_in_order(weight_slots, slot_count), share = total > 0.0 ? 1.0 / total : 0.0;
  const double loss = sum_in_order(loss_slots, slot_count) * share;
  const double norm = sqrt(sum_in_order(squares, square_count)) * share;
  const double clip = fmin(1.0, limits[1] / (norm + 1e-6));
  const bool applied = total > 0.0 && isfinite(loss) && isfinite(norm) && loss <= limits[3] && norm <= limits[2];
  optimizer_step[0] += applied;
  decision[0] = applied ? float(clip * share) : 0.0f;
  decision[1] = applied ? 1.0f : 0.0f;
  metrics[0] = float(loss);
  metrics[1] = float(norm);
  metrics[2] = float(clip);
  metrics[3] = decision[1];
  metrics[4] = float(total);
  metrics[5] = float(optimizer_step[0]);
}
