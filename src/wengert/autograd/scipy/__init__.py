"""SciPy, which wengert traces: the modules that autograd has."""

from wengert.autograd.scipy import integrate as integrate
from wengert.autograd.scipy import signal as signal
from wengert.autograd.scipy import special as special
from wengert.autograd.scipy import stats as stats
