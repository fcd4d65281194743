// SPDX-License-Identifier: Apache-2.0
#include "jit/codegen/special_math.h"

#include <cmath>
#include <string_view>

#include "jit/codegen/formula.h"
#include "jit/codegen/vector_math.h"

// The coefficients of polynomials interpolate at Chebyshev's nodes, computed with 50 digits; errors are relative.
namespace jaxscope::exec {

namespace {

using llvm::Value;

constexpr double kPi = 3.14159265358979323846;

Value* logarithm(const Formula& f, Value* x) { return math_function(f.b, KOp::Log, x); }
/// x in [low, high] as a number in [-1, 1].
Value* centred(const Formula& f, Value* x, double low, double high) {
    return f.fma(x, f.of(x, 2 / (high - low)), f.of(x, -(low + high) / (high - low)));
}

// ---- Bessel functions, scaled by e^-|x|: I0 by 1e-17 (in f32 1e-8), I1 / x; beyond 8 those times the root of |x|, in 16 / |x| - 1.
Value* bessel_near(const Formula& f, Value* u, int order, bool wide) {
    if (order == 0 && wide)
        return f.poly(
            u, {-1.1662904878442954e-09, 4.469372581856615e-09,   -7.860369707508212e-09, 2.6273368345256394e-08, -1.1339523685907105e-07,
                3.675592893288293e-07,   -1.0891964284507317e-06, 3.2293850630678377e-06, -9.25059710625537e-06,  2.5202271984440893e-05,
                -6.550956130635514e-05,  0.0001624054672701359,   -0.0003829015089457559, 0.0008563152483951447,  -0.0018118870527295522,
                0.0036171264596770616,   -0.006792399792271578,   0.011960077903963348,   -0.019682654708082413,  0.03017791202356886,
                -0.04298594945226738,    0.056777032019843215,    -0.06954119561742342,   0.07927522590716898,    -0.08496338091615124,
                0.08734341617552291,     -0.08904344136075991,    0.09451562853995103,    -0.11300432688620549,   0.2070019212239867});
    if (order == 0)
        return f.poly(u, {-0.0008179725460897107, 0.001978308759881825, -0.0008991624061954382, 0.0012403794731531738,
                          -0.007766332662051006, 0.014507777636494707, -0.019090664146748454, 0.028625284356183882, -0.04319487770478447,
                          0.05732588823414282, -0.06950006317644594, 0.07916705742834407, -0.08496741817534578, 0.0873540400773373,
                          -0.08904328935517108, 0.09451522840742617, -0.11300432782525216, 0.2070019236960542});
    if (wide)
        return f.poly(
            u, {3.6696752013169966e-10,  -1.4165980180332847e-09, 2.644330576999187e-09,   -8.986801013193351e-09, 3.7901404602356164e-08,
                -1.2424046295570417e-07, 3.7617292810159424e-07,  -1.1327198008251626e-06, 3.29361514435675e-06,   -9.136529630106953e-06,
                2.4233987591498262e-05,  -6.142361409267038e-05,  0.00014842110758080817,  -0.0003411760229204836, 0.0007445123998749739,
                -0.001538874564273584,   0.0030057624040464932,   -0.005534567846988655,   0.009583962153764291,   -0.015571309244077562,
                0.023686016957350876,    -0.03367135552107505,    0.044674572621282986,    -0.05528003922699226,   0.06376740371340611,
                -0.0684826062058269,     0.06805759990951162,     -0.061124338029666284,   0.044687709875608835});
    return f.poly(u, {-0.00011931581510371305, 0.0003070296457280514, -0.00022115376803467696, 0.00041297783826617823,
                      -0.0016662365553797404, 0.0033589298866077547, -0.005457398639463575, 0.009369502835494129, -0.01559849009725923,
                      0.023761659175848278, -0.03366601114728899, 0.04465968644830776, -0.05528056337853474, 0.06376886448103815,
                      -0.0684825864792795, 0.0680575449174863, -0.06112433815152135, 0.04468771021532535});
}
Value* bessel_far(const Formula& f, Value* u, int order, bool wide) {
    if (order == 0 && wide)
        return f.poly(
            u, {1.0881994785468934e-10, 3.525321019700796e-11,   -7.473844621887592e-10, -2.748111637276033e-10, 2.3981927228949238e-09,
                1.0924527246468664e-09, -4.8482509221176966e-09, -3.11851456121224e-09,  6.789790403895736e-09,  7.323310735122893e-09,
                -5.162517880939013e-09, -1.331979859201994e-08,  -6.805980075129678e-09, 7.532386417555123e-09,  2.155681110989874e-08,
                3.932926571091252e-08,  8.872154618944625e-08,   2.9735956581528157e-07, 1.4838475863096976e-06, 1.1143033802583682e-05,
                0.00013621607439187193, 0.0033605519836677235,   0.4021765094450081});
    if (order == 0)
        return f.poly(u, {1.0829898259260847e-07, 3.631710305277285e-07, 1.4767921099426897e-06, 1.1111525456650673e-05,
                          0.00013621684311530046, 0.003360555851925354, 0.4021765094450081});
    if (wide)
        return f.poly(
            u, {-1.13288885034257e-10,   -3.2677656089803323e-11, 7.79067217908059e-10,   2.582169443152386e-10,   -2.5062162405593894e-09,
                -1.0476127785270019e-09, 5.094016301574338e-09,   3.0717395650769477e-09, -7.222524178953976e-09,  -7.432535335623792e-09,
                5.722677527454156e-09,   1.3952625102162603e-08,  6.795073490187386e-09,  -8.407326839577817e-09,  -2.3382691353601083e-08,
                -4.31323156237458e-08,   -1.0001220638799958e-07, -3.483853071371078e-07, -1.8349101539664522e-06, -1.503854721127423e-05,
                -0.000219235763833829,   -0.009749577193235609,   0.38939845902587233});
    return f.poly(u, {-1.2212498465941114e-07, -4.2155543729815765e-07, -1.8267145046635388e-06, -1.500332306614829e-05,
                      -0.00021923666942859845, -0.009749581526547915, 0.38939845902587233});
}
Value* scaled_bessel(const Formula& f, Value* x, int order) {
    const bool wide = x->getType()->isDoubleTy();
    Value* size = f.fabs(x);
    Value* near = bessel_near(f, centred(f, size, 0, 8), order, wide);
    if (order == 1) near = f.b.CreateFMul(near, x);
    Value* far = bessel_far(f, f.b.CreateFSub(f.b.CreateFDiv(f.of(x, 16), size), f.of(x, 1)), order, wide);
    far = f.b.CreateFDiv(far, f.b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, size));
    if (order == 1) far = f.copysign(far, x);
    return f.b.CreateSelect(f.b.CreateFCmpOGT(size, f.of(x, 8)), far, near);
}

// ---- The logarithm of the gamma function and its derivative, of floats in double precision: by Stirling's series at 8 and beyond. What
// is less goes up by 8 steps, x (x + 1) ... (x + 7) = Gamma(x + 8) / Gamma(x). Below one half it is reflected.
struct Shifted {
    Value *reflected, *x, *steps, *slope,
        *y;  ///< x, or 1 - x; the product of the steps, or 1; its logarithm's derivative, or 0; x or x + 8
};
Shifted shifted(const Formula& f, Value* x) {
    const auto at_least = [&](Value* v, double bound) { return f.b.CreateFCmpUGE(v, f.of(x, bound)); };
    Shifted s{};
    s.reflected = f.b.CreateNot(at_least(x, 0.5));
    s.x = f.b.CreateSelect(s.reflected, f.b.CreateFSub(f.of(x, 1), x), x);
    Value* large = at_least(s.x, 8);
    Value* product = f.b.CreateFMul(s.x, f.poly(s.x, {1, 28, 322, 1960, 6769, 13132, 13068, 5040}));
    Value* derived = f.poly(s.x, {8, 196, 1932, 9800, 27076, 39396, 26136, 5040});
    s.steps = f.b.CreateSelect(large, f.of(x, 1), product);
    s.slope = f.b.CreateSelect(large, f.of(x, 0), f.b.CreateFDiv(derived, s.steps));
    s.y = f.b.CreateSelect(large, s.x, f.b.CreateFAdd(s.x, f.of(x, 8)));
    return s;
}
/// Of pi times the distance to the nearest whole number, at most one half.
struct Wave {
    Value *distance, *sine, *cosine;
};
Wave wave(const Formula& f, Value* x) {
    Wave w{};
    w.distance = f.b.CreateFSub(x, f.round(x));
    Value* angle = f.b.CreateFMul(w.distance, f.of(x, kPi));
    Value* z = f.b.CreateFMul(angle, angle);
    w.sine = f.b.CreateFMul(angle, f.poly(z, {1.0 / 355687428096000, -1.0 / 1307674368000, 1.0 / 6227020800, -1.0 / 39916800, 1.0 / 362880,
                                              -1.0 / 5040, 1.0 / 120, -1.0 / 6, 1}));
    w.cosine = f.poly(z, {-1.0 / 6402373705728000, 1.0 / 20922789888000, -1.0 / 87178291200, 1.0 / 479001600, -1.0 / 3628800, 1.0 / 40320,
                          -1.0 / 720, 1.0 / 24, -0.5, 1});
    return w;
}
Value* lgamma_of(const Formula& f, Value* x) {
    const Shifted s = shifted(f, x);
    Value* over = f.b.CreateFDiv(f.of(x, 1), s.y);
    Value* series = f.b.CreateFMul(over, f.poly(f.b.CreateFMul(over, over), {1.0 / 1188, -1.0 / 1680, 1.0 / 1260, -1.0 / 360, 1.0 / 12}));
    Value* rest = f.b.CreateFAdd(f.b.CreateFSub(series, s.y), f.of(x, 0.91893853320467274178));  // half of log(2 pi)
    Value* up = f.fma(f.b.CreateFSub(s.y, f.of(x, 0.5)), logarithm(f, s.y), rest);
    Value* mirrored = f.b.CreateFDiv(f.b.CreateFMul(s.steps, f.of(x, kPi)), f.fabs(wave(f, x).sine));
    Value* down = logarithm(f, f.b.CreateSelect(s.reflected, mirrored, s.steps));
    Value* y = f.b.CreateFSub(up, down);
    y = f.b.CreateSelect(s.reflected, f.b.CreateFNeg(y), y);
    Value* infinite = f.b.CreateFCmpOEQ(f.fabs(x), f.of(x, INFINITY));
    return f.b.CreateSelect(infinite, f.of(x, INFINITY), y);
}
/// Poles, 0 and -infinity are NaN, as XLA has them.
Value* digamma_of(const Formula& f, Value* x) {
    const Shifted s = shifted(f, x);
    Value* over = f.b.CreateFDiv(f.of(x, 1), s.y);
    Value* z = f.b.CreateFMul(over, over);
    Value* series = f.b.CreateFMul(z, f.poly(z, {1.0 / 132, -1.0 / 240, 1.0 / 252, -1.0 / 120, 1.0 / 12}));
    Value* y = f.b.CreateFSub(f.b.CreateFSub(f.fma(over, f.of(x, -0.5), logarithm(f, s.y)), series), s.slope);
    const Wave w = wave(f, x);
    Value* mirror = f.b.CreateFDiv(f.b.CreateFMul(w.cosine, f.of(x, kPi)), w.sine);
    y = f.b.CreateSelect(s.reflected, f.b.CreateFSub(y, mirror), y);
    Value* pole = f.b.CreateAnd(s.reflected, f.b.CreateFCmpUEQ(w.distance, f.of(x, 0)));
    return f.b.CreateSelect(pole, f.of(x, NAN), y);
}
Value* in_double(llvm::IRBuilder<>& b, Value* x, Value* (*function)(const Formula&, Value*)) {
    return b.CreateFPTrunc(function(Formula(b), b.CreateFPExt(x, b.getDoubleTy())), x->getType());
}

}  // namespace

