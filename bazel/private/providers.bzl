"""What ampc's rules tell each other."""

AmpRulesInfo = provider(
    doc = "A set of rule files.",
    fields = {
        "root": "File: the rule file that is compiled by; the others are what it may import",
        "files": "depset of File: it, and all that it may import",
        "folders": "depset of string: where imports are looked for beside the importing file, from the root of the source tree",
    },
)

AmpModelInfo = provider(
    doc = "Compiled models.",
    fields = {
        "models": "dict of data type to File: what was compiled, by \"fp16\" or \"bf16\"",
        "data_files": "dict of data type to File: the weights, where they are in a file of their own",
    },
)
