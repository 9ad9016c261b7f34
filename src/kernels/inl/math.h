// exp for 16 lanes, to about 1 ulp, and what is built on it. Method: Cody and Waite reduction by ln 2, then a degree 6
// polynomial (coefficients of Cephes' expf by S. Moshier).
#pragma once

namespace inferens::inl {

template <class V>
inline typename V::F exp(typename V::F x) {
  const auto lowest = V::set(-87.336544f);  // below: exactly 0, so that a masked score weighs nothing
  auto c = V::min(V::max(x, lowest), V::set(88.3762626647949f));
  auto n = V::round_to_int(V::mul(c, V::set(1.44269504088896341f)));
  auto nf = V::to_float(n);
  auto r = V::fma(nf, V::set(-0.693359375f), c);
  r = V::fma(nf, V::set(2.12194440e-4f), r);
  auto p = V::set(1.9875691500e-4f);
  p = V::fma(p, r, V::set(1.3981999507e-3f));
  p = V::fma(p, r, V::set(8.3334519073e-3f));
  p = V::fma(p, r, V::set(4.1665795894e-2f));
  p = V::fma(p, r, V::set(1.6666665459e-1f));
  p = V::fma(p, r, V::set(5.0000001201e-1f));
  p = V::fma(p, V::mul(r, r), V::add(r, V::set(1.0f)));
  return V::zero_below(V::mul(p, V::pow2(n)), x, lowest);
}

// x * sigmoid(x)
template <class V>
inline typename V::F silu(typename V::F x) {
  auto one = V::set(1.0f);
  return V::div(x, V::add(one, exp<V>(V::sub(V::zero(), x))));
}

// The tanh form of GELU: 0.5 x (1 + tanh(u)) = x * sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3).
template <class V>
inline typename V::F gelu_tanh(typename V::F x) {
  auto inner = V::fma(V::mul(V::mul(x, x), x), V::set(0.044715f), x);
  auto minus_2u = V::mul(inner, V::set(-1.5957691216057308f));
  return V::div(x, V::add(V::set(1.0f), exp<V>(minus_2u)));
}

}  // namespace inferens::inl
