#!/usr/bin/env python3
"""Casts of every kernel against numpy's float16 and float32 and ml_dtypes' bfloat16: cast_against_numpy.py CAST_STREAM.

A million values and all special ones; NaNs must be the one quiet NaN with the sign of their source.
"""

import os
import subprocess
import sys

import ml_dtypes
import numpy as np

LOW = {"fp16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}
QUIET_NAN = {"fp16": 0x7E00, "bf16": 0x7FC0}
LARGEST = {"fp16": 0x7BFF, "bf16": 0x7F7F}
INFINITY = {"fp16": 0x7C00, "bf16": 0x7F80}


def run(program, kernel, *arguments, data=b""):
    environment = dict(os.environ, AMPC_FORCE_KERNEL=kernel)
    return subprocess.run([program, *arguments], input=data, stdout=subprocess.PIPE, check=True, env=environment).stdout


def samples(low):
    """fp32 values: a million random ones, every value of the low type, the midpoints between them, their neighbours."""
    random = np.random.default_rng(20240607)
    bits = random.integers(0, 2**32, 500_000, dtype=np.uint32)
    near = (random.standard_normal(500_000) * np.exp2(random.integers(-30, 20, 500_000))).astype(np.float32)
    every = np.arange(65536, dtype=np.uint16).view(LOW[low]).astype(np.float32)
    every = np.sort(every[np.isfinite(every)])
    middle = ((every[1:].astype(np.float64) + every[:-1]) / 2).astype(np.float32)
    special = np.array([0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00000, 0x7F800001, 0xFF800001, 0x7FFFFFFF, 0xFFFFFFFF,
                        0x7F7FFFFF, 0xFF7FFFFF, 0x477FEFFF, 0x477FF000, 0x477FF001, 0x7F7F7FFF, 0x7F7F8000, 0x00000000,
                        0x80000000, 0x00000001, 0x80000001, 0x00800000, 0x007FFFFF, 0x33000000, 0x33000001, 0x32FFFFFF],
                       dtype=np.uint32).view(np.float32)
    exact = np.concatenate([every, middle])
    with np.errstate(all="ignore"):
        around = np.concatenate([np.nextafter(exact, np.float32(np.inf)), np.nextafter(exact, np.float32(-np.inf))])
    return np.concatenate([bits.view(np.float32), near, exact, around, special])


def to_odd(values):
    """fp64 to fp32, rounded to odd where inexact, so that a second rounding to a low type rounds as one would."""
    nearest = values.astype(np.float32)
    bits = nearest.view(np.uint32).copy()
    back = nearest.astype(np.float64)
    inexact = (back != values) & np.isfinite(values)
    # Towards zero first, then the last bit is set.
    beyond = inexact & (np.abs(back) > np.abs(values))
    bits[beyond] -= 1
    bits[inexact] |= 1
    return bits.view(np.float32)


def expected(values, low, clamp):
    with np.errstate(all="ignore"):
        if values.dtype == np.float64 and low == "bf16":
            cast = to_odd(values).astype(LOW[low]).view(np.uint16)  # ml_dtypes itself goes through fp32, rounding twice
        else:
            cast = values.astype(LOW[low]).view(np.uint16)
    sign = np.where(np.signbit(values), np.uint16(0x8000), np.uint16(0))
    cast = np.where(np.isnan(values), sign | np.uint16(QUIET_NAN[low]), cast)
    if clamp:
        over = np.isfinite(values) & ((cast & 0x7FFF) == INFINITY[low])
        cast = np.where(over, sign | np.uint16(LARGEST[low]), cast)
    return cast.astype(np.uint16)


def compare(what, got, want, source):
    if got.shape != want.shape:
        sys.exit(f"{what}: {got.size} values, not {want.size}")
    wrong = np.flatnonzero(got != want)
    if wrong.size:
        at = wrong[0]
        sys.exit(f"{what}: {wrong.size} of {want.size} differ; first {source[at]!r} gave {int(got[at]):#x}, not "
                 f"{int(want[at]):#x}")


def doubles_around_singles():
    """fp64 values: a million random ones, and the singles, the midpoints between them, and their neighbours."""
    random = np.random.default_rng(12)
    bits = random.integers(0, 2**64, 500_000, dtype=np.uint64).view(np.float64)
    near = random.standard_normal(500_000) * np.exp2(random.integers(-155, 130, 500_000).astype(np.float64))
    some = np.concatenate([random.integers(0, 2**32, 100_000, dtype=np.uint32), np.arange(64, dtype=np.uint32),
                           np.arange(0x7F7FFFC0, 0x7F800000, dtype=np.uint32)]).view(np.float32)
    some = np.unique(some[np.isfinite(some)].astype(np.float64))
    with np.errstate(all="ignore"):
        middle = (np.nextafter(some.astype(np.float32), np.float32(np.inf)).astype(np.float64) + some) / 2
        exact = np.concatenate([some, middle, [2.0**128 - 2.0**103, 2.0**-150, 2.0**-149, 2.0**-1074, 1.7e308]])
        around = np.concatenate([np.nextafter(exact, np.inf), np.nextafter(exact, -np.inf)])
    special = np.array([0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000, 0xFFF8000000000000, 0x7FF0000000000001,
                        0xFFF0000000000001, 0x7FFFFFFFFFFFFFFF, 0, 0x8000000000000000, 1, 0x8000000000000001],
                       dtype=np.uint64).view(np.float64)
    return np.concatenate([bits, near, exact, -exact, around, special])


def to_single(values, clamp):
    with np.errstate(all="ignore"):
        cast = values.astype(np.float32).view(np.uint32)
    sign = np.where(np.signbit(values), np.uint32(0x80000000), np.uint32(0))
    cast = np.where(np.isnan(values), sign | np.uint32(0x7FC00000), cast)
    if clamp:
        over = np.isfinite(values) & ((cast & 0x7FFFFFFF) == 0x7F800000)
        cast = np.where(over, sign | np.uint32(0x7F7FFFFF), cast)
    return cast.astype(np.uint32)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: cast_against_numpy.py CAST_STREAM")
    program = sys.argv[1]
    kernels = run(program, "", "kernels").decode().split()
    if kernels[-1:] != ["scalar"]:
        sys.exit(f"the scalar kernel is not last: {kernels}")
    compared = 0
    for low in LOW:
        singles = samples(low)
        with np.errstate(all="ignore"):
            random = np.random.default_rng(3)
            doubles = singles.astype(np.float64)
            # Just off what fp32 can tell apart, where two roundings give another result than one.
            doubles = np.concatenate([doubles, doubles * (1 + np.exp2(-random.integers(25, 53, doubles.size)))])
        for kernel in kernels:
            for name, values in (("fp32", singles), ("fp64", doubles)):
                for clamp in (False, True):
                    arguments = [name, low, "clamp"] if clamp else [name, low]
                    got = np.frombuffer(run(program, kernel, *arguments, data=values.tobytes()), np.uint16)
                    compare(f"{kernel}: {' '.join(arguments)}", got, expected(values, low, clamp), values)
                    compared += values.size
            halves = np.arange(65536, dtype=np.uint16)
            want = halves.view(LOW[low]).astype(np.float32)
            quiet = np.where(halves & 0x8000, np.uint32(0xFFC00000), np.uint32(0x7FC00000))
            want = np.where(np.isnan(want), quiet, want.view(np.uint32))
            got = np.frombuffer(run(program, kernel, low, "fp32", data=halves.tobytes()), np.uint32)
            compare(f"{kernel}: {low} fp32", got, want, halves)
            compared += halves.size
    doubles = doubles_around_singles()
    for kernel in kernels:
        for clamp in (False, True):
            arguments = ["fp64", "fp32", "clamp"] if clamp else ["fp64", "fp32"]
            got = np.frombuffer(run(program, kernel, *arguments, data=doubles.tobytes()), np.uint32)
            compare(f"{kernel}: {' '.join(arguments)}", got, to_single(doubles, clamp), doubles)
            compared += doubles.size
    print(f"{compared} values equal, kernels {' '.join(kernels)}")


if __name__ == "__main__":
    main()