/// Three polynomials of w = -log(1 - x^2) or its root.
Value* erf_inv_f64(llvm::IRBuilder<>& b, Value* x) {
    const Formula f(b);
    Value* w = b.CreateFNeg(call_libm(b, "log1p", {b.CreateFNeg(b.CreateFMul(x, x))}));
    // Near 1 that square is rounded: (1 - |x|) (1 + |x|) isn't.
    Value* size = f.fabs(x);
    Value* away = f.b.CreateFMul(f.b.CreateFSub(f.of(x, 1), size), f.b.CreateFAdd(f.of(x, 1), size));
    w = b.CreateSelect(b.CreateFCmpOGT(size, f.of(x, 0.5)), b.CreateFNeg(logarithm(f, away)), w);
    Value* root = b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, w);
    Value* near =
        f.poly(centred(f, w, 0, 6.25),
               {-2.7032254091069344e-10, 7.689312733742569e-10,  1.5401738716654886e-09,  -8.562787796742932e-09,  4.792369996100387e-09,
                3.915473114023045e-08,   -9.867713140174249e-08, -1.0185147576818285e-08, 5.394320648707009e-07,   -1.059321402540731e-06,
                -6.83718721812117e-07,   7.1300572630824496e-06, -1.1257319182677936e-05, -1.5027710420277575e-05, 9.33673917780479e-05,
                -0.0001168888399309713,  -0.0002643936684366174, 0.0012324855686812834,   -0.0012716922684373015,  -0.00413731437741443,
                0.017808361818295655,    -0.022604447453449802,  -0.05892256710377784,    0.7504943200799635,      1.6536545626831027});
    Value* middle =
        f.poly(centred(f, root, 2.5, 4),
               {2.4355543452655723e-11,  -6.471554767207546e-11, -1.179100761769929e-10, 9.891297510532429e-10,   -2.4605291139227303e-09,
                -3.6906087078089294e-10, 2.63990323529153e-08,   -9.468946844911027e-08, 9.289338749101434e-08,   5.264621626938461e-07,
                -2.664793846715906e-06,  5.127316786334848e-06,  2.405864805789804e-06,  -4.7391827316182325e-05, 0.00016966502197543766,
                -0.00040063569835358583, 0.0007883078513066945,  -0.0015825410894073097, 0.0030211394363747063,   0.753944225770624,
                3.0838856104922208});
    Value* far =
        f.poly(centred(f, root, 4, 6.25),
               {-8.248809479767542e-11, 1.0848391448369056e-10, 5.040789403663011e-10, -1.7881742952614478e-09, 3.731842200065345e-09,
                -7.803498646610852e-09, 1.5051990482103263e-08, -2.5718269668830446e-08, 4.699179286968535e-08, -1.198554126555917e-07,
                4.345350698959379e-07, -1.816001959002361e-06, 7.597413160639545e-06, -2.989552717856327e-05, 0.0001036220854358061,
                -0.00025620231248083295, -0.00026907124687057467, 1.136538310487248, 4.9761913900163});
    Value* ratio = b.CreateSelect(b.CreateFCmpOLT(root, f.of(x, 4)), middle, far);
    ratio = b.CreateSelect(b.CreateFCmpOLT(w, f.of(x, 6.25)), near, ratio);
    Value* edge = b.CreateFCmpOEQ(size, f.of(x, 1));
    return b.CreateFMul(b.CreateSelect(edge, f.of(x, INFINITY), ratio), x);
}

Value* special_function(llvm::IRBuilder<>& b, const char* name, Value* x) {
    const std::string_view n(name);
    if (n == "jaxscope_i0e") return scaled_bessel(Formula(b), x, 0);
    if (n == "jaxscope_i1e") return scaled_bessel(Formula(b), x, 1);
    if (!x->getType()->isFloatTy()) return nullptr;
    if (n == "jaxscope_lgamma") return in_double(b, x, lgamma_of);
    if (n == "jaxscope_digamma") return in_double(b, x, digamma_of);
    return nullptr;
}

}  // namespace jaxscope::exec
