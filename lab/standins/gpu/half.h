/* Sums of IEEE half precision numbers, rounded to nearest even after each, as a GPU makes them. */
#ifndef HALF_H
#define HALF_H
#include <stdint.h>
#include <stddef.h>
#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

static float half_to_float(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31, rest = half & 1023, bits;
    float value;
    if (exponent == 0) {
        value = (float)rest / 16777216.0f;
        return sign ? -value : value;
    }
    bits = sign | (exponent == 31 ? 0x7f800000u : (exponent + 112) << 23) | rest << 13;
    memcpy(&value, &bits, 4);
    return value;
}

static uint16_t float_to_half(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, 4);
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    bits &= 0x7fffffff;
    if (bits > 0x7f800000)
        return sign | 0x7e00;
    if (bits >= 0x477ff000)
        return sign | 0x7c00;
    if (bits < 0x38800000) { /* below 2^-14: count in steps of 2^-24, and let the addition round */
        float size, steps;
        memcpy(&size, &bits, 4);
        steps = size * 16777216.0f + 8388608.0f;
        memcpy(&bits, &steps, 4);
        return sign | (uint16_t)(bits - 0x4b000000);
    }
    return sign | (uint16_t)((bits - 0x38000000 + 0xfff + (bits >> 13 & 1)) >> 13);
}

#ifdef __x86_64__
__attribute__((target("avx,f16c"))) static size_t add_halves_fast(uint16_t *to, const uint16_t *more, size_t count)
{
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        __m256 a = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(to + i)));
        __m256 b = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(more + i)));
        _mm_storeu_si128((__m128i *)(to + i), _mm256_cvtps_ph(_mm256_add_ps(a, b), _MM_FROUND_TO_NEAREST_INT));
    }
    return i;
}
#endif

/* to[i] += more[i]. A float holds the exact sum of two halves or rounds it far below a half's last bit: no double
 * rounding. */
static void add_halves(uint16_t *to, const uint16_t *more, size_t count)
{
    size_t i = 0;
#ifdef __x86_64__
    if (__builtin_cpu_supports("f16c") && __builtin_cpu_supports("avx"))
        i = add_halves_fast(to, more, count);
#endif
    for (; i < count; i++)
        to[i] = float_to_half(half_to_float(to[i]) + half_to_float(more[i]));
}
#endif
