// What the passes decide: for every node how it runs, for every value in which type it lives, the casts between, and
// what becomes of every weight. Built from a Model and a RuleSet; `emit` carries it out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ampc/lang/rule_set.h"
#include "ampc/model/model.h"
#include "ampc/weights/caster.h"

namespace ampc {

enum class Choice : std::uint8_t {
  leave,  // untouched: every operand and result keeps its type
  fp32,   // runs in fp32; low operands are cast up
  low,    // runs in the low type, save what roles and schema keep
  open,   // not decided yet: follow or promote
};

/// Why a node is what it is, in the order of R12.
enum class Reason : std::uint8_t {
  none,
  no_float,             // leave: nothing of it is fp32
  double_operand,       // leave (R2)
  no_schema,            // leave: an operator that nothing declares
  against_declaration,  // leave: not what is declared of its operator
  unknown_type,         // leave: an operand whose type nothing tells
  not_a_tensor,         // leave (R1): a sequence, an optional, a map or a sparse tensor
  control_flow,         // leave: its interface keeps its types (R19)
  function_call,        // leave: the function's body is decided node by node (R29)
  attribute_type,       // leave (R20)
  creator_low,          // an R20 creator whose readers all want low
  constant,             // leave: a weight in the form of a node
  user_cast,            // leave (R21)
  left_by_rule,
  level_off,           // the level asks for nothing
  unsupported_schema,  // R4
  unsupported_rule,    // a target profile
  tied_role,           // R7
  tied_operands,       // R4: the schema allows what its inference function refuses
  kept_operand,        // R8: computes a kept operand from a weight alone
  overflow,            // R25: reads a weight that low cannot hold
  underflow,           // R25
  attribute,           // R25: computes with an attribute that would vanish
  range_operand,       // R25: reads a value computed from such a weight
  exact_operand,       // R33: on the way to a scale, a size, a shape
  shape_arithmetic,    // R33
  position,            // R33
  tensor_rule,
  loss_scale,  // R27
  weight_rule,
  outside_guard,
  node_rule,
  optimizer,       // R27: master weights and states are fp32
  reduced,         // R27: between a gradient's all-reduce and the optimizer
  backward,        // R27: as its forward node
  collective_low,  // R27: every operand is made low
  collective_fp32,
  pattern,         // R34
  pattern_as_one,  // R34: another part of it cannot be low
  deny,
  allow,
  follow_none,   // no operand decides: low
  readers_fp32,  // no operand decides, and every reader is fp32
  follow_low,    // every deciding operand is low
  follow_fp32,   // an operand is made in fp32
  promote_low,
  promote_fp32,
  level_default,
  cut_low,  // decided with all others for the fewest bytes cast (R16)
  cut_fp32,
  moved_low,  // moves elements, with its casts on the side where less is cast
  moved_fp32,
};

std::string_view reason_text(Reason r);

struct Decision {
  Choice choice = Choice::open;
  Reason reason = Reason::none;
  ElemType low = ElemType::float16;  // the low type of the node's scope
  bool promote = false;              // an open node is settled by promote, else by follow
  bool cut = false;                  // … unless it is decided together with all others (R16)
  bool listed_allow = false;         // its operator is on an allow list, whatever was decided
  Span allowed_by;                   // … and the statement that says so
  bool no_kernel = false;            // an `unsupported` rule holds, whatever was decided
  std::uint32_t vars = 0;            // type variables of the schema that become low with the node, a bit each
  ValueId value = kNone;             // the operand that decided, where one did
  Span rule;                         // the statement that decided, where one did
  std::uint32_t match = kNone;       // R34: index into Plan::matches, where a pattern decided
};

/// R34: a part of the graph that a pattern describes. `nodes` are the pattern's own, in the order of the graph.
struct PatternMatch {
  const lang::PatternRule* rule = nullptr;
  NodeId root = kNone;
  std::vector<NodeId> nodes;
  std::vector<ValueId> given;  // what stands for the parameters
};

/// A cast that the compiler adds.
struct CastNode {
  ValueId value = kNone;              // what is cast
  ElemType from = ElemType::float32;  // which version of the value it reads: its home, or another cast of it
  ElemType to = ElemType::float32;
  BlockId block = 0;        // where it stands
  NodeId before = kNone;    // the node that it stands before; kNone: after the block's last node
  NodeId consumer = kNone;  // whose metadata it takes over (R23)
  NodeId reused = kNone;    // a cast of the model's own that serves as this one
  bool stored = false;      // no node: a second copy of the weight in the file (Storage::both)
  bool takes_name = false;  // its result is the block's output and carries the value's name
  std::string name;         // of the result
  std::string node_name;
};

enum class Storage : std::uint8_t {
  as_is,
  low,      // cast to the low type in the file
  both,     // a second copy in the low type beside the original
  rounded,  // a master weight as fp32 that the low type holds (R27)
};

/// What becomes of an initializer or a Constant node's value.
struct WeightPlan {
  ValueId value = kNone;
  Storage storage = Storage::as_is;
  ElemType low = ElemType::float16;
  bool clamp = false;
  weights::Stats stats;
  std::string copy_name;  // Storage::both: name of the low copy
};

/// A weight that the plan takes for ordinary, unmeasured. Whoever carries the plan out measures it on the way, and
/// where it is not ordinary, a plan that assumes nothing is made instead.
struct Assumed {
  ValueId value = kNone;
  ElemType low = ElemType::float16;
  wire::Bytes bytes;                 // fp32, in a mapped file
  std::uint64_t most_underflow = 0;  // elements that may become zero without a word
  bool holds(const weights::Stats& s) const { return s.overflow == 0 && s.underflow <= most_underflow; }
};

/// An R20 creator that makes low itself: the attribute to set.
struct Retarget {
  NodeId node = kNone;
  ElemType to = ElemType::float16;
  std::string attribute;
  bool tensor = false;  // the attribute is a tensor (ConstantOfShape), not an integer
};

/// A block's output that has to be given out under another name than the value's own.
struct OutputCast {
  BlockId block = 0;
  std::uint32_t index = 0;
  std::uint32_t cast = kNone;  // index into Plan::casts
};

/// R27: what the rules say of a training graph. Each list is empty where there is nothing to say.
struct Training {
  enum class Step : std::uint8_t {
    none,
    reduce,   // a collective that a gradient goes through on its way to an optimizer
    reduced,  // behind it
  };
  enum class Held : std::uint8_t { none, operand, parameter };
  std::vector<Held> held;            // by ValueId: what an optimizer reads, save gradients, and what it makes
  std::vector<std::uint8_t> scales;  // by ValueId: loss scales, and what is computed from them alone
  std::vector<Step> steps;           // by NodeId
  std::vector<NodeId> forward;       // by NodeId: the forward node of a backward node
  bool is_held(ValueId v) const { return !held.empty() && held[v] != Held::none; }
  bool parameter(ValueId v) const { return !held.empty() && held[v] == Held::parameter; }
  bool scale(ValueId v) const { return !scales.empty() && scales[v] != 0; }
  Step step(NodeId n) const { return steps.empty() ? Step::none : steps[n]; }
  NodeId forward_of(NodeId n) const { return forward.empty() ? kNone : forward[n]; }
};

struct Plan {
  std::vector<PatternMatch> matches;      // R34; in the order of roots
  std::vector<std::uint32_t> match_of;    // by NodeId: the match that decides there, kNone; empty without matches
  std::vector<Decision> nodes;            // by NodeId
  std::vector<ElemType> home;             // by ValueId: the type in which the value is made or stored
  std::vector<std::uint8_t> low_results;  // by ValueId: a result of an If whose branches all make it low (R19)
  std::vector<CastNode> casts;            // in the order in which they are written
  std::vector<WeightPlan> weights;
  std::vector<Assumed> assumed;
  std::vector<std::uint8_t> kept;  // by ValueId: a weight that the low type cannot hold (R25)
  std::vector<Retarget> retargets;
  Training training;
  std::vector<std::uint8_t> removed;   // by NodeId: a cast of the model's own that nothing reads any more
  std::vector<std::string> home_name;  // by ValueId: the new name of a value whose own its cast takes over; else empty
  std::vector<std::uint32_t> operand_casts;  // by position in Model::operands: index into `casts`, kNone: read the home
  std::vector<ValueId> operand_values;       // by position in Model::operands: the value to read
  std::vector<OutputCast> outputs;           // body outputs that name another value from now on
  ElemType low = ElemType::float16;          // of the whole model, for its inputs and outputs
  bool any_low = false;  // some node runs low; a plan that is fp32 throughout changes nothing, interface included

  std::size_t low_nodes = 0, fp32_nodes = 0, left_nodes = 0;
  std::size_t added_casts = 0;
  bool identity = false;  // nothing is to be done

  /// The name under which the value's home version is found.
  std::string_view name_of(const Model& m, ValueId v) const {
    return !home_name.empty() && !home_name[v].empty() ? std::string_view(home_name[v]) : m.values[v].name;
  }
};

/// How one operand or result of a node is read or made under a plan.
struct Access {
  ElemType type = ElemType::undefined;
  bool any = false;  // a user's cast: reads whatever type is there
};
Access operand_access(const Model& m, const Plan& plan, NodeId n, std::size_t slot);
/// Whether the operand at `slot` is bound to a variable that the node lowers.
bool operand_lowers(const Model& m, const Decision& d, NodeId n, std::size_t slot);

}  // namespace ampc
