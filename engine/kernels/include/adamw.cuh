// AdamW (Loshchilov & Hutter 2019) of one element, in the order of operations of torch.optim.AdamW.
#pragma once

struct AdamW {
  float gradient_scale, decay, complement1, beta2, complement2, step_size, root_correction, epsilon;
};

// Indices as in engine/graph/ops/step.py: decision = (gradient scale, applied), limits[0] = learning rate.
// 1 − βᵗ = −expm1(t · log β), for t = 1 too: the host gives log β, rounded once from fp64. (1 − 0.999f is off by 5e-5.)
__device__ __forceinline__ AdamW adamw_of(const float *decision, const float *limits, const long long *optimizer_step,
                                          float beta2, float log_beta1, float log_beta2, float epsilon,
                                          float weight_decay) {
  const float rate = limits[0], step = float(optimizer_step[0]);
  return {decision[0],        1.0f - rate * weight_decay,       -expm1f(log_beta1),
          beta2,              -expm1f(log_beta2),               rate / -expm1f(step * log_beta1),
          sqrtf(-expm1f(step * log_beta2)), epsilon};
}

__device__ __forceinline__ void update(const AdamW &a, float gradient, float &p, float &m, float &v) {
  const float g = gradient * a.gradient_scale;
  p *= a.decay;
  m += (g - m) * a.complement1;
  v = v * a.beta2 + a.complement2 * g * g;
  p -= a.step_size * (m / (sqrtf(v) / a.root_correction + a.epsilon));
}
