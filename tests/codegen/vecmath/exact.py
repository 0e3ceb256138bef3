"""The functions that are exact: equal to NumPy's bit for bit. All others are compared with mpmath."""

UNARY = [
    "negative", "positive", "conjugate", "square", "sqrt", "absolute", "fabs", "sign", "floor", "ceil", "trunc",
    "rint", "reciprocal", "deg2rad", "rad2deg", "radians", "degrees", "isnan", "isinf", "isfinite", "signbit",
    "spacing", "logical_not", "invert", "bitwise_count",
]  # fmt: skip
BINARY = [
    "add", "subtract", "multiply", "divide", "floor_divide", "remainder", "fmod", "maximum", "minimum", "fmax",
    "fmin", "copysign", "heaviside", "nextafter", "less", "less_equal", "greater", "greater_equal", "equal",
    "not_equal", "logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor", "left_shift",
    "right_shift",
]  # fmt: skip
