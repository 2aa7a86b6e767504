"""Sets of rule files."""

load(":providers.bzl", "AmpRulesInfo")

def _join(*parts):
    return "/".join([part for part in parts if part and part != "."]) or "."

def _root(ctx):
    if ctx.file.root:
        if ctx.file.root not in ctx.files.srcs:
            fail("'%s' is not among srcs" % ctx.attr.root.label, "root")
        return ctx.file.root
    if len(ctx.files.srcs) == 1:
        return ctx.files.srcs[0]
    named = [f for f in ctx.files.srcs if f.basename == ctx.label.name + ".amp"]
    if len(named) == 1:
        return named[0]
    fail("which of srcs are models compiled by? Name one here; it is %s.amp unless another is named" % ctx.label.name, "root")

def _amp_rules_impl(ctx):
    deps = [dep[AmpRulesInfo] for dep in ctx.attr.deps]
    root = _root(ctx)
    folders = [_join(ctx.label.workspace_root, ctx.label.package, folder) for folder in ctx.attr.imports]
    files = depset(ctx.files.srcs, transitive = [dep.files for dep in deps])
    return [
        DefaultInfo(files = depset([root]), runfiles = ctx.runfiles(transitive_files = files)),
        AmpRulesInfo(
            root = root,
            files = files,
            folders = depset(folders, transitive = [dep.folders for dep in deps], order = "preorder"),
        ),
    ]

amp_rules = rule(
    implementation = _amp_rules_impl,
    doc = """A set of rule files, with the sets that it imports.

A file is imported by its path from the importing file's folder, from a folder of `imports` of this set or of one that it
depends on, or from the root of the source tree; and what ships with ampc, `default.amp` and the like, by its name. A rule
file that no import reaches makes nothing be compiled again when it is changed.""",
    attrs = {
        "deps": attr.label_list(doc = "Sets of which files are imported.", providers = [AmpRulesInfo]),
        "imports": attr.string_list(
            doc = "Folders, from this package, in which the files of this set are looked for by those that import them.",
            default = ["."],
        ),
        "root": attr.label(
            doc = "The file that models are compiled by: the only one of `srcs`, or <name>.amp, unless another is named.",
            allow_single_file = [".amp"],
        ),
        "srcs": attr.label_list(doc = "The rule files.", allow_files = [".amp"], mandatory = True, allow_empty = False),
    },
    provides = [AmpRulesInfo],
)

def rules_of(target):
    """The set that a `rules` attribute names: an amp_rules, or a file alone. None where there is none."""
    if target == None:
        return None
    if AmpRulesInfo in target:
        return target[AmpRulesInfo]
    (root,) = target[DefaultInfo].files.to_list()
    return AmpRulesInfo(root = root, files = depset([root]), folders = depset())
