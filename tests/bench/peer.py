#!/usr/bin/env python3
"""What a peer does with a model, as a whole process: load, convert, save.

    peer.py onnxconverter|onnxruntime|nothing IN OUT [--bare]

--bare leaves out its shape inference, which is most of its time and fails beyond 2 GiB. `nothing` loads and saves.
"""

import sys
from pathlib import Path

import onnx

who, source, out, *more = sys.argv[1:]
model = onnx.load(source)
large = model.ByteSize() >= 2**31
if who == "onnxconverter":
    from onnxconverter_common import float16
elif who == "onnxruntime":
    from onnxruntime.transformers import float16
if who != "nothing":
    model = float16.convert_float_to_float16(model, keep_io_types=True, disable_shape_infer="--bare" in more)
large = large or model.ByteSize() >= 2**31
onnx.save(model, out, save_as_external_data=large, location=Path(out).name + ".data" if large else None)
