"""A stack of noisy exposures of one photograph: calibrated, sharpened, measured frame by frame, and plotted."""
import argparse

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib import cbook  # noqa: E402


def photograph() -> np.ndarray:
    """The portrait that ships with matplotlib, as luminance from 0 to 1, (600, 512) float32."""
    with cbook.get_sample_data("grace_hopper.jpg") as file:
        colours = plt.imread(file, format="jpg").astype("f4") / 255
    return colours @ np.array([0.2126, 0.7152, 0.0722], "f4")


def expose(scene: np.ndarray, frames: int, rng: np.random.Generator) -> "tuple[np.ndarray, np.ndarray]":
    """Counts of photons, (frames, height, width) float32, and each frame's exposure: shot noise, and a dark current."""
    exposures = np.geomspace(200, 20_000, frames, dtype="f4")
    expected = scene * exposures[:, None, None] + np.float32(30)
    noise = rng.standard_normal(expected.shape, dtype="f4")
    return np.maximum(np.rint(expected + np.sqrt(expected) * noise), 0), exposures


def calibrate(counts: np.ndarray, exposures: np.ndarray) -> np.ndarray:
    """Counts as luminance: the dark current taken off, divided by the exposure."""
    return np.clip((counts - np.float32(30)) / exposures[:, None, None], 0, 1)


def blur(stack: np.ndarray) -> np.ndarray:
    """The mean of each pixel's 3 by 3 neighbours; the border keeps its values."""
    rows = stack[:, :-2] + stack[:, 1:-1] + stack[:, 2:]
    blurred = stack.copy()
    blurred[:, 1:-1, 1:-1] = (rows[:, :, :-2] + rows[:, :, 1:-1] + rows[:, :, 2:]) / 9
    return blurred


def edges(stack: np.ndarray) -> np.ndarray:
    """The length of the gradient, zero in the last row and column."""
    found = np.zeros_like(stack)
    across, down = np.diff(stack, axis=2), np.diff(stack, axis=1)
    found[:, :-1, :-1] = np.hypot(across[:, :-1], down[:, :, :-1])
    return found


def measure(stack: np.ndarray, scene: np.ndarray) -> np.ndarray:
    """Per frame: mean, standard deviation, signal to noise in decibels, the parts that are bright and edge."""
    error = np.square(stack - scene).mean(axis=(1, 2))
    signal = np.square(scene).mean()
    bright = stack > stack.mean(axis=(1, 2), keepdims=True) + stack.std(axis=(1, 2), keepdims=True)
    return np.stack([stack.mean(axis=(1, 2)), stack.std(axis=(1, 2)), 10 * np.log10(signal / error),
                     bright.mean(axis=(1, 2)), (edges(blur(stack)) > 0.1).mean(axis=(1, 2))], axis=1)


def plot(path: str, shown: np.ndarray, exposures: np.ndarray, table: np.ndarray) -> None:
    figure, axes = plt.subplots(1, 4, figsize=(11, 3.2), constrained_layout=True)
    for axis, frame in zip(axes, (0, len(shown) // 2, len(shown) - 1)):
        axis.imshow(shown[frame], cmap="gray", vmin=0, vmax=1)
        axis.set_title(f"{exposures[frame]:.0f} photons")
        axis.axis("off")
    axes[3].semilogx(exposures, table[:, 2], "o-")
    axes[3].set(xlabel="exposure, photons", ylabel="signal to noise, dB")
    figure.savefig(path, dpi=80)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=6_000_000, help="pixels in the stack (default: %(default)s)")
    parser.add_argument("--plot", default="image_stack.png", help="where the plot goes (default: %(default)s)")
    options = parser.parse_args()
    scene = photograph()
    counts, exposures = expose(scene, max(options.size // scene.size, 2), np.random.default_rng(22))
    stack = calibrate(counts, exposures)
    sharp = np.clip(stack + np.float32(0.7) * (stack - blur(stack)), 0, 1)
    table = measure(stack, scene)
    print(f"{len(stack)} frames of {scene.shape[1]} by {scene.shape[0]} pixels")
    print("  photons    mean      sd  SNR dB  bright    edge")
    for exposure, row in zip(exposures, table):
        print(f"{exposure:9.0f}" + "{:8.4f}{:8.4f}{:8.2f}{:8.4f}{:8.4f}".format(*row))
    plot(options.plot, np.power(sharp, np.float32(1 / 2.2)), exposures, table)


if __name__ == "__main__":
    main()
