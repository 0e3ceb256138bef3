// Angles beyond the reach of subtraction: x modulo π/2 for any double, after Payne and Hanek (1983).
//
// x = m 2ᴱ with an integer m of 53 bits. Of x · 2/π only what is left of multiples of 4 matters: m times a window of
// 192 bits of 2/π, which starts where the weight is 2. No double comes closer than 2^-61.6 to a multiple of π/2 (as a
// part of π/2), so 137 good bits of the fraction are more than enough. Kernels call it in a branch that ordinary angles
// never take.
#include "../../native/platform.h"
#include "layout.h"

#include <bit>

namespace wengert {

namespace {

constexpr uint64_t TWO_OVER_PI[] = { // 64 zeros, then the binary digits of 2/π
    0x0000000000000000, 0xA2F9836E4E441529, 0xFC2757D1F534DDC0, 0xDB6295993C439041, 0xFE5163ABDEBBC561,
    0xB7246E3A424DD2E0, 0x06492EEA09D1921C, 0xFE1DEB1CB129A73E, 0xE88235F52EBB4484, 0xE99C7026B45F7E41,
    0x3991D639835339F4, 0x9C845F8BBDF9283B, 0x1FF897FFDE05980F, 0xEF2F118B5A0A6D1F, 0x6D367ECF27CB09B7,
    0x4F463F669E5FEA2D, 0x7527BAC7EBE5F17B, 0x3D0739F78A5292EA, 0x6BFB5FB11F8D5D08, 0x56033046FC7B6BAB,
    0xF0CFBC209AF4361D, 0xA9E391615EE61B08,
};
constexpr double HALF_PI = 0x1.921FB54442D18p+0, HALF_PI_LOW = 0x1.1A62633145C07p-54;
constexpr double HALF_PI_A = 0x1.921FB5p+0, HALF_PI_B = 0x1.110B46p-26; // HALF_PI in parts of 26 bits

// The upper word of (high : low) << n, for n < 64.
uint64_t shifted(uint64_t high, uint64_t low, uint64_t n) { return n == 0 ? high : high << n | low >> (64 - n); }

struct Reduced {
    double r, low; // the angle in [-π/4, π/4], as a sum
    int64_t quadrant;
};

Reduced reduce(double x) {
    const uint64_t bits = std::bit_cast<uint64_t>(x);
    const uint64_t m = (bits & 0xFFFFFFFFFFFFF) | (uint64_t(1) << 52);
    const uint64_t start = (bits >> 52 & 2047) - 1013; // of the window, in bits
    const uint64_t *t = TWO_OVER_PI + start / 64, shift = start % 64;
    const uint64_t w0 = shifted(t[0], t[1], shift), w1 = shifted(t[1], t[2], shift), w2 = shifted(t[2], t[3], shift);
    const Wide bottom = multiply_add(m, w2, 0), middle = multiply_add(m, w1, bottom.high);
    const uint64_t p2 = m * w0 + middle.high, p1 = middle.low, p0 = bottom.low;

    // The two bits above the point are the quadrant; of the fraction, the distance from the nearest whole number.
    const uint64_t f2 = shifted(p2, p1, 2), f1 = shifted(p1, p0, 2), f0 = p0 << 2;
    const uint64_t is_beyond = f2 >> 63, flip = 0 - is_beyond;
    const uint64_t quadrant = (p2 >> 62) + is_beyond;
    const uint64_t d2 = f2 ^ flip, d1 = f1 ^ flip, d0 = f0 ^ flip;
    const auto zeros = static_cast<uint64_t>(std::countl_zero(d2)); // at most 61
    const uint64_t n2 = shifted(d2, d1, zeros), n1 = shifted(d1, d0, zeros);

    // The distance times π/2: the first 53 bits in two parts whose products are exact, then 53 more.
    const double u = double(n2 >> 38) * 0x1p-26, v = double(n2 >> 11 & 0x7FFFFFF) * 0x1p-53;
    const double y = double(shifted(n2, n1, 53) >> 11) * 0x1p-106;
    const double sum = u + v, p = sum * HALF_PI;
    const double q = (u * HALF_PI_A - p + u * HALF_PI_B + v * HALF_PI_A + v * HALF_PI_B) +
                     (sum * HALF_PI_LOW + y * HALF_PI);

    const uint64_t sign = 0 - (bits >> 63);
    const uint64_t exponent = (1023 - zeros) << 52;
    const auto scale = std::bit_cast<double>(exponent | ((flip ^ sign) & uint64_t(1) << 63));
    return {p * scale, q * scale, static_cast<int64_t>((quadrant ^ sign) - sign)};
}

} // namespace

void reduce_huge(double *numbers, int64_t n) {
    auto *quadrants = reinterpret_cast<int64_t *>(numbers + 2 * n);
    for (int64_t i = 0; i < n; i++) {
        const Reduced reduced = reduce(numbers[i]);
        numbers[i] = reduced.r;
        numbers[n + i] = reduced.low;
        quadrants[i] = reduced.quadrant;
    }
}

} // namespace wengert
