// The names of values that a graph makes and reads, nested graphs included.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace onnx {
class GraphProto;
class NodeProto;
}  // namespace onnx

namespace ampc::emit {

class GraphNames {
 public:
  void gather(const onnx::GraphProto& g);

  /// What the graph or one within it makes; in order.
  const std::vector<std::string>& made() const { return made_; }
  /// What is read or given out and nothing in the graph makes; in the order of the first reader.
  std::vector<std::string> read() const;

  /// Renames values, where `names` has them, and drops `prefix` from the names of nodes.
  static void rename(onnx::GraphProto& g, const std::unordered_map<std::string, std::string>& names,
                     std::string_view prefix);

 private:
  void make(const std::string& name);
  void use(const std::string& name);

  std::vector<std::string> made_, used_;
  std::unordered_set<std::string> made_set_, used_set_;
};

}  // namespace ampc::emit
