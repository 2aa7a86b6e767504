"""A model, compiled by one run of ampc."""

load(":compiler.bzl", "MODEL_ATTRS", "add_decisions", "check_attrs", "compiler", "made", "output_name", "run_deciding")
load(":providers.bzl", "AmpModelInfo")
load(":toolchain.bzl", "TOOLCHAIN_TYPE")

_REPORTS = ["html", "json", "yaml"]

def _amp_model_impl(ctx):
    check_attrs(ctx)
    for form in ctx.attr.reports:
        if form not in _REPORTS:
            fail("'%s' is none of %s" % (form, ", ".join(_REPORTS)), "reports")
    c = compiler(ctx)
    models, data_files, reports = {}, {}, []
    for dtype in ctx.attr.dtypes:
        name = output_name(ctx, dtype)
        out = ctx.actions.declare_file(name)
        outputs = [out]
        args = ctx.actions.args()
        add_decisions(ctx, c, args, dtype)
        args.add("-o", out)
        if ctx.attr.data_file:
            data_files[dtype] = ctx.actions.declare_file(name + ".data")
            outputs.append(data_files[dtype])
            args.add("--external-data")
        for form in ctx.attr.reports:
            report = ctx.actions.declare_file(name + "." + form)
            outputs.append(report)
            reports.append(report)
            args.add("--report", report)
        args.add_all(c.jobs + ctx.attr.options)
        run_deciding(
            ctx,
            c,
            args,
            outputs,
            name,
            maybe = data_files.get(dtype),
            mnemonic = "AmpCompile",
            progress_message = "Compiling %s to %s" % (ctx.file.model.short_path, dtype),
        )
        models[dtype] = out
    return made(ctx, models, data_files, reports = reports)

amp_model = rule(
    implementation = _amp_model_impl,
    doc = """An ONNX model in mixed precision, for one data type or several.

    amp_model(name = "encoder", model = "encoder.onnx", rules = ":team", dtypes = ["fp16", "bf16"])

makes encoder.fp16.onnx and encoder.bf16.onnx; each is also an output group (`--output_groups=bf16`, or a filegroup of it).
It is compiled again when ampc, the model, a data file or a rule file that was read has changed.""",
    attrs = dict(MODEL_ATTRS, **{
        "reports": attr.string_list(
            doc = "Reports of what was done, \"html\", \"json\" or \"yaml\": <out>.html. They are the output group `reports`.",
        ),
    }),
    provides = [AmpModelInfo],
    toolchains = [TOOLCHAIN_TYPE],
)
