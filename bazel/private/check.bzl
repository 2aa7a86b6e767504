"""Tests of rule files."""

load(":providers.bzl", "AmpRulesInfo")
load(":rules.bzl", "rules_of")
load(":toolchain.bzl", "TOOLCHAIN_TYPE")

def _quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"

def _in_runfiles(folder):
    # Files of other repositories lie beside this one's.
    return "../" + folder[len("external/"):] if folder.startswith("external/") else folder

def _amp_check_test_impl(ctx):
    tools = ctx.toolchains[TOOLCHAIN_TYPE]
    rules = rules_of(ctx.attr.rules)
    command = [tools.ampc.short_path]
    if ctx.file.expect:
        if ctx.files.models:
            fail("the file of expectations names the models; put them into data", "models")
        command += ["test", rules.root.short_path, "--expect", ctx.file.expect.short_path]
    else:
        command += ["check", rules.root.short_path]
        for model in ctx.files.models:
            command += ["--model", model.short_path]
    for folder in rules.folders.to_list() + ["."]:
        command += ["-I", _in_runfiles(folder)]
    shipped = tools.default_rules.short_path
    command += ["-I", shipped[:shipped.rfind("/")]] + ctx.attr.options
    script = ctx.actions.declare_file(ctx.label.name + ".sh")
    ctx.actions.write(
        script,
        "#!/bin/sh\nexec " + " ".join([_quoted(word) for word in command]) + "\n",
        is_executable = True,
    )
    files = [tools.ampc] + ctx.files.models + ctx.files.data + ([ctx.file.expect] if ctx.file.expect else [])
    runfiles = ctx.runfiles(files, transitive_files = depset(transitive = [rules.files, tools.rules, tools.libraries]))
    return [DefaultInfo(executable = script, runfiles = runfiles)]

amp_check_test = rule(
    implementation = _amp_check_test_impl,
    doc = """A test of rule files: `ampc check`, or `ampc test` where there are expectations.""",
    attrs = {
        "data": attr.label_list(doc = "What else is read: models that `expect` names, and data files.", allow_files = True),
        "expect": attr.label(doc = "A file of expectations, for `ampc test`.", allow_single_file = True),
        "models": attr.label_list(doc = "Models that the rules are checked against.", allow_files = True),
        "options": attr.string_list(doc = "More options, such as \"-Werror\"."),
        "rules": attr.label(
            doc = "An amp_rules, or a rule file that imports none but those that ship with ampc.",
            mandatory = True,
            allow_single_file = [".amp"],
            providers = [[AmpRulesInfo], []],
        ),
    },
    test = True,
    toolchains = [TOOLCHAIN_TYPE],
)
