#!/usr/bin/env python3
"""What a peer does with a model, as a whole process: load, convert, save.

    peer.py onnxconverter|onnxruntime|nothing IN OUT [--bare]

--bare leaves out its shape inference, which is most of its time and fails beyond 2 GiB. `nothing` loads and saves. A model
that has a data file gets one again.
"""

import sys
from pathlib import Path

import onnx

who, source, out, *more = sys.argv[1:]
data = Path(f"{source}.data").exists()
model = onnx.load(source)
if who == "onnxconverter":
    from onnxconverter_common import float16
elif who == "onnxruntime":
    from onnxruntime.transformers import float16
if who != "nothing":
    model = float16.convert_float_to_float16(model, keep_io_types=True, disable_shape_infer="--bare" in more)
onnx.save(model, out, save_as_external_data=data, location=Path(out).name + ".data" if data else None)
