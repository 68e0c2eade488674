"""Compares the numbers of two sessions or series: compare.py ONE.h5 OTHER.h5 [TOLERANCE]. Prints how many arrays are equal bit for bit."""
import sys

import h5py
import numpy

TOLERANCE = 1e-6  # of the largest number of an array; 0: bit for bit


def arrays_of(path):
    """Every dataset of numbers except those of the vocabulary, by path."""
    found = {}
    with h5py.File(path) as file:
        def keep(name, item):
            if isinstance(item, h5py.Dataset) and item.dtype.kind in "fic" and item.shape:
                found[name] = item[...]
        file.visititems(keep)
    return found


def difference(one, other):
    """The largest difference, as a part of the largest number; infinity where one lacks what the other has."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return numpy.inf
    if one.size == 0:
        return 0.0
    if one.dtype.kind != "i" and not numpy.array_equal(numpy.isfinite(one), numpy.isfinite(other)):
        return numpy.inf
    finite = numpy.isfinite(one)
    if not finite.any():
        return 0.0
    apart = numpy.abs(one[finite].astype(complex) - other[finite]).max()
    return apart / max(numpy.abs(one[finite]).max(), numpy.finfo(float).tiny)


def main():
    one, other = (arrays_of(path) for path in sys.argv[1:3])
    tolerance = float(sys.argv[3]) if len(sys.argv) > 3 else TOLERANCE
    wrong = sorted(one.keys() ^ other.keys())
    if wrong:
        sys.exit("only one of the sessions has " + ", ".join(wrong))
    if not one:
        sys.exit("there are no arrays to compare")
    equal = sum(one[name].tobytes() == other[name].tobytes() for name in one)
    apart = {name: difference(one[name], other[name]) for name in one}
    wrong = [f"{name} by {apart[name]:.2g}" for name in sorted(apart) if not apart[name] <= tolerance]
    if wrong:
        sys.exit("different: " + ", ".join(wrong))
    print(f"{len(one)} arrays, {equal} of them bit for bit, the others within {max(apart.values()):.2g}")


if __name__ == "__main__":
    main()
