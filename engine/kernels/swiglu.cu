// SwiGLU (Shazeer 2020) on gate and up projections that one GEMM wrote side by side.
//
//   forward    y = silu(gate) · up,  silu(g) = g · σ(g)
//   backward   dup = dy · silu(gate);  dgate = dy · up · σ · (1 + gate · (1 − σ));
//              y again where its pointer is not null: the down projection's gradient needs it, and making it here
//              costs a write instead of a tensor kept since the forward pass
//
// Layout: gate_up, dgate_up bf16[rows, 2 · width]: gate in the first half of a row, up in the second. y, dy
//         bf16[rows, width]. width: a multiple of 8. dgate_up may be gate_up, y may be dy.
// Grid:   (rows, width / 1024) blocks of 128 threads, eight columns a thread.
#include "bf16.cuh"

__device__ __forceinline__ float sigmoid(float x) { return __fdividef(1.0f, 1.0f + __expf(-x)); }

extern "C" __global__ void __launch_bounds__(128) swiglu_forward(const bf16 *gate_up, bf16 *y, int rows, int width) {
  const int column = (blockIdx.y * blockDim.x + threadIdx.x) * PACK;
  if (column >= width) return;
  const bf16 *start = gate_up + size_t(blockIdx.x) * 2 * width + column;
  const uint4 gate = load16(start), up = load16(start + width);
  float g[PACK], u[PACK];
  unpack(gate, g);
  unpack(up, u);
  for (int i = 0; i < PACK; ++i) u[i] *= g[i] * sigmoid(g[i]);
  store16(y + size_t(blockIdx.x) * width + column, packed(u));
}

extern "C" __global__ void __launch_bounds__(128)
    swiglu_backward(const bf16 *dy, const bf16 *gate_up, bf16 *dgate_up, bf16 *y, int rows, int width) {
  const int column = (blockIdx.y * blockDim.x + threadIdx.x) * PACK;
  if (column >= width) return;
  const size_t start = size_t(blockIdx.x) * 2 * width + column, at = size_t(blockIdx.x) * width + column;
  const uint4 gate = load16(gate_up + start), up = load16(gate_up + start + width), upstream = load16(dy + at);
  float g[PACK], u[PACK], d[PACK], out[PACK];
  unpack(gate, g);
  unpack(up, u);
  unpack(upstream, d);
  for (int i = 0; i < PACK; ++i) {
    const float s = sigmoid(g[i]), silu = g[i] * s;
    out[i] = silu * u[i];
    g[i] = d[i] * u[i] * (s + silu * (1.0f - s));
    u[i] = d[i] * silu;
  }
  store16(dgate_up + start, packed(g));
  store16(dgate_up + start + width, packed(u));
  if (y) store16(y + at, packed(out));
}
