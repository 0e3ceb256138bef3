// Derivatives of the incomplete gamma and beta functions and of Student's distribution in their parameters.
//
// Near the middle of the range, first derivatives are those of a series or a continued fraction, term by term. All
// others are integrals, by the double exponential rules, exactly as ops/special/distributions.py has them, where the
// formulas are explained. Which side a series or fraction is taken on is chosen so that its terms have one sign, or
// cancel little.
#include "special.h"
#include "../../native/platform.h"

#include <cmath>
#include <limits>
#include <vector>

namespace wengert {

namespace {

constexpr double PI = 3.14159265358979323846, NOT_A_NUMBER = std::numeric_limits<double>::quiet_NaN();
constexpr double ROUNDING = std::numeric_limits<double>::epsilon();
constexpr int MOST_TERMS = 20000;

// ---------------------------------------------------------------------------------------- the gamma function's family

// log Γ(z) − (z − ½) log z + z − ½ log 2π for z ≥ 30 (DLMF 5.11.1).
double stirling(double z) {
    const double w = 1 / (z * z);
    return (1.0 / 12 - w * (1.0 / 360 - w * (1.0 / 1260 - w / 1680))) / z;
}

// ψ(z) − log z for z ≥ 12 (DLMF 5.11.2).
double psi_tail(double z) {
    const double w = 1 / (z * z);
    const double inner = 1.0 / 132 - w * (691.0 / 32760 - w / 12);
    return -0.5 / z - w * (1.0 / 12 - w * (1.0 / 120 - w * (1.0 / 252 - w * (1.0 / 240 - w * inner))));
}

double psi(double z) { // z > 0
    double total = 0;
    for (; z < 12; z += 1) total -= 1 / z;
    return total + std::log(z) + psi_tail(z);
}

double psi_rest(double z) { return z > 30 ? psi_tail(z) : psi(z) - std::log(z); }

// ψ⁽ⁿ⁾(z) for n = 1, 2, z > 0 (DLMF 5.15.8, behind the recurrence 5.15.5).
double polygamma(int n, double z) {
    double total = 0;
    for (; z < 16; z += 1) total += n == 1 ? 1 / (z * z) : 2 / (z * z * z);
    const double w = 1 / (z * z);
    if (n == 1) {
        const double inner = 1.0 / 6 - w * (1.0 / 30 - w * (1.0 / 42 - w * (1.0 / 30 - w * (5.0 / 66 - w * 691 / 2730))));
        return total + 1 / z + 0.5 * w + w / z * inner;
    }
    const double inner = 0.5 - w * (1.0 / 6 - w * (1.0 / 6 - w * (0.3 - w * (5.0 / 6 - w * 691 / 210))));
    return -(total + w + w / z + w * w * inner);
}

double log_gamma(double z) { return log_gamma_of(z); }

// ψ(a) − ψ(a + b), also where the two are close.
double psi_gap(double a, double b) {
    if (b < 1e-5 * a) { // by the derivatives at a
        const double third = -polygamma(2, a) / 2; // ζ(3, a)
        return -b * (polygamma(1, a) - b * third);
    }
    return a > 30 ? psi_tail(a) - psi_tail(a + b) - std::log1p(b / a) : psi(a) - psi(a + b);
}

// log(x/y), without the rounding of a ratio near 1.
double log_ratio(double x, double y) {
    return std::abs(x - y) < 0.5 * y ? std::log1p((x - y) / y) : std::log(x) - std::log(y);
}

double log_sum(double x, double y) { // log(eˣ + eʸ)
    const double most = std::max(x, y), least = std::min(x, y);
    return most + std::log1p(std::exp(least - most));
}

// -------------------------------------------------------------------------------------------------------- quadrature

struct Node {
    double place, weight;
};

constexpr double STEP = 0.05, FARTHEST = 1e306;

std::vector<Node> outward_nodes() {
    std::vector<Node> made;
    for (int k = 0; k < 144; k++) {
        const double u = -3.9 + k * STEP;
        made.push_back({std::exp(PI / 2 * std::sinh(u)), PI / 2 * std::cosh(u) * STEP});
    }
    return made;
}

std::vector<Node> inner_nodes() {
    std::vector<Node> made;
    for (int k = 0; k <= 128; k++) {
        const double u = -3.2 + k * STEP, inner = PI / 2 * std::sinh(u), c = std::cosh(inner);
        made.push_back({std::tanh(inner), PI / 2 * std::cosh(u) / (c * c) * STEP});
    }
    return made;
}

// ∫ f from `start` to infinity, upward or downward, by the exp-sinh rule.
template <class F> double outward(const F &f, double start, double way, double scale) {
    static const std::vector<Node> nodes = outward_nodes();
    double total = 0;
    for (const Node &node : nodes) {
        const double step = std::min(scale * node.place, FARTHEST);
        total += f(start + way * step) * step * node.weight;
    }
    return total;
}

// ∫ f from `low` to `high` by the tanh-sinh rule.
template <class F> double between(const F &f, double low, double high) {
    static const std::vector<Node> nodes = inner_nodes();
    const double middle = 0.5 * (low + high), half = 0.5 * (high - low);
    double total = 0;
    for (const Node &node : nodes) total += f(middle + half * node.place) * node.weight;
    return total * half;
}

// ∫ f from `start` to infinity, for an f that varies slowly up to `knee`, and then falls off at `rate`.
template <class F> double side(const F &f, double start, double way, double scale, double knee, double rate) {
    const double wide = std::max(1.0, 1 / rate);
    if (scale > 1) scale = std::max(scale, wide);
    if (!(scale > 1 && way * (knee - start) > 0)) return outward(f, start, way, scale);
    const double first = way > 0 ? between(f, start, knee) : between(f, knee, start);
    return first + outward(f, knee, way, wide);
}

// The derivatives k of a logarithm, made into those of its exponential, over that (complete Bell polynomials).
double bell(int order, double k1, double k2, double k3) {
    return order == 1 ? k1 : order == 2 ? k1 * k1 + k2 : k1 * (k1 * k1 + 3 * k2) + k3;
}

// ------------------------------------------------------------------------------------------------- incomplete gamma

double gamma_integral(double a, double x, int order) {
    const double rest = psi_rest(a), k2 = order > 1 ? -polygamma(1, a) : 0, k3 = order > 2 ? -polygamma(2, a) : 0;
    const double top = a > 30 ? 0.5 * std::log(a / (2 * PI)) - stirling(a) : a * std::log(a) - a - log_gamma(a);
    const double end = log_ratio(x, a), way = end < rest ? -1 : 1;
    const auto f = [&](double d) { return std::exp(top + a * (d - std::expm1(d))) * bell(order, d - rest, k2, k3); };
    const double scale = 1 / std::max(std::abs(a - x), std::sqrt(x));
    return -way * side(f, end, way, scale, -std::log(a), way > 0 ? 1 : a);
}

// xᵃ e⁻ˣ / Γ(a)
double gamma_peak(double a, double x) {
    if (a > 30) {
        const double d = log_ratio(x, a);
        return std::sqrt(a / (2 * PI)) * std::exp(a * (d - std::expm1(d)) - stirling(a));
    }
    const double factor = a / std::tgamma(a + 1);
    return factor * (x < 600 ? std::pow(x, a) * std::exp(-x) : std::exp(a * std::log(x) - x));
}

// By P(a, x) = xᵃ e⁻ˣ / Γ(a + 1) Σ xᵏ / (a + 1)ₖ (DLMF 8.11.4).
double gamma_by_series(double a, double x, int order) {
    double term = 1, sums[4] = {1, 0, 0, 0}; // of the terms and of their derivatives
    double k1 = 0, k2 = 0, k3 = 0;           // derivatives of the logarithm of a term
    for (int k = 1; k < MOST_TERMS; k++) {
        const double inverse = 1 / (a + k);
        term *= x * inverse;
        k1 -= inverse;
        sums[0] += term;
        double last = term * k1;
        sums[1] += last;
        if (order > 1) {
            k2 += inverse * inverse;
            k3 -= 2 * inverse * inverse * inverse;
            last = term * bell(2, k1, k2, k3);
            sums[2] += last;
            if (order > 2) sums[3] += last = term * bell(3, k1, k2, k3);
        }
        if (term + std::abs(last) < 0.1 * ROUNDING * (sums[0] + std::abs(sums[order]))) break;
    }
    const double first = std::log(x) - psi(a + 1), peak = gamma_peak(a, x) / a;
    if (order == 1) return peak * (first * sums[0] + sums[1]);
    const double second = -polygamma(1, a + 1), third = order > 2 ? -polygamma(2, a + 1) : 0;
    const double twice = bell(2, first, second, third);
    if (order == 2) return peak * (twice * sums[0] + 2 * first * sums[1] + sums[2]);
    return peak * (bell(3, first, second, third) * sums[0] + 3 * twice * sums[1] + 3 * first * sums[2] + sums[3]);
}

// By Γ(a, x) = e⁻ˣ xᵃ / (x + 1 − a − 1 (1 − a)/(x + 3 − a − 2 (2 − a)/(x + 5 − a − ...))) (DLMF 8.9.2), by Lentz's
// method (Press et al., Numerical Recipes, 5.2).
double gamma_by_fraction(double a, double x) {
    double b = x + 1 - a, c = 1e300, by_c = 0, d = 1 / b, by_d = d * d, h = d, by_log = d;
    for (int k = 1; k < MOST_TERMS; k++) {
        const double numerator = -k * (k - a);
        b += 2;
        const double below = numerator * d + b, by_below = k * d + numerator * by_d - 1;
        const double inverse = 1 / c, above = b + numerator * inverse;
        by_c = -1 + (k - numerator * by_c * inverse) * inverse;
        c = above;
        d = 1 / below;
        by_d = -by_below * d * d;
        const double factor = c * d, moved = by_c / c - by_below * d;
        h *= factor;
        by_log += moved;
        if (std::abs(factor - 1) < ROUNDING && std::abs(moved) < ROUNDING * std::abs(by_log)) break;
    }
    return -gamma_peak(a, x) * h * (std::log(x) - psi(a) + by_log);
}

constexpr double FEW_TERMS = 300; // parameters beyond which a series has more terms than an integral

double gamma_by(double a, double x, int order) {
    if (!(a > 0) || !(x >= 0)) return NOT_A_NUMBER;
    if (x == 0 || std::isinf(x)) return 0;
    if (a > FEW_TERMS) return gamma_integral(a, x, order);
    if (x < std::max(2.0, a + 1)) return gamma_by_series(a, x, order);
    return order > 1 ? gamma_integral(a, x, order) : gamma_by_fraction(a, x);
}

// --------------------------------------------------------------------------------------------------- incomplete beta

// In d = log(t/(1 − t)) − log(a/b), the logarithm of tᵃ (1 − t)ᵇ / B(a, b) is top + a d − (a + b) moved(d).
struct Beta {
    double a, b, p, log_p, log_q, top;
    double rests[2]; // of the logarithms of t and 1 − t: what brings their means to 0

