"""Random numbers that are found by their index: what kernels on devices draw with. Here are the CUDA C of it and what a stream is.

Number i of a stream is made of 64 random bits: one half of what Philox4x32-10 (Salmon, Moraes, Dror and Shaw, 2011, "Parallel random numbers: as easy
as 1, 2, 3") makes of the counter ``(i // 2, high word)`` under the stream's key. So a kernel draws what it needs where it needs it, and the numbers of
a block don't depend on what is computed in the same kernel, nor on which of them are drawn.

Normal numbers are made of the bits by the inverse of the distribution function (Wichura, 1988, algorithm AS 241, "The percentage points of the normal
distribution"), exponential ones by a logarithm: one number of the result takes one number of the stream. `docs/decisions/0035-draws-by-index.md`
has the reasons; ``tests/array/draws_by_index.py`` the same in NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

BASES = ("random", "standard_normal", "standard_exponential")
"""Methods that kernels draw. Others are made of these."""

C_TYPES = {"float64": "double", "float32": "float"}
"""The types in which kernels draw."""


def stream_words(sequence: np.random.SeedSequence) -> tuple[Any, Any]:
    """Return a stream's key and the high word of its counters: 128 bits of the seed."""
    key, high = sequence.generate_state(2, np.uint64)
    return key, high


def number_text(base: str, dtype: str, bits: str) -> str:
    """Return the expression of a number, given that of its 64 bits."""
    if base == "random":
        return f"draw_random{'_float' if dtype == 'float32' else ''}({bits})"
    return f"({C_TYPES[dtype]})draw_{base}({bits})"


def draw_kernel(base: str, dtype: str) -> str:
    """Return the text of the kernel ``draw``, which writes `size` numbers of a stream from number `first` on."""
    number = number_text(base, dtype, "draw_bits(key, high, (unsigned long long)(first + i))")
    return f"""{FUNCTIONS}
extern "C" __global__ void draw(const long long size, const long long first, const unsigned long long key, const unsigned long long high, {C_TYPES[dtype]}* __restrict__ out) {{
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < size; i += gridDim.x * (long long)blockDim.x)
    out[i] = {number};
}}
"""


_CENTRE = (
    ("3.3871328727963666080e0", "1.3314166789178437745e2", "1.9715909503065514427e3", "1.3731693765509461125e4", "4.5921953931549871457e4", "6.7265770927008700853e4", "3.3430575583588128105e4", "2.5090809287301226727e3"),
    ("1.0", "4.2313330701600911252e1", "6.8718700749205790830e2", "5.3941960214247511077e3", "2.1213794301586595867e4", "3.9307895800092710610e4", "2.8729085735721942674e4", "5.2264952788528545610e3"),
)  # fmt: skip
"""Coefficients of AS 241, lowest power first: numerator and denominator for probabilities from 0.075 to 0.925."""
_SIDES = (
    ("1.42343711074968357734e0", "4.63033784615654529590e0", "5.76949722146069140550e0", "3.64784832476320460504e0", "1.27045825245236838258e0", "2.41780725177450611770e-1", "2.27238449892691845833e-2", "7.74545014278341407640e-4"),
    ("1.0", "2.05319162663775882187e0", "1.67638483018380384940e0", "6.89767334985100004550e-1", "1.48103976427480074590e-1", "1.51986665636164571966e-2", "5.47593808499534494600e-4", "1.05075007164441684324e-9"),
)  # fmt: skip
"""Those for probabilities of at least exp(-25) from 0 and 1."""
_TAILS = (
    ("6.65790464350110377720e0", "5.46378491116411436990e0", "1.78482653991729133580e0", "2.96560571828504891230e-1", "2.65321895265761230930e-2", "1.24266094738807843860e-3", "2.71155556874348757815e-5", "2.01033439929228813265e-7"),
    ("1.0", "5.99832206555887937690e-1", "1.36929880922735805310e-1", "1.48753612908506148525e-2", "7.86869131145613259100e-4", "1.84631831751005468180e-5", "1.42151175831644588870e-7", "2.04426310338993978564e-15"),
)  # fmt: skip
"""Those for the rest."""


def _ratio(coefficients: tuple[tuple[str, ...], tuple[str, ...]]) -> str:
    """Return the ratio of two polynomials in r, by Horner's rule."""
    return " / ".join(_polynomial(each) for each in coefficients)


def _polynomial(coefficients: tuple[str, ...]) -> str:
    text = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        text = f"({text} * r + {coefficient})"
    return text


FUNCTIONS = f"""
__device__ inline unsigned long long draw_bits(const unsigned long long key, const unsigned long long high, const unsigned long long index) {{
  unsigned int k0 = (unsigned int)key, k1 = (unsigned int)(key >> 32);
  unsigned int c0 = (unsigned int)(index >> 1), c1 = (unsigned int)(index >> 33), c2 = (unsigned int)high, c3 = (unsigned int)(high >> 32);
  for (int round = 0; round < 10; ++round) {{
    const unsigned long long p0 = 0xD2511F53ull * c0, p1 = 0xCD9E8D57ull * c2;
    c0 = (unsigned int)(p1 >> 32) ^ c1 ^ k0;
    c1 = (unsigned int)p1;
    c2 = (unsigned int)(p0 >> 32) ^ c3 ^ k1;
    c3 = (unsigned int)p0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }}
  return index & 1 ? ((unsigned long long)c3 << 32 | c2) : ((unsigned long long)c1 << 32 | c0);
}}
__device__ inline double draw_random(const unsigned long long bits) {{ return (double)(bits >> 11) * 1.1102230246251565e-16; }}
__device__ inline float draw_random_float(const unsigned long long bits) {{ return (float)(bits >> 40) * 5.9604644775390625e-8f; }}
__device__ inline double draw_between(const unsigned long long bits) {{ return ((double)(bits >> 12) + 0.5) * 2.220446049250313e-16; }}
__device__ inline double draw_standard_exponential(const unsigned long long bits) {{ return -log1p(-draw_between(bits)); }}
__device__ inline double draw_standard_normal(const unsigned long long bits) {{
  const double p = draw_between(bits), q = p - 0.5;
  if (fabs(q) <= 0.425) {{
    const double r = 0.180625 - q * q;
    return q * ({_ratio(_CENTRE)});
  }}
  const double s = sqrt(-log(q < 0 ? p : 1 - p));
  const double r = s <= 5 ? s - 1.6 : s - 5;
  const double found = s <= 5 ? {_ratio(_SIDES)} : {_ratio(_TAILS)};
  return q < 0 ? -found : found;
}}
"""
"""What kernels that draw begin with: 64 bits of a stream, and numbers of bits. ``draw_between`` is neither 0 nor 1."""
