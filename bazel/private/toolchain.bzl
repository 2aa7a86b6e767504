"""Where ampc comes from."""

TOOLCHAIN_TYPE = "@rules_ampc//:toolchain_type"

def _amp_toolchain_impl(ctx):
    return [platform_common.ToolchainInfo(
        ampc = ctx.executable.ampc,
        libraries = depset(ctx.files.libraries),
        rules = depset(ctx.files.rules),
        default_rules = ctx.file.default_rules,
    )]

amp_toolchain = rule(
    implementation = _amp_toolchain_impl,
    doc = "A program with its rules. Goes into a `toolchain` of the type @rules_ampc//:toolchain_type.",
    attrs = {
        "ampc": attr.label(
            doc = "The program.",
            mandatory = True,
            allow_single_file = True,
            executable = True,
            cfg = "exec",
        ),
        "default_rules": attr.label(
            doc = "The rules where a model names none. Those that ship with ampc lie beside it.",
            mandatory = True,
            allow_single_file = [".amp"],
            cfg = "exec",
        ),
        "libraries": attr.label_list(
            doc = "Shared libraries that the program finds beside itself.",
            allow_files = True,
            cfg = "exec",
        ),
        "rules": attr.label_list(
            doc = "All rule files that ship with ampc.",
            allow_files = [".amp"],
            cfg = "exec",
        ),
    },
)
