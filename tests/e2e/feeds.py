"""Input values for the models of tests/models and tests/cases, the same on every machine."""

import zlib

import numpy as np


def feeds(spec, seed=0):
    """Name to array, from a case file (`feeds`) or an entry of models.json (`inputs`)."""
    if "feeds" in spec:
        return {name: _case_input(spec["name"], name, form, seed) for name, form in spec["feeds"].items()}
    rng = np.random.default_rng(seed)
    return {name: np.asarray(_model_input(rng, form)) for name, form in spec["inputs"].items()}


def _case_input(case, name, form, seed):
    if "values" in form:
        return np.array(form["values"], dtype=form["dtype"]).reshape(form["shape"])
    # A generator for each input, so that adding one to a case leaves the others' values as they are.
    rng = np.random.default_rng(zlib.crc32((case + name).encode()) + seed)
    return rng.uniform(form["lo"], form["hi"], size=form["shape"]).astype(form["dtype"])


def _model_input(rng, form):
    kind, a, b, shape = form["kind"], form["a"], form["b"], form["shape"]
    if kind == "normal":
        return rng.normal(a, b, shape).astype(np.float32)
    if kind == "uniform":
        return rng.uniform(a, b, shape).astype(np.float32)
    if kind == "text_rows":
        return _text_rows(rng, a, b, shape)
    dtype = {"int32": np.int32, "int64": np.int64, "float_int": np.float32}[kind]
    return rng.integers(a, b, shape).astype(dtype)


def _text_rows(rng, ink, paper, shape):
    """A page with rows of dark blocks: a text detector finds nothing in plain noise."""
    height, width = shape[2:]
    dots = rng.choice([ink, paper], (height // 4, width // 4))
    blocks = np.kron(dots, np.ones((4, 4)))
    page = np.full((height, width), paper, np.float32)
    for top in range(32, height - 24, 48):
        page[top:top + 24, 24:width - 40] = blocks[top:top + 24, 24:width - 40]
    return np.broadcast_to(page, shape).astype(np.float32)
