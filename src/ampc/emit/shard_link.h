// Shards become the output that one process would have written.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ampc/emit/model_writer.h"
#include "ampc/emit/shard_file.h"
#include "ampc/emit/shard_plan.h"

namespace google::protobuf {
class Arena;
}

namespace ampc::emit {

class ShardLinker {
 public:
  /// Opens the shards, which come in any order. Throws ShardFault where they are not the plan's, each once.
  ShardLinker(const ShardPlan& plan, std::span<const std::string> paths);
  ~ShardLinker();
  ShardLinker(const ShardLinker&) = delete;
  ShardLinker& operator=(const ShardLinker&) = delete;

  /// Reads what the shards were cast from, and throws ShardFault where it is not `model`, and the files in its folder.
  void compare(const std::string& model) const;

  /// The model, with its data file called `data_name` where it has one. Throws ShardFault.
  Image image(const std::string& data_name);

  /// Writes the model, and `data` where it has a data file, and then knows that no shard is damaged and that what the
  /// plan took for ordinary is so. `progress` may be empty. Throws ShardFault and IoError.
  void write(const Image& image, OutputFile& model, OutputFile* data,
             const std::function<void(std::uint64_t)>& progress);
  /// Writes the model alone once more.
  void write_again(const Image& image, OutputFile& model);

 private:
  struct Place {
    const OutputFile* file = nullptr;
    std::uint64_t offset = 0;
  };
  /// By job: where its result goes.
  using Places = std::vector<std::vector<Place>>;
  struct Input {
    MappedFile file;
    ShardFile shard;
  };

  void open(std::span<const std::string> paths);
  void confirm() const;
  void put_message(const Image& image, OutputFile& model, Places& places) const;
  void put(const Places& places, bool checked, const std::function<void(std::uint64_t)>& progress) const;

  const ShardPlan& plan_;
  std::vector<Input> inputs_;  // by index
  std::unique_ptr<google::protobuf::Arena> arena_;
  onnx::ModelProto* model_ = nullptr;  // null where the output is the input
  std::string data_name_{ShardPlan::kDataName};
};

}  // namespace ampc::emit
