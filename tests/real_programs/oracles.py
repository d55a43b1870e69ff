"""What the programs' answers have to be, by NumPy and in another way: each oracle takes what a program said, its inputs
and its outputs, and says what is wrong, or nothing."""
import math

import numpy as np

CLUSTERS, FIELDS = 16, 1024


def random_at(places):
    """splitmix64, as in program.c."""
    with np.errstate(over="ignore"):
        z = (np.asarray(places).astype(np.uint64) + np.uint64(1)) * np.uint64(0x9e3779b97f4a7c15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xbf58476d1ce4e5b9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94d049bb133111eb)
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53


def read_picture(path):
    kind, shape, most, values = path.read_bytes().split(b"\n", 3)
    width, height = map(int, shape.split())
    channels = {b"P5": 1, b"P6": 3}[kind]
    dtype = ">u2" if int(most) > 255 else np.uint8
    return np.frombuffer(values, dtype).reshape(height, width, channels)


def option(arguments, name, otherwise):
    return int(arguments[arguments.index(name) + 1]) if name in arguments else otherwise


def close(got, want, tolerance):
    return math.isclose(got, want, rel_tol=tolerance)


def heat(answer, arguments, inputs, outputs):
    size, steps, every = (option(arguments, name, None) for name in ("--size", "--steps", "--every"))
    y, x = np.mgrid[:size, :size]
    squares, noise = random_at(y * 8 // size * 8 + x * 8 // size), random_at(y * size + x + 64)
    grid = (0.75 * squares + 0.25 * noise).astype(np.float32)
    for step in range(1, steps + 1):
        inner = grid[1:-1, 1:-1]
        around = grid[1:-1, :-2] + grid[1:-1, 2:] + grid[:-2, 1:-1] + grid[2:, 1:-1]
        grid = grid.copy()
        grid[1:-1, 1:-1] = inner + np.float32(0.2) * (around - 4 * inner)
        if step % every == 0:
            path = outputs / f"heat{step // every:04d}.pgm"
            if np.abs(read_picture(path)[..., 0] - grid * 255).max() > 0.51:
                return f"{path.name} is another picture"
    return "" if close(answer["heat"], float(grid.sum(dtype=np.float64)), 1e-6) else f"heat {answer['heat']}"


def kmeans(answer, arguments, inputs, outputs):
    window, most = option(arguments, "--window", 8), option(arguments, "--iterations", 20)
    heights = read_picture(inputs / "terrain.pgm")[..., 0].astype(np.float64)
    windows = np.lib.stride_tricks.sliding_window_view(heights, (window, window))
    points = (windows - windows[..., window // 2, window // 2, None, None]).reshape(-1, window * window)
    starts = (2 * np.arange(CLUSTERS) + 1) * len(points) // (2 * CLUSTERS)
    centres, labels = points[starts], np.full(len(points), -1)
    for iteration in range(1, most + 1):
        apart = (points**2).sum(1)[:, None] - 2 * points @ centres.T + (centres**2).sum(1)
        before, labels = labels, apart.argmin(1)
        inertia = float(apart[np.arange(len(points)), labels].sum())
        if (before == labels).all():
            break
        centres = np.array([points[labels == c].mean(0) if (labels == c).any() else centres[c]
                            for c in range(CLUSTERS)])
    shades = read_picture(outputs / "clusters.pgm").reshape(-1)
    same = float((shades == (labels * 255 // (CLUSTERS - 1))).mean())
    if answer["iterations"] != iteration or same < 0.999:
        return f"{answer['iterations']} iterations for {iteration}, {same:.2%} of the points in their clusters"
    return "" if close(answer["inertia"], inertia, 1e-5) else f"inertia {answer['inertia']} for {inertia}"


def multiply(side, x):
    """A x, by what flows between neighbours."""
    x = x.reshape(side, side)
    here = np.arange(side * side).reshape(side, side)
    left, up = 0.5 + random_at(2 * here), 0.5 + random_at(2 * here + 1)
    result = 0.01 * x
    flows = left[:, 1:] * (x[:, 1:] - x[:, :-1])
    result[:, 1:] += flows
    result[:, :-1] -= flows
    flows = up[1:] * (x[1:] - x[:-1])
    result[1:] += flows
    result[:-1] -= flows
    return result.reshape(-1)


def cg(answer, arguments, inputs, outputs):
    side = option(arguments, "--size", 256)
    b = random_at(np.arange(side * side) + (1 << 40)) - 0.5
    x = np.frombuffer((outputs / "solution").read_bytes(), np.float32).astype(np.float64)
    if x.shape != b.shape:
        return f"{x.size} values"
    left = float(np.abs(multiply(side, x) - b).max())
    norm = float(np.linalg.norm(b))
    # Rounding x to float32 leaves as much.
    if left > 1e-5 * np.abs(x).max():
        return f"A x is {left} off b"
    return "" if 0 < answer["residual"] <= 1e-8 * norm and answer["iterations"] > 25 else f"{answer}"


def images(answer, arguments, inputs, outputs):
    paths = sorted((inputs / "images").iterdir())
    weights = [1, 8, 28, 56, 70, 56, 28, 8, 1]
    for path in paths:
        values = read_picture(path).astype(np.int64)
        for axis in (0, 1):
            wide = np.pad(values, [(4, 4) if one == axis else (0, 0) for one in range(3)], mode="edge")
            size = values.shape[axis]
            values = sum(weight * np.take(wide, range(k, k + size), axis) for k, weight in enumerate(weights))
        wide = np.pad(values >> 16, [(1, 1), (1, 1), (0, 0)], mode="edge")
        down = wide[:-2] + 0, wide[1:-1] + 0, wide[2:] + 0
        across = sum(weight * (row[:, 2:] - row[:, :-2]) for weight, row in zip((1, 2, 1), down))
        steep = down[2] - down[0]
        along = steep[:, :-2] + 2 * steep[:, 1:-1] + steep[:, 2:]
        want = np.minimum(np.abs(across) + np.abs(along), 255)
        if not np.array_equal(read_picture(outputs / path.name), want):
            return f"{path.name} has other edges"
    return "" if answer["images"] == len(paths) == len(list(outputs.iterdir())) else f"{answer['images']} images"


def epoch(answer, arguments, inputs, outputs):
    samples = np.fromfile(inputs / "samples", np.float32).reshape(-1, FIELDS).astype(np.float64)
    batch = (option_bytes(arguments, "--budget") - (4 << 20)) // 2 // (4 * FIELDS)
    weights, loss = np.zeros(FIELDS), 0.0
    for number, first in enumerate(range(0, len(samples), batch)):
        rows = samples[first:first + batch].copy()
        wanted = rows[:, 0].copy()
        rows[:, 0] = 1
        chance = 1 / (1 + np.exp(-rows @ weights))
        loss -= float(np.log(np.where(wanted > 0.5, chance, 1 - chance) + 1e-12).sum())
        weights -= 4 / (1 + 0.1 * number) * ((chance - wanted) @ rows) / len(rows)
    loss /= len(samples)
    if answer["samples"] != len(samples) or loss > 0.69:
        return f"{answer['samples']} samples; a loss of {loss} is no better than guessing"
    return "" if close(answer["loss"], loss, 1e-4) else f"a loss of {answer['loss']} for {loss}"


def option_bytes(arguments, name):
    text = arguments[arguments.index(name) + 1]
    return int(text[:-1]) << {"K": 10, "M": 20, "G": 30}[text[-1]]
