"""Bazel's rules for ampc: ONNX models in mixed precision, by declarative rules.

    load("@rules_ampc//:amp.bzl", "amp_check_test", "amp_model", "amp_model_sharded", "amp_rules")

Where the program comes from is said by a toolchain: `ampc_repository` in repositories.bzl makes one of an installation.
Bazel 4.2.3 and newer.
"""

load("//private:check.bzl", _amp_check_test = "amp_check_test")
load("//private:model.bzl", _amp_model = "amp_model")
load("//private:providers.bzl", _AmpModelInfo = "AmpModelInfo", _AmpRulesInfo = "AmpRulesInfo")
load("//private:rules.bzl", _amp_rules = "amp_rules")
load("//private:sharded.bzl", _amp_model_sharded = "amp_model_sharded")
load("//private:toolchain.bzl", _amp_toolchain = "amp_toolchain")

AmpModelInfo = _AmpModelInfo
AmpRulesInfo = _AmpRulesInfo
amp_check_test = _amp_check_test
amp_model = _amp_model
amp_model_sharded = _amp_model_sharded
amp_rules = _amp_rules
amp_toolchain = _amp_toolchain
