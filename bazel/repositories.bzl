"""A toolchain of an ampc that is installed: for WORKSPACE files, and for the module extension."""

_BUILD = """load("@rules_ampc//:amp.bzl", "amp_toolchain")

package(default_visibility = ["//visibility:public"])

exports_files(["bin/ampc"])

amp_toolchain(
    name = "ampc",
    ampc = "bin/ampc",
    default_rules = "share/ampc/rules/default.amp",
    libraries = glob(["lib/ampc/**"], allow_empty = True),
    rules = glob(["share/ampc/rules/**/*.amp"]),
)

toolchain(
    name = "toolchain",
    exec_compatible_with = {constraints},
    toolchain = ":ampc",
    toolchain_type = "@rules_ampc//:toolchain_type",
)
"""

def _home(ctx):
    home = ctx.attr.path or ctx.os.environ.get("AMPC_HOME")
    if home:
        return ctx.path(home if home.startswith("/") else str(ctx.path(Label("@//:" + ctx.attr.beside)).dirname) + "/" + home)
    program = ctx.which("ampc")
    return program.realpath.dirname.dirname if program else None

def _ampc_repository_impl(ctx):
    home = _home(ctx)
    if not home:
        fail("no ampc: name the folder where it is installed as `path`, or in AMPC_HOME, or put the program on the PATH")
    program = home.get_child("bin").get_child("ampc")
    rules = home.get_child("share").get_child("ampc").get_child("rules")
    for wanted in [program, rules]:
        if not wanted.exists:
            fail("no ampc in %s: there is no %s" % (home, wanted))
    ctx.symlink(program, "bin/ampc")
    ctx.symlink(rules, "share/ampc/rules")
    libraries = home.get_child("lib").get_child("ampc")
    if libraries.exists:
        ctx.symlink(libraries, "lib/ampc")
    ctx.file("BUILD.bazel", _BUILD.replace("{constraints}", repr(ctx.attr.exec_compatible_with)))

ampc_repository = repository_rule(
    implementation = _ampc_repository_impl,
    doc = "An ampc that is installed. Its toolchain is //:toolchain, to be registered.",
    attrs = {
        "beside": attr.string(doc = "The file of the main repository that a relative `path` starts at.", default = "WORKSPACE"),
        "exec_compatible_with": attr.string_list(
            doc = "Constraints on the machines that it runs on, such as \"@platforms//os:linux\"; any, unless said.",
        ),
        "path": attr.string(
            doc = "The folder of bin/ampc and share/ampc; that of AMPC_HOME, or of the ampc on the PATH, unless said.",
        ),
    },
    environ = ["AMPC_HOME", "PATH"],
    local = True,
    configure = True,
)
