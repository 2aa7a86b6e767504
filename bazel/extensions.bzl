"""The same for modules.

    ampc = use_extension("@rules_ampc//:extensions.bzl", "ampc")
    ampc.local(path = "/opt/ampc")
    use_repo(ampc, "ampc")
    register_toolchains("@ampc//:toolchain")
"""

load(":repositories.bzl", "ampc_repository")

def _ampc_impl(module_ctx):
    # The root module's word counts; a library may not say where the program is.
    for module in module_ctx.modules:
        for tag in module.tags.local:
            if module.is_root:
                ampc_repository(
                    name = "ampc",
                    beside = "MODULE.bazel",
                    exec_compatible_with = tag.exec_compatible_with,
                    path = tag.path,
                )
                return
    ampc_repository(name = "ampc", beside = "MODULE.bazel")

ampc = module_extension(
    implementation = _ampc_impl,
    doc = "An ampc that is installed, as the repository @ampc.",
    tag_classes = {
        "local": tag_class(attrs = {
            "exec_compatible_with": attr.string_list(doc = "Constraints on the machines that it runs on."),
            "path": attr.string(doc = "The folder of bin/ampc and share/ampc; AMPC_HOME's or the PATH's, unless said."),
        }),
    },
)