    Beta(double a, double b)
        : a(a), b(b), p(a / (a + b)), log_p(-std::log1p(b / a)), log_q(-std::log1p(a / b)) {
        if (std::min(a, b) > 30) {
            top = 0.5 * (std::log(a) + log_q - std::log(2 * PI)) - stirling(a) - stirling(b) + stirling(a + b);
        } else {
            const double small = std::min(a, b), large = std::max(a, b);
            const double one = (large - 0.5) * std::log1p(small / large) + small * std::log(a + b) - small;
            const double log_beta = large > 30 ? log_gamma(small) - one + stirling(large) - stirling(a + b)
                                               : log_gamma(a) + log_gamma(b) - log_gamma(a + b);
            top = a * log_p + b * log_q - log_beta;
        }
        const double both = psi_rest(a + b);
        rests[0] = a > 30 ? both - psi_rest(a) : log_p - psi_gap(a, b);
        rests[1] = b > 30 ? both - psi_rest(b) : log_q - psi_gap(b, a);
    }

    double moved(double d) const {
        return std::abs(d) < 1 ? std::log1p(p * std::expm1(d)) : log_sum(log_q, log_p + d);
    }
};

double beta_integral(double a, double b, double x, int m, int n) {
    const Beta beta(a, b);
    double k[4][4] = {}; // of the order 2 and 3
    for (int i = 0; i <= m; i++)
        for (int j = 0; j <= n; j++)
            if (i + j > 1) {
                const double own = j == 0 ? polygamma(i - 1, a) : i == 0 ? polygamma(j - 1, b) : 0;
                k[i][j] = polygamma(i + j - 1, a + b) - own;
            }
    const auto f = [&](double d) {
        const double moved = beta.moved(d), u = d - moved + beta.rests[0], v = beta.rests[1] - moved;
        double factor;
        if (n == 0) factor = bell(m, u, k[2][0], k[3][0]);
        else if (m == 0) factor = bell(n, v, k[0][2], k[0][3]);
        else if (m == 1 && n == 1) factor = u * v + k[1][1];
        else if (m == 2) factor = v * (u * u + k[2][0]) + 2 * u * k[1][1] + k[2][1];
        else factor = u * (v * v + k[0][2]) + 2 * v * k[1][1] + k[1][2];
        return std::exp(beta.top + a * d - (a + b) * moved) * factor;
    };
    const double end = log_ratio(x * b, a * (1 - x)), moved = beta.moved(end);
    const double by_own = m > 0 ? end - moved + beta.rests[0] : beta.rests[1] - moved;
    const double way = (by_own < 0) == (m > 0) ? -1 : 1;
    const double peak = std::log(a) - std::log(b);
    const double knee = (way > 0 ? -std::log(std::max(b, 1.0)) : std::log(std::max(a, 1.0))) - peak;
    const double slope = std::min(a, b) > 30 ? b * x - a * (1 - x) : a - (a + b) * x;
    const double scale = 1 / std::max(std::abs(slope), std::sqrt((a + b) * x * (1 - x)));
    return -way * side(f, end, way, scale, knee, way > 0 ? b : a);
}

// By I(a, b, x) = xᵃ (1 − x)ᵇ / a B(a, b) / (1 + d₁/(1 + d₂/(1 + ...))) (DLMF 8.17.22), x below the mean. `y` is 1 − x.
double beta_by_fraction(double a, double b, double x, double y, bool by_second) {
    const double sum = a + b;
    double c = 1, by_c = 0, below = 1 - sum * x / (a + 1);
    double by_below = by_second ? -x / (a + 1) : x * (b - 1) / ((a + 1) * (a + 1)); // of a + b over a + 1
    double d = 1 / below, by_d = -by_below * d * d, h = d, by_log = -by_below * d;
    double last = 0;
    const auto step = [&](double numerator, double by_numerator) {
        below = 1 + numerator * d;
        by_below = by_numerator * d + numerator * by_d;
        const double inverse = 1 / c;
        by_c = (by_numerator - numerator * by_c * inverse) * inverse;
        c = 1 + numerator * inverse;
        d = 1 / below;
        by_d = -by_below * d * d;
        const double moved = by_c / c - by_below * d;
        h *= c * d;
        by_log += moved;
        last = std::max(std::abs(c * d - 1), std::abs(moved) / std::abs(by_log) * 0.5);
    };
    for (int m = 1; m < MOST_TERMS; m++) {
        const double even = a + 2 * m, before = 1 / (even - 1), here = 1 / even, behind = 1 / (even + 1);
        const double first = m * x * before * here;
        step(first * (b - m), by_second ? first : -first * (b - m) * (before + here));
        const double one = last, second = -x * here * behind, p = a + m, q = sum + m;
        step(second * p * q, by_second ? second * p : second * (p + q) - second * p * q * (here + behind));
        if (one < ROUNDING && last < ROUNDING) break;
    }
    const Beta beta(a, b);
    const double end = log_ratio(x * b, a * y), moved = beta.moved(end);
    double logarithmic = beta.rests[1] - moved;
    if (!by_second) logarithmic = a > 30 ? end - moved + beta.rests[0] - 1 / a : std::log(x) + psi(sum) - psi(a + 1);
    return std::exp(beta.top + a * end - sum * moved) / a * h * (logarithmic + by_log);
}

double beta_by(double a, double b, double x, int m, int n) {
    if (!(a > 0) || !(b > 0) || !(x >= 0 && x <= 1)) return NOT_A_NUMBER;
    if (x == 0 || x == 1) return 0;
    const double most = std::max(a, b);
    if (m + n > 1 || most > 3 * FEW_TERMS || std::min(a, b) < 1e-4) return beta_integral(a, b, x, m, n);
    if (x < (a + 1) / (a + b + 2)) return beta_by_fraction(a, b, x, 1 - x, n == 1);
    return -beta_by_fraction(b, a, 1 - x, x, m == 1);
}

// -------------------------------------------------------------------------------------------- Student's distribution

// ∂ⁿ/∂vⁿ of the logarithm of the density, for ratio = t²/v; what depends on v alone is computed once.
struct Student {
    double v, level, gaps[4] = {};

