"""Prices of options by simulated paths, with error bars and the closed form: calls, and calls on a geometric mean."""
import argparse
import math

import numpy as np

SPOT, RATE, VOLATILITY, YEARS, STEPS = 100.0, 0.03, 0.25, 1.0, 12
STRIKES = (80, 90, 100, 110, 120)


def black_scholes(drift: float, deviation: float, strike: float) -> float:
    """The discounted mean of max(S - strike, 0), log(S / SPOT) being normal."""
    def normal(x: float) -> float:
        return 0.5 * math.erfc(-x / math.sqrt(2))
    forward = SPOT * math.exp(drift + deviation ** 2 / 2)
    d = (math.log(forward / strike) + deviation ** 2 / 2) / deviation
    return math.exp(-RATE * YEARS) * (forward * normal(d) - strike * normal(d - deviation))


def simulate(paths: int, rng: np.random.Generator) -> "tuple[np.ndarray, np.ndarray]":
    """The last price of each path and the geometric mean of its months, (paths,) float64; half are mirrored."""
    step = YEARS / STEPS
    walk, sum_of_walks = np.zeros(paths), np.zeros(paths)
    for _ in range(STEPS):
        shock = rng.standard_normal(paths // 2)
        walk += (RATE - VOLATILITY ** 2 / 2) * step
        walk[:paths // 2] += VOLATILITY * math.sqrt(step) * shock
        walk[paths // 2:] -= VOLATILITY * math.sqrt(step) * shock
        sum_of_walks += walk
    return SPOT * np.exp(walk), SPOT * np.exp(sum_of_walks / STEPS)


def price(underlying: np.ndarray, strike: float) -> "tuple[float, float]":
    """The estimate and its standard error; a path and its mirror image are one sample."""
    payoff = math.exp(-RATE * YEARS) * np.maximum(underlying - strike, 0)
    pairs = (payoff[:len(payoff) // 2] + payoff[len(payoff) // 2:]) / 2
    return pairs.mean(), pairs.std(ddof=1) / math.sqrt(len(pairs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=4_000_000, help="paths (default: %(default)s)")
    paths = parser.parse_args().size // 2 * 2
    last, mean = simulate(paths, np.random.default_rng(1973))
    drift, deviation = (RATE - VOLATILITY ** 2 / 2) * YEARS, VOLATILITY * math.sqrt(YEARS)
    mean_drift = drift * (STEPS + 1) / (2 * STEPS)
    mean_deviation = deviation * math.sqrt((STEPS + 1) * (2 * STEPS + 1) / (6 * STEPS ** 2))
    print(f"{paths} paths of {STEPS} months")
    print("option      strike       price    error  closed form  off by")
    options = (("call", last, (drift, deviation)), ("mean call", mean, (mean_drift, mean_deviation)))
    for name, underlying, closed in options:
        for strike in STRIKES:
            estimate, error = price(underlying, strike)
            exact = black_scholes(*closed, strike)
            print(f"{name:10}{strike:8}{estimate:12.5f} ±{error:8.5f}{exact:13.5f}{(estimate - exact) / error:+8.2f}")


if __name__ == "__main__":
    main()
