"""Public packages that are Python code on NumPy and SciPy, functions of theirs, and changes of their state.

A function is an expression of an array ``x``; what is compared is its sum. It is smooth at its inputs.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Function(NamedTuple):
    """A call, and the numbers in ``x``."""

    call: str
    inputs: Any


class Change(NamedTuple):
    """A statement that changes what a package has, after which ``call`` gives another value. ``undo`` is needed where
    the statement is no assignment."""

    call: str
    inputs: Any
    change: str
    undo: str = ""


class Group(NamedTuple):
    """A package: the modules that are its own, how the user's module imports it, and what is called."""

    name: str
    modules: tuple[str, ...]
    setup: str
    functions: tuple[Function, ...]
    changes: tuple[Change, ...] = ()


def group(
    name: str, modules: str, setup: str, functions: list[tuple[Any, ...]], changes: list[tuple[Any, ...]]
) -> Group:
    return Group(
        name, tuple(modules.split()), setup, tuple(Function(*f) for f in functions), tuple(Change(*c) for c in changes)
    )


GROUPS = [
    group(
        "psychrolib",
        "psychrolib",
        "import psychrolib\npsychrolib.SetUnitSystem(psychrolib.SI)",
        [
            ("psychrolib.GetHumRatioFromRelHum(x[0], x[1], x[2])", [25.0, 0.5, 101325.0]),
            ("psychrolib.GetTDewPointFromVapPres(x[0], x[1])", [25.0, 1500.0]),
            ("psychrolib.GetMoistAirEnthalpy(x[0], x[1])", [25.0, 0.01]),
            ("psychrolib.GetSatVapPres(x[0])", [25.0]),
            ("psychrolib.GetStandardAtmPressure(x[0])", [1000.0]),
            ("psychrolib.GetMoistAirDensity(x[0], x[1], x[2])", [25.0, 0.01, 101325.0]),
        ],
        [
            (
                "psychrolib.GetSatVapPres(x[0])",
                [25.0],
                "psychrolib.SetUnitSystem(psychrolib.IP)",
                "psychrolib.SetUnitSystem(psychrolib.SI)",
            ),
            (
                "psychrolib.GetMoistAirEnthalpy(x[0], x[1])",
                [25.0, 0.01],
                "psychrolib.SetUnitSystem(psychrolib.IP)",
                "psychrolib.SetUnitSystem(psychrolib.SI)",
            ),
            ("psychrolib.GetDryAirDensity(x[0], x[1])", [25.0, 101325.0], "psychrolib.R_DA_SI = 300.0"),
            ("psychrolib.GetHumRatioFromVapPres(x[0], x[1])", [1500.0, 101325.0], "psychrolib.MIN_HUM_RATIO = 1.0"),
            (
                "psychrolib.GetMoistAirDensity(x[0], x[1], x[2])",
                [25.0, 0.01, 101325.0],
                "psychrolib.GetMoistAirVolume = lambda t, w, p: t * w * p",
            ),
        ],
    ),
    group(
        "pvlib",
        "pvlib",
        "import pvlib",
        [
            ("pvlib.irradiance.aoi(20.0, 180.0, x[:2], x[2:])", [40.0, 50.0, 170.0, 200.0]),
            ("pvlib.irradiance.get_ground_diffuse(x[0], x[1:], surface_type='urban')", [30.0, 500.0, 700.0]),
            ("pvlib.irradiance.haydavies(30.0, 180.0, x[0], x[1], x[2], x[3], 160.0)", [120.0, 700.0, 1350.0, 35.0]),
            ("pvlib.atmosphere.alt2pres(x)", [100.0, 1500.0]),
            ("pvlib.atmosphere.gueymard94_pw(x[:2], x[2:])", [20.0, 25.0, 50.0, 60.0]),
            ("pvlib.temperature.sapm_cell(x[0], x[1], x[2], -3.47, -0.0594, 3.0)", [900.0, 20.0, 5.0]),
            ("pvlib.temperature.faiman(x[0], x[1], x[2])", [900.0, 20.0, 5.0]),
            ("pvlib.iam.physical(x)", [20.0, 40.0, 60.0]),
            ("pvlib.iam.martin_ruiz(x)", [20.0, 40.0, 60.0]),
            ("pvlib.pvsystem.pvwatts_dc(x[0], x[1], 240.0, -0.003)", [900.0, 40.0]),
            ("pvlib.atmosphere.get_relative_airmass(x)", [20.0, 40.0, 60.0]),
        ],
        [
            (
                "pvlib.irradiance.get_ground_diffuse(x[0], x[1:], surface_type='urban')",
                [30.0, 500.0, 700.0],
                "pvlib.albedo.SURFACE_ALBEDOS['urban'] = 0.5",
            ),
            (
                "pvlib.irradiance.get_ground_diffuse(x[0], x[1:], surface_type='grass')",
                [30.0, 500.0, 700.0],
                "pvlib.albedo.SURFACE_ALBEDOS['grass'] = 0.6",
            ),
            (
                "pvlib.temperature.pvsyst_cell(x[0], x[1], x[2], "
                "u_c=pvlib.temperature.TEMPERATURE_MODEL_PARAMETERS['pvsyst']['freestanding']['u_c'])",
                [900.0, 20.0, 5.0],
                "pvlib.temperature.TEMPERATURE_MODEL_PARAMETERS['pvsyst']['freestanding']['u_c'] = 20.0",
            ),
            (
                "pvlib.irradiance.aoi(20.0, 180.0, x[:2], x[2:])",
                [40.0, 50.0, 170.0, 200.0],
                "pvlib.tools.cosd = lambda a: 0.3 * np.sin(a)",
            ),
            ("pvlib.atmosphere.alt2pres(x)", [100.0, 1500.0], "pvlib.atmosphere.alt2pres = lambda z: 2.0 * z"),
        ],
    ),
    group(
        "colour",
        "colour",
        "import colour",
        [
            ("colour.XYZ_to_Lab(x)", [0.2, 0.12, 0.05]),
            ("colour.XYZ_to_xyY(x)", [0.2, 0.12, 0.05]),
            ("colour.XYZ_to_Luv(x)", [0.2, 0.12, 0.05]),
            ("colour.delta_E(x[:3], x[3:], method='CIE 1976')", [50.0, 20.0, 10.0, 55.0, 15.0, 12.0]),
            ("colour.delta_E(x[:3], x[3:], method='CIE 2000')", [50.0, 20.0, 10.0, 55.0, 15.0, 12.0]),
            ("colour.XYZ_to_sRGB(x)", [0.2, 0.22, 0.15]),
            ("colour.XYZ_to_Oklab(x)", [0.2, 0.12, 0.05]),
            ("colour.models.eotf_sRGB(x)", [0.2, 0.5, 0.7]),
        ],
        [
            (
                "colour.XYZ_to_Lab(x)",
                [0.2, 0.12, 0.05],
                "colour.set_domain_range_scale('1')",
                "colour.set_domain_range_scale('reference')",
            ),
            ("colour.XYZ_to_xyY(x)", [0.2, 0.12, 0.05], "colour.XYZ_to_xyY = lambda a: 2.0 * a"),
            ("colour.models.eotf_sRGB(x)", [0.2, 0.5, 0.7], "colour.models.eotf_sRGB = lambda a: 2.0 * a"),
        ],
    ),
    group(
        "fluids",
        "fluids",
        "import fluids\nimport fluids.atmosphere",
        [
            ("fluids.friction_factor(Re=x[0], eD=x[1])", [1e5, 1e-4]),
            ("fluids.Reynolds(V=x[0], D=x[1], rho=x[2], mu=x[3])", [2.5, 0.25, 1.1613, 1.9e-5]),
            ("fluids.bend_rounded(Di=x[0], angle=30.0, fd=x[1])", [4.0, 0.01]),
            ("fluids.drag_sphere(x[0])", [200.0]),
            ("fluids.contraction_sharp(Di1=x[0], Di2=x[1])", [1.0, 0.4]),
            (
                "fluids.dP_packed_bed(dp=x[0], voidage=x[1], vs=x[2], rho=x[3], mu=x[4])",
                [8e-4, 0.4, 1e-3, 1000.0, 1e-3],
            ),
            ("fluids.ATMOSPHERE_1976(x[0]).P", [5000.0]),
        ],
        [
            ("fluids.core.Froude(x[0], x[1])", [1.8, 2.0], "fluids.core.Froude.__defaults__ = (1.0, False)"),
            (
                "fluids.friction_factor(Re=x[0], eD=x[1])",
                [1e5, 1e-4],
                "fluids.friction.Clamond = lambda Re, eD, fast=False: Re * eD",
            ),
            (
                "fluids.Reynolds(V=x[0], D=x[1], rho=x[2], mu=x[3])",
                [2.5, 0.25, 1.1613, 1.9e-5],
                "fluids.Reynolds = lambda V, D, rho, mu: V",
            ),
        ],
    ),
    group(
        "chemicals",
        "chemicals",
        "import chemicals\nimport chemicals.virial, chemicals.vapor_pressure",
        [
            ("chemicals.Antoine(x[0], 8.95894, 510.595, -15.95)", [100.0]),
            ("chemicals.BVirial_Pitzer_Curl(x[0], 425.12, 3.796e6, 0.193)", [510.0]),
            ("chemicals.Rackett(x[0], 369.83, 4248000.0, 0.2763)", [272.0]),
            (
                "chemicals.Zabransky_quasi_polynomial(x[0], 591.79, -3.12743, 0.0857315, 13.7282, 1.28971, 6.42297, "
                "4.10989)",
                [330.0],
            ),
            ("chemicals.Z_from_virial_density_form(x[0], x[1], [x[2]])", [510.0, 2.1e5, -1e-4]),
            ("chemicals.iapws95_rho(x[0], x[1])", [330.0, 8e5]),
        ],
        [
            (
                "chemicals.virial.BVirial_Pitzer_Curl(x[0], 425.12, 3.796e6, 0.193)",
                [510.0],
                "chemicals.virial.R = 16.0",
            ),
            (
                "chemicals.virial.Z_from_virial_density_form(x[0], x[1], [x[2]])",
                [510.0, 2.1e5, -1e-4],
                "chemicals.virial.R = 16.0",
            ),
            (
                "chemicals.Antoine(x[0], 8.95894, 510.595, -15.95)",
                [100.0],
                "chemicals.vapor_pressure.Antoine.__defaults__ = (2.0,)",
            ),
        ],
    ),
    group(
        "ht",
        "ht",
        "import ht",
        [
            ("ht.LMTD(x[0], x[1], x[2], x[3])", [100.0, 60.0, 30.0, 40.2]),
            ("ht.conv_internal.turbulent_Dittus_Boelter(Re=x[0], Pr=x[1])", [1e5, 1.2]),
            ("ht.Nu_vertical_plate_Churchill(x[0], x[1])", [0.69, 2.63e9]),
            ("ht.radiation.blackbody_spectral_radiance(x[0], x[1])", [800.0, 4e-6]),
            ("ht.effectiveness_from_NTU(NTU=x[0], Cr=x[1], subtype='counterflow')", [5.0, 0.7]),
        ],
        [
            ("ht.radiation.q_rad(x[0], x[1])", [1.0, 400.0], "ht.radiation.sigma = 1e-8"),
            ("ht.Nu_cylinder_Zukauskas(x[0], x[1])", [7992.0, 0.707], "ht.Nu_cylinder_Zukauskas = lambda Re, Pr: Re"),
            (
                "ht.conv_internal.Nu_conv_internal(Re=x[0], Pr=x[1], fd=0.01, Method='Gnielinski')",
                [1e5, 0.7],
                "ht.conv_internal.turbulent_Gnielinski = lambda Re, Pr, fd: 2.0 * Re",
            ),
        ],
    ),
    group(
        "thermo",
        "thermo",
        "import thermo\nfrom thermo import eos",
        [
            ("thermo.nrtl.NRTL_gammas([x[0], x[1]], [[0.0, 0.9], [-0.3, 0.0]], [[0.0, 0.3], [0.3, 0.0]])", [0.4, 0.6]),
            ("thermo.wilson.Wilson_gammas([x[0], x[1]], [[1.0, 0.154], [0.888, 1.0]])", [0.252, 0.748]),
            ("thermo.eos.PR(T=x[0], P=x[1], Tc=507.6, Pc=3025000.0, omega=0.2975).Z_g", [500.0, 1e6]),
        ],
        [
            (
                "thermo.nrtl.NRTL_gammas([x[0], x[1]], [[0.0, 0.9], [-0.3, 0.0]], [[0.0, 0.3], [0.3, 0.0]])",
                [0.4, 0.6],
                "thermo.nrtl.exp = lambda v: 1.0 + v",
            ),
        ],
    ),
    group(
        "lmfit",
        "lmfit",
        "import lmfit\nfrom lmfit import lineshapes\nt = np.linspace(-1.0, 2.0, 20)\n"
        "model = lmfit.models.GaussianModel()",
        [
            ("lineshapes.gaussian(t, x[0], x[1], x[2])", [1.0, 0.2, 0.7]),
            ("lineshapes.voigt(t, x[0], x[1], x[2])", [1.0, 0.2, 0.7]),
            ("lineshapes.pearson7(t, x[0], x[1], x[2], x[3])", [1.0, 0.2, 0.7, 1.5]),
            ("lineshapes.doniach(t, x[0], x[1], x[2], x[3])", [1.0, 0.2, 0.7, 0.1]),
            ("lineshapes.moffat(t, x[0], x[1], x[2], x[3])", [1.0, 0.2, 0.7, 1.2]),
            ("model.eval(x=t, amplitude=x[0], center=x[1], sigma=x[2])", [1.0, 0.2, 0.7]),
        ],
        [
            ("lineshapes.gaussian(t, x[0], x[1], x[2])", [1.0, 0.2, 0.7], "lineshapes.s2pi = 3.0"),
            ("lineshapes.moffat(t, x[0], x[1], x[2], x[3])", [1.0, 0.2, 0.7, 1.2], "lineshapes.tiny = 4.0"),
            (
                "lineshapes.lorentzian(t, x[0], x[1])",
                [1.0, 0.2],
                "lineshapes.lorentzian.__defaults__ = (1.0, 0.0, 2.0)",
            ),
        ],
    ),
    group(
        "transforms3d",
        "transforms3d",
        "import transforms3d as t3",
        [
            ("t3.euler.euler2mat(x[0], x[1], x[2])", [0.1, 0.2, 0.3]),
            ("t3.quaternions.quat2mat(x)", [0.9, 0.1, 0.2, 0.3]),
            ("t3.quaternions.qmult(x[:4], x[4:])", [0.9, 0.1, 0.2, 0.3, 0.8, 0.2, 0.1, 0.4]),
            ("t3.axangles.axangle2mat(x[:3], x[3])", [0.3, 0.5, 0.8, 0.4]),
            ("t3.affines.compose(x[:3], np.eye(3), x[3:])", [1.0, 2.0, 3.0, 1.1, 1.2, 1.3]),
        ],
        [
            (
                "t3.euler.euler2mat(x[0], x[1], x[2], 'sxyz')",
                [0.1, 0.2, 0.3],
                "t3.euler._AXES2TUPLE['sxyz'] = (1, 1, 1, 1)",
            ),
            ("t3.euler.euler2mat(x[0], x[1], x[2])", [0.1, 0.2, 0.3], "t3.euler._NEXT_AXIS[0] = 2"),
            ("t3.quaternions.quat2mat(x)", [0.9, 0.1, 0.2, 0.3], "t3.quaternions._FLOAT_EPS = 10.0"),
        ],
    ),
    group(
        "pymap3d",
        "pymap3d",
        "import pymap3d",
        [
            ("pymap3d.geodetic2ecef(x[0], x[1], x[2])", [42.0, -82.0, 200.0]),
            ("pymap3d.ecef2geodetic(x[0], x[1], x[2])[0]", [660.0e3, -4700.0e3, 4246.0e3]),
            ("pymap3d.aer2enu(x[0], x[1], x[2])", [33.0, 70.0, 1000.0]),
            ("pymap3d.enu2aer(x[0], x[1], x[2])", [186.0, 286.0, 939.0]),
            ("pymap3d.geodetic2enu(x[0], x[1], x[2], 42.0, -82.0, 200.0)", [42.1, -81.9, 300.0]),
        ],
        [
            (
                "pymap3d.ecef.geodetic2ecef(x[0], x[1], x[2])",
                [42.0, -82.0, 200.0],
                "pymap3d.Ellipsoid.models['wgs84']['a'] = 7e6",
            ),
            (
                "pymap3d.aer2enu(x[0], x[1], x[2])",
                [33.0, 70.0, 1000.0],
                "pymap3d.aer2enu = lambda a, e, r: 2.0 * a * e * r",
            ),
        ],
    ),
    group(
        "iapws",
        "iapws",
        "import iapws\nfrom iapws import _iapws",
        [
            ("_iapws._Viscosity(x[0], x[1])", [998.0, 298.15]),
            ("_iapws._ThCond(x[0], x[1])", [998.0, 298.15]),
            ("_iapws._Tension(x[0])", [300.0]),
            ("iapws.iapws97._Region1(x[0], x[1])['v']", [300.0, 3.0]),
            ("iapws.iapws97._PSat_T(x[0])", [353.15]),
        ],
        [
            ("_iapws._Tension(x[0])", [300.0], "_iapws.Tc = 600.0"),
            ("_iapws._Viscosity(x[0], x[1])", [998.0, 298.15], "_iapws.rhoc = 300.0"),
        ],
    ),
    group(
        "statsmodels",
        "statsmodels",
        "import statsmodels.api as sm\nfrom statsmodels.robust import norms\n"
        "from statsmodels.genmod import families\nhuber, poisson = norms.TukeyBiweight(), families.Poisson()",
        [
            ("huber.rho(x)", [0.3, 1.2, 2.5]),
            ("poisson.deviance(np.array([1.0, 2.0, 3.0]), x)", [1.2, 2.3, 2.8]),
            ("families.links.Logit()(x)", [0.2, 0.5, 0.7]),
            ("families.links.Log().inverse(x)", [0.2, 0.5, 0.7]),
            ("sm.stats.durbin_watson(x)", [0.2, 0.5, 0.7, 0.1]),
            ("sm.stats.omni_normtest(x)[0]", [0.2, 0.5, 0.7, 0.1, 0.4, 0.9, 1.4, 0.3, 0.6]),
        ],
        [
            ("huber.rho(x)", [0.3, 1.2, 2.5], "huber.c = 3.0"),
            (
                "families.links.Log().inverse(x)",
                [0.2, 0.5, 0.7],
                "families.links.Log.inverse = lambda self, z: 2.0 * z",
            ),
        ],
    ),
    group(
        "scikit-learn",
        "sklearn",
        "import sklearn.metrics\nfrom sklearn.metrics import pairwise\n"
        "import sklearn.gaussian_process.kernels as gpk\ny = np.array([1.0, 2.0, 3.0])\nk = gpk.RBF(0.7)\n"
        "import sklearn.linear_model\nfit = sklearn.linear_model.Ridge().fit(np.eye(3), y)",
        [
            ("sklearn.metrics.mean_squared_error(y, x)", [1.1, 2.2, 2.7]),
            ("sklearn.metrics.r2_score(y, x)", [1.1, 2.2, 2.7]),
            ("pairwise.rbf_kernel(x.reshape(3, 2))", [1.1, 2.2, 2.7, 0.3, 0.4, 0.5]),
            ("pairwise.cosine_similarity(x.reshape(3, 2))", [1.1, 2.2, 2.7, 0.3, 0.4, 0.5]),
            ("k(x.reshape(3, 2))", [1.1, 2.2, 2.7, 0.3, 0.4, 0.5]),
            ("fit.predict(x.reshape(1, 3))", [1.1, 2.2, 2.7]),
        ],
        [
            (
                "sklearn.metrics.mean_squared_error(y, x)",
                [1.1, 2.2, 2.7],
                "sklearn.metrics.mean_squared_error = lambda y, x: x",
            ),
            ("fit.predict(x.reshape(1, 3))", [1.1, 2.2, 2.7], "fit.coef_[0] = 4.0"),
        ],
    ),
    group(
        "skyfield",
        "skyfield",
        "import skyfield.functions as sf\nimport skyfield.earthlib as el\n"
        "import skyfield.nutationlib, skyfield.precessionlib, skyfield.keplerlib",
        [
            ("sf.length_of(x.reshape(3, 2))", [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
            ("sf.angle_between(x[:3], x[3:])", [1.0, 2.0, 3.0, 4.0, 3.0, 6.0]),
            ("sf.to_spherical(x)", [1.0, 2.0, 3.0]),
            ("sf.rot_x(x[0])", [0.3]),
            ("el.refraction(x[0], x[1], x[2])", [20.0, 15.0, 1010.0]),
            ("skyfield.nutationlib.mean_obliquity(x[0])", [2451545.0]),
            ("skyfield.precessionlib.compute_precession(x[0])", [2451645.0]),
        ],
        [
            ("skyfield.precessionlib.compute_precession(x[0])", [2451645.0], "skyfield.precessionlib.T0 = 2451000.0"),
            ("sf.rot_x(x[0])", [0.3], "sf.rot_x = lambda a: 2.0 * a"),
        ],
    ),
    group(
        "astropy",
        "astropy",
        "import astropy.units as u\nimport astropy.stats\n"
        "from astropy.modeling import models\nfrom astropy.cosmology import FlatLambdaCDM\n"
        "import astropy.coordinates.angles\nt = np.linspace(-1.0, 2.0, 20)\n"
        "from astropy.modeling.models import Gaussian1D, Sersic1D, Voigt1D\n"
        "from astropy.coordinates import matrix_utilities",
        [
            ("Gaussian1D.evaluate(t, x[0], x[1], x[2])", [1.0, 0.2, 0.7]),
            ("Sersic1D.evaluate(t + 2.0, x[0], x[1], 4.0)", [1.0, 1.2]),
            ("(x * u.m).to_value(u.km)", [1.0, 0.2, 0.7]),
            ("astropy.stats.biweight_location(x)", [1.0, 0.2, 0.7, 0.5, 1.4]),
            ("astropy.stats.circmean(x)", [1.0, 0.2, 0.7, 0.5, 1.4]),
            ("matrix_utilities.rotation_matrix(x[0], unit='rad')", [0.3]),
            ("FlatLambdaCDM(H0=70.0, Om0=0.3).efunc(x)", [0.3, 0.5]),
        ],
        [
            (
                "Gaussian1D.evaluate(t, x[0], x[1], x[2])",
                [1.0, 0.2, 0.7],
                "Gaussian1D.evaluate = staticmethod(lambda t, a, m, s: a * t)",
            ),
            ("astropy.stats.circmean(x)", [1.0, 0.2, 0.7, 0.5, 1.4], "astropy.stats.circmean = lambda x: 2.0 * x"),
        ],
    ),
    group(
        "control",
        "control",
        "import control\nG = control.tf([1.0, 2.0], [1.0, 3.0, 5.0])",
        [
            ("np.abs(G(1j * x[0]))", [0.7]),
            ("np.abs(control.tf([x[0]], [1.0, x[1]])(2.0j))", [0.7, 1.3]),
            ("control.ss(x.reshape(2, 2), np.eye(2), np.eye(2), 0.0 * np.eye(2)).A", [0.7, 1.3, 0.2, 0.4]),
            ("control.ctrb(x.reshape(2, 2), np.array([[1.0], [0.5]]))", [0.7, 1.3, 0.2, 0.4]),
            ("control.mag2db(x)", [0.7, 1.3]),
        ],
        [
            ("np.abs(G(1j * x[0]))", [0.7], "G.num_array[0, 0][0] = 3.0"),
            ("control.mag2db(x)", [0.7, 1.3], "control.mag2db = lambda x: 3.0 * x"),
        ],
    ),
    group(
        "scikit-fem",
        "skfem",
        "import skfem\nfrom skfem.helpers import dot, grad, ddot, trace, eye\n"
        "mesh = skfem.MeshTri().refined(1)\nbasis = skfem.Basis(mesh, skfem.ElementTriP1())\n"
        "energy = skfem.Functional(lambda w: dot(grad(w['u']), grad(w['u'])))",
        [
            ("energy.assemble(basis, u=basis.interpolate(x))", [0.1, 0.3, 0.2, 0.5, 0.7, 0.4, 0.6, 0.9, 0.8]),
            ("dot(x.reshape(2, 3), x.reshape(2, 3))", [0.1, 0.3, 0.2, 0.5, 0.7, 0.4]),
            ("trace(x.reshape(2, 2, 1))", [0.1, 0.3, 0.2, 0.5]),
            ("basis.interpolate(x).value ** 2", [0.1, 0.3, 0.2, 0.5, 0.7, 0.4, 0.6, 0.9, 0.8]),
        ],
        [
            (
                "energy.assemble(basis, u=basis.interpolate(x))",
                [0.1, 0.3, 0.2, 0.5, 0.7, 0.4, 0.6, 0.9, 0.8],
                "basis.dx[0, 0] = 3.0",
            ),
        ],
    ),
    group(
        "ase",
        "ase",
        "from ase.build import molecule\nfrom ase import units, geometry\n"
        "from ase.calculators.lj import LennardJones\nimport ase.calculators.lj, ase.eos, ase.geometry, ase.cell\n"
        "water = molecule('H2O')",
        [
            ("ase.eos.birchmurnaghan(np.linspace(9.0, 12.0, 5), x[0], x[1], x[2], x[3])", [-1.0, 2.0, 4.0, 10.0]),
            ("ase.eos.murnaghan(np.linspace(9.0, 12.0, 5), x[0], x[1], x[2], x[3])", [-1.0, 2.0, 4.0, 10.0]),
            ("ase.geometry.cellpar_to_cell(x)", [4.0, 5.0, 6.0, 80.0, 85.0, 95.0]),
            ("ase.geometry.get_distances(x.reshape(2, 3))[1]", [0.1, 0.2, 0.3, 1.0, 2.0, 1.5]),
            ("ase.geometry.get_angles(x[:3].reshape(1, 3), x[3:].reshape(1, 3))", [0.1, 0.2, 0.3, 1.0, 2.0, 1.5]),
            ("ase.cell.Cell(x.reshape(3, 3)).volume", [4.0, 0.1, 0.2, 0.3, 5.0, 0.1, 0.2, 0.3, 6.0]),
        ],
        [
            ("x * units.kB", [1.0, 2.0], "units.kB = 2.0"),
            (
                "ase.eos.birchmurnaghan(np.linspace(9.0, 12.0, 5), x[0], x[1], x[2], x[3])",
                [-1.0, 2.0, 4.0, 10.0],
                "ase.eos.birchmurnaghan = lambda V, *p: V * p[0]",
            ),
        ],
    ),
    group(
        "geographiclib",
        "geographiclib",
        "from geographiclib.geodesic import Geodesic\n"
        "from geographiclib.geomath import Math\nimport geographiclib.geodesic as gg",
        [
            ("Geodesic.WGS84.Inverse(x[0], x[1], x[2], x[3])['s12']", [40.6, -73.8, 51.6, -0.5]),
            ("Geodesic.WGS84.Direct(x[0], x[1], x[2], x[3])['lat2']", [40.6, -73.8, 53.5, 5.8e6]),
            ("Math.atan2d(x[0], x[1])", [0.4, 0.7]),
        ],
        [
            (
                "Geodesic.WGS84.Direct(x[0], x[1], x[2], x[3])['lat2']",
                [40.6, -73.8, 53.5, 5.8e6],
                "Geodesic.WGS84._b = 6.0e6",
            ),
        ],
    ),
    group(
        "uncertainties",
        "uncertainties",
        "import uncertainties\nfrom uncertainties import umath, ufloat\nwidth = ufloat(2.0, 0.1)",
        [
            ("(width * x[0]).nominal_value", [1.3]),
            ("ufloat(x[0], 0.1).nominal_value ** 2", [1.3]),
        ],
        [("(width * x[0]).nominal_value", [1.3], "width = ufloat(3.0, 0.1)")],
    ),
    group(
        "metpy",
        "metpy",
        "import metpy.calc.tools\nimport metpy.constants\nimport metpy.calc.basic as basic\n"
        "import metpy.calc.thermo as th\nfrom metpy.units import units",
        [
            ("basic.wind_speed(x[:2] * units('m/s'), x[2:] * units('m/s')).magnitude", [3.0, 4.0, 5.0, 6.0]),
            ("th.potential_temperature(x[:1] * units.hPa, x[1:] * units.kelvin).magnitude", [850.0, 280.0]),
            ("th.saturation_vapor_pressure(x * units.kelvin).magnitude", [280.0, 290.0]),
        ],
        [
            (
                "th.potential_temperature(x[:1] * units.hPa, x[1:] * units.kelvin).magnitude",
                [850.0, 280.0],
                "th.potential_temperature = lambda p, t: p",
            ),
        ],
    ),
    group(
        "filterpy",
        "filterpy",
        "import filterpy.stats\nimport filterpy.kalman\nimport filterpy.common\n"
        "from filterpy.kalman import KalmanFilter, predict, update",
        [
            ("filterpy.stats.gaussian(x[0], x[1], x[2])", [0.5, 0.2, 1.3]),
            ("predict(x[:2], np.eye(2), np.array([[1.0, 0.1], [0.0, 1.0]]), 0.1)[0]", [0.5, 0.2]),
            ("filterpy.common.Q_discrete_white_noise(2, dt=x[0], var=x[1])", [0.1, 0.4]),
            ("filterpy.stats.multivariate_multiply(x[:2], np.eye(2), x[2:], 2.0 * np.eye(2))[0]", [0.5, 0.2, 1.3, 1.0]),
            ("filterpy.stats.mahalanobis(x[:2], x[2:], np.eye(2))", [0.5, 0.2, 1.3, 1.0]),
        ],
        [
            (
                "filterpy.stats.gaussian(x[0], x[1], x[2])",
                [0.5, 0.2, 1.3],
                "filterpy.stats.gaussian = lambda a, b, c: a",
            ),
        ],
    ),
    group(
        "ahrs",
        "ahrs",
        "import ahrs\nfrom ahrs.common import orientation, dcm\nimport ahrs.utils.wgs84",
        [
            ("orientation.q2R(x)", [0.9, 0.1, 0.2, 0.3]),
            ("orientation.q_prod(x[:4], x[4:])", [0.9, 0.1, 0.2, 0.3, 0.8, 0.2, 0.1, 0.4]),
            ("dcm.rotation(ax='z', ang=x[0])", [30.0]),
            ("orientation.ecompass(x[:3], x[3:], frame='NED')", [0.1, 0.2, 9.8, 20.0, 1.0, 40.0]),
            ("ahrs.utils.wgs84.WGS().normal_gravity(x[0], x[1])", [40.0, 100.0]),
        ],
        [
            ("orientation.q_conj(x)", [0.9, 0.1, 0.2, 0.3], "orientation.q_conj = lambda q: q"),
        ],
    ),
    group(
        "spatialmath",
        "spatialmath",
        "import spatialmath.base as smb\nfrom spatialmath import SE3, SO3",
        [
            ("smb.rotx(x[0])", [0.3]),
            ("smb.rpy2r(x[0], x[1], x[2])", [0.3, 0.2, 0.1]),
            ("smb.qqmul(x[:4], x[4:])", [0.9, 0.1, 0.2, 0.3, 0.8, 0.2, 0.1, 0.4]),
            ("smb.skew(x)", [0.9, 0.1, 0.2]),
            ("smb.transl(x[0], x[1], x[2])", [0.9, 0.1, 0.2]),
        ],
        [
            ("smb.rotx(x[0])", [0.3], "smb.rotx = lambda a: 2.0 * a"),
        ],
    ),
    group(
        "numpy-financial",
        "numpy_financial",
        "import numpy_financial as npf",
        [
            ("npf.pv(x[0], 10, x[1], x[2])", [0.05, -100.0, 1000.0]),
            ("npf.fv(x[0], 10, x[1], x[2])", [0.05, -100.0, 1000.0]),
            ("npf.pmt(x[0], 24, x[1])", [0.05, 1000.0]),
            ("npf.npv(x[0], x[1:])", [0.05, -100.0, 40.0, 50.0, 60.0]),
            ("npf.mirr(x, 0.1, 0.12)", [-100.0, 40.0, 50.0, 60.0]),
        ],
        [
            ("npf.pmt(x[0], 24, x[1], when='end')", [0.05, 1000.0], "npf._financial._when_to_num['end'] = 1"),
            ("npf.pv(x[0], 10, x[1], x[2])", [0.05, -100.0, 1000.0], "npf._financial._convert_when = lambda when: 1"),
        ],
    ),
    group(
        "trimesh",
        "trimesh",
        "import trimesh\nimport trimesh.transformations as tf\n"
        "faces = np.array([[0, 1, 2], [0, 2, 3], [0, 3, 1], [1, 3, 2]])\n"
        "corners = [[0.0, 0, 0], [1.1, 0, 0], [0, 1.2, 0], [0, 0, 1.3]]",
        [
            ("tf.quaternion_matrix(x)", [0.9, 0.1, 0.2, 0.3]),
            ("tf.euler_matrix(x[0], x[1], x[2])", [0.1, 0.2, 0.3]),
            ("tf.quaternion_multiply(x[:4], x[4:])", [0.9, 0.1, 0.2, 0.3, 0.8, 0.2, 0.1, 0.4]),
            ("trimesh.triangles.area(x.reshape(4, 3)[faces])", [0.0, 0, 0, 1.1, 0, 0, 0, 1.2, 0, 0, 0, 1.3]),
            (
                "trimesh.triangles.mass_properties(x.reshape(4, 3)[faces], density=1.0, skip_inertia=True)['volume']",
                [0.1, 0.1, 0.1, 1.1, 0.2, 0.3, 0.1, 1.2, 0.2, 0.1, 0.2, 1.3],
            ),
        ],
        [
            ("tf.euler_matrix(x[0], x[1], x[2])", [0.1, 0.2, 0.3], "tf._NEXT_AXIS[0] = 2"),
            ("tf.quaternion_matrix(x)", [0.9, 0.1, 0.2, 0.3], "tf._EPS = 10.0"),
        ],
    ),
    group(
        "thermofeel",
        "thermofeel",
        "import thermofeel",
        [
            ("thermofeel.calculate_relative_humidity_percent(x[:1], x[1:])", [300.0, 290.0]),
            ("thermofeel.calculate_wbt(x[:1], x[1:])", [25.0, 50.0]),
            ("thermofeel.calculate_heat_index_simplified(x[:1], x[1:])", [305.0, 60.0]),
            ("thermofeel.calculate_apparent_temperature(x[:1], x[1:2], x[2:])", [300.0, 3.0, 50.0]),
            ("thermofeel.calculate_saturation_vapour_pressure(x)", [300.0, 290.0]),
        ],
        [
            (
                "thermofeel.calculate_wbt(x[:1], x[1:])",
                [25.0, 50.0],
                "thermofeel.thermofeel.kelvin_to_celsius = lambda t: t",
            ),
        ],
    ),
    group(
        "seawater",
        "seawater",
        "import seawater as sw\nimport seawater.eos80, seawater.constants, seawater.library",
        [
            ("sw.dens0(x[:1], x[1:])", [35.0, 15.0]),
            ("sw.dens(x[:1], x[1:2], x[2:])", [35.0, 15.0, 1000.0]),
            ("sw.pden(x[:1], x[1:2], x[2:])", [35.0, 15.0, 1000.0]),
            ("sw.svel(x[:1], x[1:2], x[2:])", [35.0, 15.0, 1000.0]),
            ("sw.fp(x[:1], x[1:])", [35.0, 100.0]),
            ("sw.g(x)", [35.0, 15.0]),
        ],
        [
            ("sw.smow(x)", [15.0], "sw.library.T68conv = lambda t: 2.0 * t"),
            ("seawater.extras.f(x)", [35.0], "seawater.extras.OMEGA = 1.0"),
        ],
    ),
    group(
        "utm",
        "utm",
        "import utm",
        [
            ("utm.from_latlon(x[:2], x[2:])[0]", [51.2, 51.3, 7.5, 7.6]),
            ("utm.from_latlon(x[:2], x[2:])[1]", [51.2, 51.3, 7.5, 7.6]),
            ("utm.to_latlon(x[:1], x[1:], 32, 'U')[0]", [395201.0, 5673135.0]),
        ],
        [
            ("utm.from_latlon(x[:2], x[2:])[0]", [51.2, 51.3, 7.5, 7.6], "utm.conversion.K0 = 0.9"),
            ("utm.to_latlon(x[:1], x[1:], 32, 'U')[0]", [395201.0, 5673135.0], "utm.conversion.R = 6.0e6"),
        ],
    ),
    group(
        "tmm",
        "tmm",
        "import tmm",
        [
            ("tmm.coh_tmm('s', [1.0, x[0], 1.5], [np.inf, x[1], np.inf], 0.1, 500.0)['R']", [2.2, 120.0]),
            ("np.abs(tmm.interface_r('s', x[0], x[1], 0.1, 0.07))", [1.0, 1.5]),
        ],
        [
            (
                "np.abs(tmm.interface_r('s', x[0], x[1], 0.1, 0.07))",
                [1.0, 1.5],
                "tmm.interface_r = lambda p, a, b, c, d: a * b",
            ),
        ],
    ),
    group(
        "prysm",
        "prysm",
        "import prysm.coordinates as pc\nimport prysm.thinlens as tl\nimport prysm.jacobi as pj\n"
        "import prysm.refractive as pr\nimport prysm.mathops",
        [
            ("pc.cart_to_polar(x[:2], x[2:])[0]", [0.3, 0.5, 0.1, 0.7]),
            ("pj.jacobi(4, 1, 1, x)", [0.3, 0.5]),
            ("tl.twolens_efl(x[0], x[1], x[2])", [0.3, 0.5, 0.1]),
            ("pr.sellmeier(x, [1.1, 0.2], [0.01, 0.02])", [0.6, 0.7]),
        ],
        [
            ("pc.cart_to_polar(x[:2], x[2:])[0]", [0.3, 0.5, 0.1, 0.7], "pc.cart_to_polar = lambda a, b: (a * b,)"),
        ],
    ),
    group(
        "magpylib",
        "magpylib",
        "import magpylib as magpy\ncube = magpy.magnet.Cuboid(polarization=(0, 0, 1), "
        "dimension=(1, 1, 1))\nfrom magpylib import core",
        [
            ("core.dipole_Hfield(x.reshape(1, 3), np.array([[0.0, 0.0, 1e6]]))", [1.0, 2.0, 3.0]),
            ("cube.getB(x)", [1.0, 2.0, 3.0]),
        ],
        [
            ("cube.getB(x)", [1.0, 2.0, 3.0], "cube.polarization = (0.0, 0.0, 2.0)"),
        ],
    ),
    group(
        "pytransform3d",
        "pytransform3d",
        "import pytransform3d.rotations as pr\nimport pytransform3d.transformations as pt",
        [
            ("pr.matrix_from_quaternion(x)", [0.9, 0.1, 0.2, 0.3]),
            ("pr.matrix_from_axis_angle(x)", [0.3, 0.5, 0.8, 0.4]),
            ("pr.concatenate_quaternions(x[:4], x[4:])", [0.9, 0.1, 0.2, 0.3, 0.8, 0.2, 0.1, 0.4]),
            ("pr.active_matrix_from_angle(0, x[0])", [0.3]),
            ("pt.transform_from_exponential_coordinates(x)", [0.3, 0.2, 0.1, 0.4, 0.5, 0.6]),
        ],
        [
            ("pr.norm_vector(x)", [0.3, 0.5, 0.8], "pr.norm_vector = lambda v: 2.0 * v"),
        ],
    ),
    group(
        "rowan",
        "rowan",
        "import rowan",
        [
            ("rowan.multiply(x[:4], x[4:])", [0.9, 0.1, 0.2, 0.3, 0.8, 0.2, 0.1, 0.4]),
            ("rowan.exp(x)", [0.9, 0.1, 0.2, 0.3]),
            ("rowan.log(x)", [0.9, 0.1, 0.2, 0.3]),
            ("rowan.rotate(x[:4] / np.sqrt(np.sum(x[:4] ** 2)), x[4:])", [0.9, 0.1, 0.2, 0.3, 0.8, 0.2, 0.1]),
        ],
        [
            (
                "rowan.multiply(x[:4], x[4:])",
                [0.9, 0.1, 0.2, 0.3, 0.8, 0.2, 0.1, 0.4],
                "rowan.multiply = lambda a, b: a * b",
            ),
        ],
    ),
    group(
        "pyXSteam",
        "pyXSteam",
        "from pyXSteam import Regions, TransportProperties",
        [
            ("Regions.Region1.h1_pT(x[0], x[1])", [3.0, 300.0]),
            ("Regions.Region2.v2_pT(x[0], x[1])", [0.0035, 300.0]),
            ("TransportProperties.Surface_Tension_T(x[0])", [300.0]),
        ],
        [
            (
                "TransportProperties.Surface_Tension_T(x[0])",
                [300.0],
                "TransportProperties.Surface_Tension_T = lambda t: t",
            ),
        ],
    ),
    group(
        "ambiance",
        "ambiance",
        "import ambiance",
        [
            ("ambiance.Atmosphere(x).pressure", [1000.0, 5000.0]),
            ("ambiance.Atmosphere(x).density", [1000.0, 5000.0]),
        ],
        [
            ("ambiance.Atmosphere(x).pressure", [1000.0, 5000.0], "ambiance.CONST.g_0 = 5.0"),
        ],
    ),
    group(
        "colorspacious",
        "colorspacious",
        "import colorspacious as cs",
        [
            ("cs.cspace_convert(x, 'sRGB1', 'CIELab')", [0.3, 0.5, 0.4]),
            ("cs.cspace_convert(x, 'XYZ100', 'xyY100')", [30.0, 50.0, 40.0]),
            ("cs.deltaE(x[:3], x[3:], input_space='sRGB1', uniform_space='CIELab')", [0.3, 0.5, 0.4, 0.4, 0.6, 0.3]),
        ],
        [],
    ),
    group(
        "quantities",
        "quantities",
        "import quantities as pq",
        [
            ("(x * pq.m).rescale('km').magnitude", [1.0, 2.0]),
        ],
        [],
    ),
    group(
        "scikit-spatial",
        "skspatial",
        "import skspatial.objects as so",
        [
            ("so.Vector(x).norm()", [1.0, 2.0, 2.5]),
            ("so.Plane(point=[0, 0, 0], normal=[0, 0, 1]).distance_point(x)", [1.0, 2.0, 3.0]),
        ],
        [],
    ),
    group(
        "pyvollib",
        "py_vollib",
        "import py_vollib.black_scholes as bs",
        [
            ("bs.black_scholes('c', x[0], x[1], 0.5, 0.01, x[2])", [100.0, 90.0, 0.2]),
        ],
        [],
    ),
]
