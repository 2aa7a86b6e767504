"""Random rule files about a model: statements of every kind, on its operators, operands, nodes, values and blocks.

A statement is drawn without regard for what the others say. Which ones go together is the compiler's to tell: it is
asked with each one that is added, and those that it refuses are left out.
"""

import dataclasses

from onnx import defs

import modelfacts

WARP = "com.acme.ops::Warp"
LEVEL = "Drawn"  # a level that a rule file may define
_NUMBERS = ["0", "1", "2", "3", "0.5", "24"]
_MEASURES = ["absmax > 2", "absmax >= 1e5", "size < 20", "size == 1", "underflow > 1%", "overflow > 0%", "absmax != 1"]


@dataclasses.dataclass
class Statement:
    kind: str
    texts: list  # spellings of which the first that compiles is taken
    once: bool = False  # nodes are counted, and the result of a compilation has others
    may_refuse: bool = False  # a setting that makes errors of what the model has


class RuleMaker:
    def __init__(self, rng, model):
        self.rng = rng
        self.opsets = {o.domain: o.version for o in model.opset_import}
        self.nodes = [n for g in modelfacts.graphs(model.graph) for n in g.node]
        self.node_names = [n.name for n in self.nodes if n.name] or ["none"]
        spaces = [p.value for n in self.nodes for p in n.metadata_props]
        self.node_names += spaces
        self.value_names = [v for n in self.nodes for v in [*n.input, *n.output] if v] or ["none"]
        self.interface = [v.name for v in [*model.graph.input, *model.graph.output]]
        self.blocks = ["main", *(f"main/{p}" for p in block_paths(model.graph))]
        self.has_level = False

    # --- what statements are made of ---------------------------------------------------------------------------------

    def schema(self, node):
        try:
            return defs.get_schema(node.op_type, self.opsets.get(node.domain, 1), node.domain)
        except defs.SchemaError:
            return None

    @staticmethod
    def spelt(node):
        return f"{node.domain}::{node.op_type}" if node.domain else node.op_type

    def operator(self):
        return self.rng.choice(self.nodes)

    def operators(self):
        chosen = [self.operator() for _ in range(self.rng.randint(1, 3))]
        return ", ".join(dict.fromkeys(self.spelt(n) for n in chosen))

    def quoted(self, names):
        """A glob, or now and then a regular expression, that names some of them."""
        def one():
            name = self.rng.choice(names)
            if self.rng.random() < 0.2:
                return "/.*" + "".join(c if c.isalnum() else "." for c in name[-6:]) + "/"
            if self.rng.random() < 0.4:
                name = name[:self.rng.randint(1, len(name))] + self.rng.choice(["*", "**", "?"])
            return f'"{name}"'
        return ", ".join(one() for _ in range(self.rng.randint(1, 2)))

    def qualifiers(self):
        levels = ["O1", "O2", "OD"] + [LEVEL] * self.has_level
        level = self.rng.choice(levels)
        return self.rng.choice(["", "", level, "fp16", "bf16", f"{level} bf16", "O1, O2 fp16"])

    def condition(self, node, depth=0):
        kind = self.rng.random()
        if depth < 2 and kind < 0.3:
            left, right = self.condition(node, depth + 1), self.condition(node, depth + 1)
            return self.rng.choice([f"({left} and {right})", f"({left} or {right})", f"not {left}"])
        schema = self.schema(node)
        comparator = self.rng.choice(["==", "!=", "<", "<=", ">", ">="])
        if schema is None or not schema.inputs or kind > 0.9:
            return f"opset {comparator} {self.rng.choice(['13', '17', '20'])}"
        operands = [i.name for i in schema.inputs]
        a, b = self.rng.choice(operands), self.rng.choice(operands)
        kinds = defs.OpSchema.AttrType
        numeric = [name for name, at in schema.attributes.items() if at.type in (kinds.INT, kinds.FLOAT)]
        forms = [f"{a} is {self.rng.choice(['', 'not '])}{self.rng.choice(['weight', 'constant', 'given'])}",
                 f"rank({a}) {comparator} {self.rng.choice(_NUMBERS[:4])}",
                 f"dim({a}, {self.rng.choice(['0', '-1'])}) {comparator} 3",
                 f"size({a}) {comparator} {self.rng.choice(_NUMBERS)}",
                 f"type({a}) {self.rng.choice(['==', '!='])} {self.rng.choice(['fp32', 'fp16'])}"]
        forms += [f"{a} {self.rng.choice(['==', '!='])} {b}"] if a != b else []
        forms += [f"{self.rng.choice(numeric)} {comparator} {self.rng.choice(_NUMBERS)}"] if numeric else []
        return self.rng.choice(forms)

    # --- statements --------------------------------------------------------------------------------------------------

    def operator_list(self):
        verdict = self.rng.choice(["allow", "deny", "follow", "leave", "unsupported"])
        qualifiers, where = self.qualifiers(), ""
        operators = self.operators()
        if self.rng.random() < 0.3 and verdict != "unsupported":
            node = self.operator()
            operators, where = self.spelt(node), f" where {self.condition(node)}"
        text = f"{verdict} {qualifiers + ': ' if qualifiers else ''}{operators}{where}"
        return Statement(verdict + (" where" if where else ""), [text, f"override {text}"])

    def role(self):
        node = self.operator()
        schema = self.schema(node)
        results = self.rng.random() < 0.2
        formals = [f.name for f in (schema.outputs if results else schema.inputs)] if schema else []
        operand = self.rng.choice([*formals, "1", "1", "2", "*"] + [f"* except {f}" for f in formals])
        action = self.rng.choice(["keep fp32", "keep fp32", "exact from integers"] if results else
                                 ["keep fp32", "store fp32", "exact", "exact from integers", "saturate", "factor"])
        qualifiers = self.qualifiers()
        side = "result" if results else "arg"
        text = f"{self.spelt(node)} {qualifiers + ': ' if qualifiers else ''}{side} {operand} {action}"
        return Statement(f"role {action}", [text, f"override {text}"])

    def setting(self):
        key, values = self.rng.choice([("overflow", ["keep", "clamp", "inf", "error"]), ("underflow", ["keep", "flush"]),
                                       ("shared", ["fp32", "low", "both"]), ("on conflict", ["node", "store", "error"]),
                                       ("follow", ["any", "last"]), ("promote", ["on", "off"]), ("gray", ["local", "cut"]),
                                       ("functions", ["keep", "inline"]), ("rewrite creators", ["on", "off"]),
                                       ("rewrite redundant", ["on", "off"]), ("rewrite moved", ["on", "off"])])
        value = self.rng.choice(values)
        # What moves, or is cut, depends on the casts around it, and a second compilation finds others there.
        return Statement(key, [f"{key} {value}"], may_refuse=value == "error", once=key in ("rewrite moved", "gray"))

    def level(self):
        self.has_level = True
        body = f"default {self.rng.choice(['low', 'fp32'])}  weights {self.rng.choice(['keep', 'use', 'low'])}"
        return Statement("level", [f"level {LEVEL} {{ {body} }}"])

    def fact(self):
        fact = self.rng.choice(["bounded", "commutes", "moves"])
        return Statement(fact, [f"{fact} {self.operators()}"])

    def pattern(self):
        """A node, behind what makes one of its operands where that is a node too."""
        made = {v: n for n in self.nodes for v in n.output if v}
        node = self.operator()
        inner = [(i, v) for i, v in enumerate(node.input) if v in made]
        arguments, step = ["*"], ""
        if inner:
            position, value = self.rng.choice(inner)
            arguments = ["_"] * position + ["a", "*"]
            results = ["_"] * list(made[value].output).index(value) + ["a"]
            step = f"{', '.join(results)} = {self.spelt(made[value])}(*){self.rng.choice(['', '', '?'])} "
        qualifiers = self.qualifiers()
        action = self.rng.choice(["keep fp32", "low", "follow"])
        return Statement("pattern", [f"pattern {qualifiers + ': ' if qualifiers else ''}drawn_{self.rng.randint(0, 99)}() "
                                     f"{{ {step}y = {self.spelt(node)}({', '.join(arguments)}) }} {action}"])

    def alias(self):
        node = self.operator()
        schema = self.schema(node)
        if schema is None or not schema.inputs:
            return Statement("alias", [f"alias drawn_{len(node.op_type)} = {self.spelt(node)}"])
        bound = ", ".join(f"{f.name}: p{i}" for i, f in enumerate(schema.inputs))
        names = ", ".join(f"p{i}" for i in range(len(schema.inputs)))
        at = f"drawn_{node.op_type}"
        return Statement("alias", [f"alias {at}({names}) = {self.spelt(node)}({bound})\n{at} arg p0 keep fp32",
                                   f"alias {at}({names}) = {self.spelt(node)}({bound})\nallow {at}"])

    def extern(self):
        """Of the one operator without schema whose operands graph_maker draws to fit."""
        types = self.rng.choice(["fp32, fp16", "fp32, bf16", "fp32, fp16, bf16", "fp32, fp16, fp64"])
        other = f" and U in {self.rng.choice(['fp32, fp16', 'fp32, bf16'])}"
        x, w, more = self.rng.choice([("T", "T", ""), ("T", "U", other), ("fp32", "T", ""), ("T", "fp32", "")])
        text = (f"extern {WARP}(x: {x}, w?: {w}, more...: each E) -> (y: {x}, index?: int64) "
                f"where T in {types}{more} and E in any")
        return Statement("extern", [f"{text}\n{self.rng.choice(['allow', 'deny', 'follow'])} {WARP}"])

    def tensor(self):
        return Statement("tensor", [f"tensor {self.quoted(self.value_names)} {self.rng.choice(['keep', 'store'])} fp32"])

    def node(self):
        return Statement("node", [f"node {self.quoted(self.node_names)} {self.rng.choice(['keep fp32', 'low'])}"])

    def guard(self):
        return Statement("guard", [f"guard {self.quoted(self.node_names)}"])

    def weight(self):
        what = f"where {self.rng.choice(_MEASURES)}" if self.rng.random() < 0.5 else self.quoted(self.value_names)
        return Statement("weight", [f"weight {what} keep fp32"])

    def io(self):
        return Statement("io", [f"io {self.rng.choice(['low', 'keep'])} {self.quoted(self.interface)}"])

    def body(self):
        parts = [self.rng.choice([self.operator_list, self.role, self.node, self.tensor, self.weight])().texts[0]
                 for _ in range(self.rng.randint(1, 2))]
        level = f"level {self.rng.choice(['O0', 'O1', 'O2', 'OD'])}"
        parts += [self.rng.choice([level, "promote on", "dtype bf16", "dtype fp16"])]
        return "{\n  " + "\n  ".join(parts) + "\n}"

    def scope(self):
        return Statement("scope", [f"scope {self.quoted(self.node_names)} {self.body()}"])

    def block(self):
        path, count = self.rng.choice(self.blocks), ""
        if self.rng.random() < 0.5:
            first = self.rng.randint(0, 5)
            count = f" nodes [{first},{first + self.rng.randint(1, 6)})"
        return Statement("block", [f'block "{path}"{count} {self.body()}'], once=bool(count) or path != "main")

    def training(self):
        node = self.operator()
        operands = [f.name for f in self.schema(node).inputs] if self.schema(node) else []
        operands = operands or ["1", "2"]
        a, b = self.rng.choice(operands), self.rng.choice(operands)
        optimizer = f"optimizer {self.spelt(node)}({a}: {self.rng.choice(['parameter', 'state'])}, {b}: gradient)"
        text = self.rng.choice([optimizer, optimizer, f"collective {self.operators()}", "master rounded",
                                f"tensor {self.quoted(self.value_names)} scale", "backward /(.+)[0-9]/"])
        return Statement(text.split()[0], [text], once=True, may_refuse=True)

    def draw(self):
        kinds = [(self.extern, 4)] if any(n.op_type == "Warp" for n in self.nodes) else []
        kinds += [(self.operator_list, 10), (self.role, 5), (self.setting, 3), (self.level, 1), (self.fact, 1),
                  (self.alias, 1), (self.tensor, 2), (self.node, 3), (self.guard, 1), (self.weight, 2), (self.io, 2),
                  (self.scope, 3), (self.block, 1), (self.training, 2), (self.pattern, 3)]
        (kind,) = self.rng.choices([k for k, _ in kinds], [w for _, w in kinds])
        return kind()


def block_paths(graph):
    """Names of the graphs in it, as rule files name them."""
    for at, node in enumerate(graph.node):
        for attribute in node.attribute:
            if attribute.HasField("g"):
                path = f"{node.op_type}_{at}.{attribute.name}"
                yield path
                yield from (f"{path}/{p}" for p in block_paths(attribute.g))


def make(rng, model, base, compiles):
    """(a rule file that adds to `base`, its statements); `compiles(text)` tells whether the compiler takes it."""
    maker = RuleMaker(rng, model)
    text, kept = f'amp 1\nimport "{base}"\n', []
    for _ in range(rng.randint(1, 12)):
        statement = maker.draw()
        for spelling in statement.texts:
            if compiles(f"{text}{spelling}\n"):
                text += f"{spelling}\n"
                kept.append(statement)
                break
    return text, kept
