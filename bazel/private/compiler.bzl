"""How ampc is called: what the rules for models have in common."""

load(":providers.bzl", "AmpModelInfo", "AmpRulesInfo")
load(":rules.bzl", "rules_of")
load(":toolchain.bzl", "TOOLCHAIN_TYPE")

_DTYPES = ["bf16", "fp16"]

# Said by attributes, or the rules' own affair.
_OWN = {
    "--declared-inputs": None,
    "--depfile": None,
    "--depfile-beside": None,
    "--dtype": "dtypes",
    "--emit": None,
    "--explain": None,
    "--external-data": "data_file",
    "--level": "level",
    "--output": "out",
    "--shards": "shards",
    "--target": "targets",
    "--unused-inputs": None,
    "--write-if-changed": None,
    "-MD": None,
    "-MF": None,
    "-MMD": None,
    "-o": "out",
}

MODEL_ATTRS = {
    "data_file": attr.bool(
        doc = "Weights go into a second file, <out>.data, which is empty where none is large.",
    ),
    "dtypes": attr.string_list(
        doc = "Data types, \"fp16\" and \"bf16\"; a model is made for each.",
        default = ["fp16"],
        allow_empty = False,
    ),
    "external_data": attr.label_list(
        doc = "The model's own data files; they lie where the model looks for them.",
        allow_files = True,
    ),
    "level": attr.string(doc = "The level: O0, O1, O2, OD, or one that the rules define."),
    "model": attr.label(doc = "The ONNX model.", mandatory = True, allow_single_file = True),
    "options": attr.string_list(
        doc = "More options of ampc. The build runs many at a time already, so -j1 unless there is a -j among them.",
    ),
    "out": attr.string(
        doc = "Name of what is made, with {model}, {name} and {dtype} in it; the last is needed where there are several.",
        default = "{model}.{dtype}.onnx",
    ),
    "rules": attr.label(
        doc = "An amp_rules, or a rule file that imports none but those that ship with ampc; default.amp unless said.",
        allow_single_file = [".amp"],
        providers = [[AmpRulesInfo], []],
    ),
    "targets": attr.string_list(doc = "Runtimes that it has to run in: names of profiles, such as \"ort-cpu\"."),
}

def check_attrs(ctx):
    """Fails where the attributes cannot be."""
    for dtype in ctx.attr.dtypes:
        if dtype not in _DTYPES:
            fail("'%s' is none of %s" % (dtype, ", ".join(_DTYPES)), "dtypes")
    for option in ctx.attr.options:
        name = option.split("=")[0]
        if name in _OWN:
            other = _OWN[name]
            fail("%s is %s" % (name, "the attribute `%s` here" % other if other else "the build rules' own affair"), "options")

def compiler(ctx):
    """A struct of what every call needs: the toolchain, the rule set, its arguments and what it reads."""
    tools = ctx.toolchains[TOOLCHAIN_TYPE]
    rules = rules_of(ctx.attr.rules)
    return struct(
        tools = tools,
        root = rules.root if rules else tools.default_rules,
        rules = depset(transitive = [tools.rules] + ([rules.files] if rules else [])),
        folders = _folders(ctx, rules, tools),
        jobs = [] if [o for o in ctx.attr.options if o.startswith("-j") or o.startswith("--jobs")] else ["-j1"],
    )

def _folders(ctx, rules, tools):
    found = []
    for folder in (rules.folders.to_list() if rules else []) + ["."]:
        for root in [".", ctx.bin_dir.path]:
            found.append(folder if root == "." else root if folder == "." else root + "/" + folder)
    return found + [tools.default_rules.dirname]

def output_name(ctx, dtype):
    """The name of what is made for a data type."""
    stem = ctx.file.model.basename
    if stem.endswith(".onnx"):
        stem = stem[:-len(".onnx")]
    if len(ctx.attr.dtypes) > 1 and "{dtype}" not in ctx.attr.out:
        fail("there are several data types: put {dtype} into the name", "out")
    return ctx.attr.out.replace("{model}", stem).replace("{name}", ctx.label.name).replace("{dtype}", dtype)

def add_decisions(ctx, c, args, dtype):
    """Rules, model and what else decides."""
    args.add(c.root)
    args.add(ctx.file.model)
    args.add("--dtype", dtype)
    if ctx.attr.level:
        args.add("--level", ctx.attr.level)
    for target in ctx.attr.targets:
        args.add("--target", target)
    args.add_all(c.folders, before_each = "-I")
    args.add("-q")

def run_deciding(ctx, c, args, outputs, name, **more):
    """An action that reads the rules: ampc tells afterwards which of them it has not read."""
    declared = ctx.actions.declare_file(name + ".rules")
    names = ctx.actions.args()
    names.set_param_file_format("multiline")
    names.add_all(c.rules)
    ctx.actions.write(declared, names)
    unused = ctx.actions.declare_file(name + ".unused")
    args.add("--declared-inputs", declared)
    args.add("--unused-inputs", unused)
    run(
        ctx,
        c,
        args,
        inputs = depset([ctx.file.model, declared] + ctx.files.external_data, transitive = [c.rules]),
        outputs = outputs + [unused],
        unused_inputs_list = unused,
        **more
    )

def run(ctx, c, args, maybe = None, **more):
    """An action of ampc. `maybe` is an output that it need not write, and is empty then."""
    if maybe == None:
        ctx.actions.run(executable = c.tools.ampc, arguments = [args], tools = c.tools.libraries, **more)
        return
    first = ctx.actions.args()
    first.add("-c", 'data=$1; shift; "$@" && { [ -e "$data" ] || : >"$data"; }')
    first.add("sh")
    first.add(maybe)
    first.add(c.tools.ampc)

    # run_shell() takes no unused_inputs_list.
    ctx.actions.run(
        executable = "/bin/sh",
        arguments = [first, args],
        tools = depset([c.tools.ampc], transitive = [c.tools.libraries]),
        **more
    )

def made(ctx, models, data_files, **groups):
    """Providers of what was made, by data type; each is an output group too, and so are those of `groups`."""
    by_type = {dtype: depset([f] + ([data_files[dtype]] if dtype in data_files else [])) for dtype, f in models.items()}
    files = depset(transitive = by_type.values())
    by_type.update({name: depset(more) for name, more in groups.items()})
    return [
        DefaultInfo(files = files, runfiles = ctx.runfiles(transitive_files = files)),
        OutputGroupInfo(**by_type),
        AmpModelInfo(models = models, data_files = data_files),
    ]
