// What is known of an operator, in Markdown.
#pragma once

#include <span>
#include <string>

#include "ampc/model/schemas.h"

namespace ampc::lsp {

/// Operands, results, attributes and types for each opset, and the first paragraphs of onnx's text. `versions` are
/// those of one operator, oldest first, at least one.
std::string operator_text(std::span<const Signature* const> versions);

/// An operand or a result: its place and its types for each opset. Empty where the operator has none such.
std::string operand_text(std::span<const Signature* const> versions, const std::string& name, bool result);

/// "fp16, bf16, fp32", the low types first.
std::string types_text(const ElemTypeSet& types);

}  // namespace ampc::lsp
