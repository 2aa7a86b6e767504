"""A large model, compiled by many actions: one decides, many cast weights, one puts them together."""

load(":compiler.bzl", "MODEL_ATTRS", "add_decisions", "check_attrs", "compiler", "made", "output_name", "run", "run_deciding")
load(":providers.bzl", "AmpModelInfo")
load(":toolchain.bzl", "TOOLCHAIN_TYPE")

def _plan(ctx, c, dtype, name):
    plan = ctx.actions.declare_file(name + ".plan")
    args = ctx.actions.args()
    args.add("plan")
    add_decisions(ctx, c, args, dtype)
    args.add("-o", plan)
    args.add("--shards", ctx.attr.shards)
    if ctx.attr.data_file:
        args.add("--external-data")
    if ctx.attr.unmeasured:
        args.add("--unmeasured")
    args.add_all(c.jobs + ctx.attr.options)
    what = "Planning %s in %s" % (ctx.file.model.short_path, dtype)
    run_deciding(ctx, c, args, [plan], name, mnemonic = "AmpPlan", progress_message = what)
    return plan

def _cast(ctx, c, plan, name, at):
    shard = ctx.actions.declare_file("%s.shards/%d" % (name, at))
    args = ctx.actions.args()
    args.add("cast")
    args.add("--plan", plan)
    args.add("--shard", "%d/%d" % (at, ctx.attr.shards))
    args.add("-o", shard)
    args.add("-q")
    args.add_all(c.jobs)
    run(
        ctx,
        c,
        args,
        inputs = [plan, ctx.file.model] + ctx.files.external_data,
        outputs = [shard],
        mnemonic = "AmpCast",
        progress_message = "Casting part %d of %d of %s" % (at, ctx.attr.shards, name),
    )
    return shard

def _amp_model_sharded_impl(ctx):
    check_attrs(ctx)
    if ctx.attr.shards < 1 or ctx.attr.shards > 65536:
        fail("%d is not from 1 to 65536" % ctx.attr.shards, "shards")
    c = compiler(ctx)
    models, data_files = {}, {}
    for dtype in ctx.attr.dtypes:
        name = output_name(ctx, dtype)
        out = ctx.actions.declare_file(name)
        plan = _plan(ctx, c, dtype, name)
        shards = [_cast(ctx, c, plan, name, at) for at in range(1, ctx.attr.shards + 1)]
        args = ctx.actions.args()
        args.add("link")
        args.add("--plan", plan)
        args.add_all(shards)
        args.add("-o", out)
        args.add("-q")
        args.add_all(c.jobs)
        outputs = [out]
        if ctx.attr.data_file:
            data_files[dtype] = ctx.actions.declare_file(name + ".data")
            outputs.append(data_files[dtype])
        run(
            ctx,
            c,
            args,
            maybe = data_files.get(dtype),
            inputs = [plan] + shards,
            outputs = outputs,
            mnemonic = "AmpLink",
            progress_message = "Linking %s" % name,
        )
        models[dtype] = out
    return made(ctx, models, data_files)

amp_model_sharded = rule(
    implementation = _amp_model_sharded_impl,
    doc = """As amp_model, in parts that Bazel can give to many machines: the same bytes.

One action plans, `shards` actions cast about as many bytes of weights each, one links. `options` go to the first.""",
    attrs = dict(MODEL_ATTRS, **{
        "shards": attr.int(doc = "How many parts, from 1 to 65536.", mandatory = True),
        "unmeasured": attr.bool(
            doc = "The plan reads no more than a sample of the weights: quicker, and an error at the end where one turns out to be out of range.",
        ),
    }),
    provides = [AmpModelInfo],
    toolchains = [TOOLCHAIN_TYPE],
)
