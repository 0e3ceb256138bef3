// Derivatives of distribution functions in their parameters; see special.cpp.
#pragma once

#include "ufuncs.h"

#include <string_view>

namespace wengert {

// A loop over float64, called as those of ufuncs are. By name, operands, and the number of its variant:
// gammainc_by_a (a, x): the order of the derivative. betainc_by_parameters (a, b, x): 4 m + n, the orders in a and in b.
// student_by_v (v, t): the order. Orders are at least 1, and together at most 3.
UfuncLoop special_loop(std::string_view name, int64_t variant);

} // namespace wengert
