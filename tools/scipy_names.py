"""Lists of SciPy's public functions that no table knows: which have no derivative, and which are not mathematics.

Each list is names by module, with ``*`` for any text. A name is in one list alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase


def listed(names: Mapping[str, str], module: str, name: str) -> bool:
    """Whether a list has a function of a module."""
    return any(fnmatchcase(name, pattern) for pattern in names.get(module, "").split())


FLAT = {
    "cluster.hierarchy": "correspond cut_tree dendrogram fcluster fclusterdata is_* leaders leaves_list "
    "num_obs_linkage optimal_leaf_ordering",
    "constants": "precision unit value",
    "fft": "fftfreq rfftfreq next_fast_len prev_fast_len",
    "fftpack": "fftfreq rfftfreq next_fast_len",
    "integrate": "newton_cotes lebedev_rule",
    "interpolate": "NearestNDInterpolator generate_knots",
    "linalg": "bandwidth clarkson_woodruff_transform dft diagsvd expm_cond find_best_blas_type get_blas_funcs "
    "get_lapack_funcs hadamard helmert hilbert invhilbert invpascal ishermitian issymmetric pascal signm",
    "linalg.interpolative": "estimate_rank",
    "ndimage": "binary_* distance_transform_* find_objects generate_binary_structure histogram iterate_structure "
    "label maximum_position minimum_position value_indices watershed_ift",
    "optimize": "linear_sum_assignment quadratic_assignment milp",
    "optimize.elementwise": "bracket_root bracket_minimum",
    "signal": "argrelextrema argrelmax argrelmin buttap besselap buttord cheb1ord cheb2ord ellipord check_COLA "
    "check_NOLA choose_conv_method correlation_lags find_peaks find_peaks_cwt findfreqs kaiserord max_len_seq "
    "unit_impulse bessel gammatone savgol_coeffs",
    "signal.windows": "barthann bartlett blackman blackmanharris bohman boxcar cosine flattop hamming hann lanczos "
    "nuttall parzen triang",
    "sparse": "eye eye_array get_index_dtype identity issparse isspmatrix* rand random random_array "
    "safely_cast_index_arrays",
    "sparse.linalg": "is_sptriangular spbandwidth",
    "sparse.csgraph": "connected_components breadth_first_order depth_first_order reverse_cuthill_mckee maximum_flow "
    "maximum_bipartite_matching min_weight_full_bipartite_matching structural_rank",
    "spatial": "tsearch",
    "spatial.distance": "is_valid_dm is_valid_y num_obs_dm num_obs_y dice hamming jaccard rogerstanimoto russellrao "
    "sokalsneath yule",
    "special": "*_zeros *_roots roots_* bernoulli euler factorial factorial2 factorialk perm stirling2",
    "stats": "kendalltau rankdata tiecorrect ortho_group random_table "
    "special_ortho_group uniform_direction unitary_group mode median_test fisher_exact barnard_exact boschloo_exact "
    "cumfreq relfreq binomtest mannwhitneyu wilcoxon kruskal friedmanchisquare ranksums spearmanr page_trend_test "
    "somersd weightedtau ansari mood percentileofscore fligner brunnermunzel "
    "multivariate_hypergeom chatterjeexi spearmanrho poisson_means_test quantile_test bws_test",
    "stats.contingency": "crosstab",
    "stats.qmc": "Sobol Halton LatinHypercube PoissonDisk MultinomialQMC",
    "stats.mstats": "argstoarray count_tied_groups find_repeats kendalltau* kruskal* mannwhitneyu mode rankdata "
    "spearmanr friedmanchisquare brunnermunzel",
}
"""Functions whose result has no derivative with respect to any argument: integers, booleans, indices, ranks, tables of
constants, random draws without a parameter."""

OUTSIDE = {
    "cluster.hierarchy": "ClusterNode DisjointSet set_link_color_palette",
    "constants": "find",
    "datasets": "*",
    "fft": "*_backend get_workers set_workers",
    "integrate": "OdeSolver DenseOutput",
    "io": "*",
    "io.arff": "*",
    "io.matlab": "*",
    "io.wavfile": "*",
    "optimize": "Bounds HessianUpdateStrategy OptimizeResult RootResults linprog_verbose_callback show_options "
    "BFGS SR1 LinearConstraint NonlinearConstraint *Jacobian BroydenFirst LbfgsInvHessProduct",
    "sparse": "load_npz save_npz sparray spmatrix",
    "sparse.linalg": "use_solver",
    "spatial": "*_plot_2d Rectangle",
    "special": "errstate geterr seterr",
    "stats": "BootstrapMethod CensoredData MonteCarloMethod PermutationMethod rv_continuous rv_discrete "
    "make_distribution boxcox_normplot yeojohnson_normplot ppcc_plot",
    "stats.qmc": "QMCEngine",
}
"""Functions and classes about text, files and pictures, switches, base classes, and records of options or results."""

OWN_CODE: dict[str, str] = {
    "fftpack": "fftshift ifftshift",
    "integrate": "trapezoid cubature cumulative_simpson",
    "linalg": "solve_lyapunov",
    "optimize": "rosen rosen_der",
    "stats": "Normal Uniform Logistic Binomial Covariance abs alexandergovern anderson bayes_mvs bootstrap "
    "chi2_contingency cramervonmises cramervonmises_2samp directional_stats ecdf exp expectile false_discovery_control "
    "ks_1samp kstat kstatvar kstest lmoment log logrank monte_carlo_test mvsdist order_statistic permutation_test "
    "probplot quantile rv_histogram sigmaclip sobol_indices studentized_range theilslopes tukey_hsd",
    "stats.contingency": "expected_freq margins",
    "stats.qmc": "scale geometric_discrepancy",
    "sparse": "b*_array c*_array d*_array lil_array *_matrix kronsum spdiags",
    "sparse.linalg": "LaplacianNd LinearOperator aslinearoperator expm expm_multiply inv matrix_power norm onenormest",
    "sparse.csgraph": "laplacian",
    "cluster.hierarchy": "average centroid complete median single ward weighted",
    "interpolate": "AAA Akima1DInterpolator BPoly BSpline BarycentricInterpolator BivariateSpline CubicHermiteSpline "
    "CubicSpline FloaterHormannInterpolator KroghInterpolator LSQBivariateSpline LinearNDInterpolator "
    "NdBSpline NdPPoly PPoly PchipInterpolator Rbf RectBivariateSpline RegularGridInterpolator "
    "SmoothBivariateSpline approximate_taylor_polynomial barycentric_interpolate bisplev griddata insert "
    "interp1d interpn krogh_interpolate lagrange make_interp_spline make_smoothing_spline pade "
    "pchip_interpolate spalde splantider splder splev splint splrep sproot",
    "special": "assoc_laguerre chebyc chebys chebyt chebyu comb gegenbauer genlaguerre h1vp h2vp hermite hermitenorm "
    "ivp jacobi jvp kvp laguerre lambertw legendre sh_chebyt sh_chebyu sh_jacobi sh_legendre sinc softplus "
    "spherical_in spherical_jn spherical_kn spherical_yn yvp zeta",
    "signal": "CZT ShortTimeFFT StateSpace TransferFunction ZerosPolesGain ZoomFFT abcd_normalize band_stop_obj "
    "bilinear bilinear_zpk bode butter cheb1ap cheb2ap cheby1 cheby2 chirp closest_STFT_dual_window coherence "
    "cont2discrete convolve convolve2d correlate correlate2d csd cspline1d cspline1d_eval cspline2d czt "
    "czt_points dbode decimate deconvolve dfreqresp dimpulse dlsim dlti dstep ellip ellipap envelope "
    "fftconvolve filtfilt firls firwin firwin2 freqresp freqs freqs_zpk freqz freqz_sos freqz_zpk "
    "gauss_spline gausspulse get_window group_delay hilbert hilbert2 iircomb iirdesign iirfilter iirnotch "
    "iirpeak impulse invres invresz istft kaiser_atten kaiser_beta lfilter lombscargle lp2* lsim lti "
    "minimum_phase normalize oaconvolve peak_prominences peak_widths periodogram place_poles qspline1d "
    "qspline1d_eval qspline2d resample resample_poly residue residuez sawtooth sepfir2d sos2tf sos2zpk "
    "sosfilt sosfilt_zi sosfiltfilt sosfreqz spectrogram spline_filter square ss2tf ss2zpk step stft "
    "sweep_poly symiirorder1 symiirorder2 tf2sos tf2ss tf2zpk vectorstrength welch wiener zoom_fft zpk2sos "
    "zpk2ss zpk2tf firwin_2d",
    "signal.windows": "chebwin exponential gaussian general_cosine general_gaussian general_hamming kaiser "
    "kaiser_bessel_derived dpss taylor tukey",
}
"""Functions that are traced through SciPy's own array code, without an entry in a table."""

WHY: dict[str, dict[str, str]] = {
    "masked arrays are not traced; scipy.stats has the same function for arrays": {"stats.mstats": "*"},
}
"""Why functions are refused, where no entry of :func:`wengert.of_scipy.refusing.refuses` says it."""