    Student(double v, int order) : v(v) {
        const double w = 1 / (v * v), far = w * (0.5 - w * (0.25 - 0.5 * w));
        level = v > 200 ? far : -psi_gap(0.5 * v, 0.5) - 1 / v;
        for (int n = 2; n <= order; n++) gaps[n] = polygamma(n - 1, 0.5 * (v + 1)) - polygamma(n - 1, 0.5 * v);
    }

    double kappa(double ratio, int n) const {
        const double grown = 1 + ratio, share = ratio / grown;
        if (n == 2) {
            const double inner = (v + 1) * (1 - 1 / (grown * grown)) / (v * v);
            return gaps[2] / 4 + 0.5 / (v * v) - 0.5 * inner + ratio / (v * grown);
        }
        if (n == 3) {
            const double cube = v * v * v, inner = (v + 1) * (1 - 1 / (grown * grown * grown)) / cube * 2;
            const double outer = 3 * (1 - 1 / (grown * grown)) / (v * v);
            return gaps[3] / 8 - 1 / cube + 0.5 * inner - 0.5 * outer;
        }
        double bend = 0; // log(1 − s) + s of s = ratio/(1 + ratio)
        if (share < 0.05) {
            for (int k = 13; k >= 2; k--) bend = bend * share + 1.0 / k;
            bend *= -share * share;
        } else {
            bend = share - std::log1p(ratio);
        }
        return 0.5 * (level + bend + share / v);
    }
};

double student_integral(double v, double t, int order) {
    const double log_beta = v > 60 ? 0.5 * std::log(2 * PI / v) + stirling(0.5 * v) - stirling(0.5 * v + 0.5) -
                                         0.5 * v * std::log1p(1 / v) + 0.5
                                   : log_gamma(0.5 * v) + log_gamma(0.5) - log_gamma(0.5 * v + 0.5);
    const double level = -0.5 * std::log(v) - log_beta, end = std::log(std::abs(t)), middle = 0.5 * std::log(v);
    const Student student(v, order);
    const auto ratio_at = [&](double s) { return std::exp(std::min(2 * (s - middle), 700.0)); };
    const auto f = [&](double s) {
        const double ratio = ratio_at(s), k1 = student.kappa(ratio, 1);
        const double k2 = order > 1 ? student.kappa(ratio, 2) : 0, k3 = order > 2 ? student.kappa(ratio, 3) : 0;
        const double logarithm = log_sum(0, 2 * (s - middle));
        return std::exp(level + s - 0.5 * (v + 1) * logarithm) * bell(order, k1, k2, k3);
    };
    const double ratio = ratio_at(end), way = student.kappa(ratio, 1) < 0 ? 1 : -1, share = ratio / (1 + ratio);
    const double slope = 1 - (v + 1) * share, curvature = 2 * (v + 1) * share * (1 - share);
    const double scale = 1 / std::max(std::abs(slope), std::sqrt(curvature));
    const double value = way * side(f, end, way, scale, middle, way > 0 ? v : 1);
    return t > 0 ? -value : value;
}

double student_by(double v, double t, int order) {
    if (!(v > 0)) return NOT_A_NUMBER;
    if (t == 0 || std::isinf(t)) return 0;
    if (order > 1 || v > 30 || v < 1e-2 || std::abs(t) > 1e100 || std::isnan(t)) return student_integral(v, t, order);
    // F = ½ I(v/2, ½, w), w = v/(v + t²), for t < 0
    const double square = t * t, whole = v + square, w = v / whole, y = square / whole, a = 0.5 * v;
    const double by_a = w < (a + 1) / (a + 2.5) ? beta_by_fraction(a, 0.5, w, y, false)
                                                : -beta_by_fraction(0.5, a, y, w, true);
    const Beta beta(a, 0.5);
    const double end = log_ratio(w * 0.5, a * y);
    const double density = std::exp(beta.top + a * end - (a + 0.5) * beta.moved(end)); // times w (1 − w)
    const double value = 0.5 * (0.5 * by_a + density / v); // ∂w/∂v = w (1 − w) / v
    return t < 0 ? value : -value;
}

// -------------------------------------------------------------------------------------------------------------- loops

using Size = const npy_intp *;

double number(const char *at) { return *reinterpret_cast<const double *>(at); }

void gamma_loop(char **args, Size dimensions, Size steps, void *data) {
    const int order = static_cast<int>(reinterpret_cast<intptr_t>(data));
    for (npy_intp i = 0; i < dimensions[0]; i++)
        *reinterpret_cast<double *>(args[2] + i * steps[2]) =
            gamma_by(number(args[0] + i * steps[0]), number(args[1] + i * steps[1]), order);
}

void beta_loop(char **args, Size dimensions, Size steps, void *data) {
    const int variant = static_cast<int>(reinterpret_cast<intptr_t>(data));
    for (npy_intp i = 0; i < dimensions[0]; i++)
        *reinterpret_cast<double *>(args[3] + i * steps[3]) =
            beta_by(number(args[0] + i * steps[0]), number(args[1] + i * steps[1]), number(args[2] + i * steps[2]),
                    variant / 4, variant % 4);
}

void student_loop(char **args, Size dimensions, Size steps, void *data) {
    const int order = static_cast<int>(reinterpret_cast<intptr_t>(data));
    for (npy_intp i = 0; i < dimensions[0]; i++)
        *reinterpret_cast<double *>(args[2] + i * steps[2]) =
            student_by(number(args[0] + i * steps[0]), number(args[1] + i * steps[1]), order);
}

} // namespace

UfuncLoop special_loop(std::string_view name, int64_t variant) {
    void *data = reinterpret_cast<void *>(static_cast<intptr_t>(variant));
    if (name == "gammainc_by_a") return {reinterpret_cast<void *>(gamma_loop), data};
    if (name == "betainc_by_parameters") return {reinterpret_cast<void *>(beta_loop), data};
    if (name == "student_by_v") return {reinterpret_cast<void *>(student_loop), data};
    return {};
}

} // namespace wengert
