// AdamW (Loshchilov & Hutter 2019) of one element, in the order of operations of torch.optim.AdamW.
#pragma once

struct AdamW {
  float gradient_scale, decay, complement1, beta2, complement2, step_size, inverse_root_correction, epsilon;
};

// Indices as in engine/graph/ops/step.py: decision = (gradient scale, applied), limits[0] = learning rate.
// 1 − βᵗ = −expm1(t · log β), for t = 1 too: the host gives log β, rounded once from fp64. (1 − 0.999f is off by 5e-5.)
__device__ __forceinline__ AdamW adamw_of(const float *decision, const float *limits, const long long *optimizer_step,
                                          float beta2, float log_beta1, float log_beta2, float epsilon,
                                          float weight_decay) {
  const float rate = limits[0], step = float(optimizer_step[0]);
  AdamW a;
  a.gradient_scale = decision[0];
  a.decay = 1.0f - rate * weight_decay;
  a.complement1 = -expm1f(log_beta1);
  a.beta2 = beta2;
  a.complement2 = -expm1f(log_beta2);
  a.step_size = rate / -expm1f(step * log_beta1);
  a.inverse_root_correction = 1.0f / sqrtf(-expm1f(step * log_beta2));
  a.epsilon = epsilon;
  return a;
}

// Square root and quotient at the rate of the hardware, each within 2^-22 relative; below 2^-126 they are zero.
__device__ __forceinline__ float root_of(float x) {
  float y;
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// Returns sqrt(v), which 8-bit state needs once more.
__device__ __forceinline__ float update(const AdamW &a, float gradient, float &p, float &m, float &v) {
  const float g = gradient * a.gradient_scale;
  p *= a.decay;
  m += (g - m) * a.complement1;
  v = v * a.beta2 + a.complement2 * g * g;
  const float root = root_of(v);
  p -= a.step_size * __fdividef(m, root * a.inverse_root_correction + a.epsilon);
  return root;
}
