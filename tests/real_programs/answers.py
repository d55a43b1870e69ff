"""answers.py RUNNER PROGRAMS NAME: one program, small. Both versions say and write the same, that is what NumPy finds,
and what is spoilt is noticed."""
import copy
import importlib.util
import os
import sys
import tempfile
from pathlib import Path

import oracles

SKIPPED = 77
SMALL_BYTES = 32 << 10  # sums, tallies, weights


def load(path):
    sys.path.insert(0, str(Path(path).resolve().parent))
    spec = importlib.util.spec_from_file_location("real_programs", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["real_programs"] = module
    spec.loader.exec_module(module)
    return module


def spoil_answer(run):
    """The same run with its first figure a millionth off, or another text."""
    said = copy.deepcopy(run.said)
    name, value = next(iter(said["answer"].items()))
    said["answer"][name] = value * (1 + 1e-6)
    return run._replace(said=said)


def check_comparison(runner, runs):
    """Two versions agree, and no longer when one of them says or writes anything else."""
    assert runner.agrees(runs), f"the versions differ: {runs}"
    spoilt = dict(runs, ferry=[*runs["ferry"], spoil_answer(runs["ferry"][0])])
    assert not runner.agrees(spoilt), "another answer is not noticed"
    spoilt = dict(runs, explicit=[*runs["explicit"], runs["explicit"][0]._replace(written="0")])
    assert not runner.agrees(spoilt), "another file is not noticed"


def check_oracle(oracle, run, size, place):
    arguments = [word for word in size.arguments]
    found = oracle(run.said["answer"], arguments, place.inputs, place.outputs)
    assert found == "", found
    written = sorted(place.outputs.iterdir())
    if not written:
        answer = dict(run.said["answer"], loss=run.said["answer"]["loss"] * 1.001)
        assert oracle(answer, arguments, place.inputs, place.outputs), "another answer is not noticed"
        return
    # As if the last page had not been written.
    whole = written[-1].read_bytes()
    written[-1].write_bytes(whole[:-4096] + bytes(min(4096, len(whole))))
    assert oracle(run.said["answer"], arguments, place.inputs, place.outputs), "a page of zeros is not noticed"


def check_counts(said, inputs, crossing):
    """The library's account: what has to cross does so once, nothing for nothing, and a few pages for small arrays."""
    assert said["redundant_bytes"] == 0, said
    for way, nbytes in crossing(inputs, said["answer"]).items():
        assert nbytes <= said[way] <= nbytes + SMALL_BYTES, f"{way}: {said[way]} for {nbytes}"


def bytes_of(folder, pattern):
    """Of pictures, without their heads."""
    return sum(oracles.read_picture(path).nbytes for path in folder.glob(pattern))


def cg_crossing(inputs, answer):
    """The matrix, b, and 16 parts of two sums per iteration: blocks of less than a page stay on the host."""
    rows = 64 * 64
    inward = rows * (5 * 12 + 4 + 8) - 4 * 64 * 12 + answer["iterations"] * 2 * 16 * 8
    return {"bytes_to_device": inward, "bytes_to_host": rows * 4 + answer["iterations"] * 2 * 16 * 8}


def kmeans_crossing(inputs, answer):
    """The points, a shade for each, and two figures per iteration of every block of 256 points."""
    points = (344 - 3) * (403 - 3)
    return both_ways(points * 16 * 4, points + answer["iterations"] * (points + 255) // 256 * 16)


def both_ways(inward, outward):
    return {"bytes_to_device": inward, "bytes_to_host": outward}


# What each program, small, has to send in and to bring home.
CROSSINGS = {
    "heat": lambda inputs, answer: both_ways(128 * 128 * 4, 4 * 128 * 128),
    "kmeans": kmeans_crossing,
    "cg": cg_crossing,
    "images": lambda inputs, answer: both_ways(bytes_of(inputs, "images/*"), bytes_of(inputs, "images/*")),
    "epoch": lambda inputs, answer: both_ways(4096 * 4096, 0),
}


def main():
    runner = load(sys.argv[1])
    programs = Path(sys.argv[2])
    program = next(one for one in runner.PROGRAMS if one.name == sys.argv[3])
    explicit = runner.explicit_suffix(programs)
    if os.environ["FERRY_BACKEND"] == "cuda" and explicit != "explicit":
        print("there is no device here")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        place = runner.Place(programs, Path(folder, "in"), Path(folder, "out"), explicit)
        place.inputs.mkdir()
        if not runner.prepare(place, program, program.small, None):
            return SKIPPED
        runs = {version: [runner.run(place, program, program.small, version, True)] for version in runner.VERSIONS}
        check_comparison(runner, runs)
        check_counts(runs["ferry"][0].said, place.inputs, CROSSINGS[program.name])
        check_oracle(getattr(oracles, program.name), runs["ferry"][0], program.small, place)
    lines = runner.lines_of(program.name)
    assert 0 < lines["ferry"] < lines["explicit"], lines
    print(program.name, runs["ferry"][0].said["answer"], lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
