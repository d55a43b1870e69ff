"""A table of features from a CSV: rows are resampled, with a measurement's noise, and each feature is described."""
import argparse

import numpy as np
import pandas as pd


def read() -> pd.DataFrame:
    """The Wisconsin breast cancer data as scikit-learn ships them, 569 rows; without it, the like from a seed."""
    try:
        from sklearn.datasets import load_breast_cancer
    except ImportError:
        rng = np.random.default_rng(20)
        target = rng.integers(0, 2, 569)
        names = [f"feature {i}" for i in range(30)]
        table = pd.DataFrame(rng.lognormal(target[:, None] * np.linspace(-1, 1, 30), 0.5, (569, 30)), columns=names)
        return table.assign(target=target)
    return load_breast_cancer(as_frame=True).frame


def resample(measured: pd.DataFrame, rows: int, rng: np.random.Generator) -> pd.DataFrame:
    """Rows drawn with replacement, each value off by about one part in fifty."""
    drawn = measured.iloc[rng.integers(0, len(measured), rows)].reset_index(drop=True)
    return drawn * np.exp(0.02 * rng.standard_normal(drawn.shape))


def describe(table: pd.DataFrame, target: pd.Series) -> pd.DataFrame:
    """One row per feature: its moments on a logarithmic scale, outliers, and how far it tells the classes apart."""
    logs = np.log1p(table)
    scores = (logs - logs.mean()) / logs.std()
    squashed = 1 / (1 + np.exp(-scores))
    by_class = scores.groupby(target)
    spread = np.sqrt((by_class.var() * (by_class.count() - 1)).sum() / (len(scores) - 2))
    return pd.DataFrame({
        "mean": logs.mean(),
        "sd": logs.std(),
        "skewness": (scores ** 3).mean(),
        "kurtosis": (np.square(np.square(scores)) - 3).mean(),
        "outliers": (np.abs(scores) > 3).mean(),
        "information": -(squashed * np.log2(squashed)).mean(),
        "separation": (by_class.mean().iloc[1] - by_class.mean().iloc[0]) / spread,
    })


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=6_000_000, help="values in the table (default: %(default)s)")
    options = parser.parse_args()
    measured = read()
    target = measured.pop("target")
    rng = np.random.default_rng(21)
    rows = max(options.size // measured.shape[1], 100)
    table = resample(measured.assign(target=target), rows, rng)
    classes = table.pop("target") > 0.5
    described = describe(table, classes)
    order = described["separation"].abs().sort_values(ascending=False).index
    print(f"{rows} rows, {measured.shape[1]} features, by how far they tell the classes apart")
    print(described.loc[order].head(10).to_string(float_format="{:.4f}".format))


if __name__ == "__main__":
    main()
