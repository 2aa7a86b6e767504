// A device that is none: it runs the kernels' own code on the host, does what was queued only when it is waited for,
// tells what it was asked to do and fails where it is told to.
#pragma once

#include <atomic>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "ampc/weights/device.h"
#include "ampc/weights/grid_cast.h"

namespace ampc::weights::test {

enum class Call { open, upload, cast, download, wait };

class FakeDevice final : public Device {
 public:
  struct Event {
    Call call = Call::open;
    std::size_t lane = 0;
  };
  std::string title = "fake";
  bool works = true;           // else only pretends, for tests of many bytes
  std::size_t lane_limit = 0;  // lanes that its memory is enough for; 0: any number

  /// The n-th call of that kind fails, counted from 1 on over all lanes; so do all calls after it where `for_good`.
  void fail(Call call, int n, bool for_good = true) {
    fail_call_ = call;
    fail_n_ = n;
    for_good_ = for_good;
  }
  const std::vector<Event>& events() const { return events_; }
  std::size_t lanes_open() const { return open_; }
  std::size_t lanes_ever() const { return ever_; }

  std::string name() const override { return title; }
  std::unique_ptr<Lane> open(std::size_t source_bytes, std::size_t target_bytes) override {
    std::size_t number = 0;
    {
      const std::scoped_lock lock(mutex_);
      number = ever_;
    }
    note(Call::open, number);
    if (lane_limit != 0 && open_ == lane_limit) throw DeviceError("out of memory");
    const std::scoped_lock lock(mutex_);
    ++open_;
    return std::make_unique<FakeLane>(*this, ever_++, source_bytes, target_bytes);
  }

 private:
  class FakeLane final : public Lane {
   public:
    FakeLane(FakeDevice& device, std::size_t number, std::size_t source_bytes, std::size_t target_bytes)
        : device_(device),
          number_(number),
          host_source_(source_bytes),
          host_target_(target_bytes),
          source_(source_bytes),
          target_(target_bytes) {}
    ~FakeLane() override {
      const std::scoped_lock lock(device_.mutex_);
      --device_.open_;
    }
    std::span<std::byte> source() override { return host_source_; }
    std::span<const std::byte> target() override { return host_target_; }
    void upload(std::size_t bytes) override {
      device_.note(Call::upload, number_);
      queue_.push_back([=, this] { std::memcpy(source_.data(), host_source_.data(), bytes); });
    }
    void cast(const Conversion& conversion, std::size_t source_at, std::size_t target_at, std::size_t count) override {
      device_.note(Call::cast, number_);
      queue_.push_back([=, this] { stats_.push_back(run(conversion, source_at, target_at, count)); });
    }
    void download(std::size_t bytes) override {
      device_.note(Call::download, number_);
      queue_.push_back([=, this] { std::memcpy(host_target_.data(), target_.data(), bytes); });
    }
    std::vector<Stats> wait() override {
      device_.note(Call::wait, number_);
      if (device_.works) {
        for (const auto& step : queue_) step();
      } else {
        stats_.resize(queue_.size());
      }
      queue_.clear();
      return std::exchange(stats_, {});
    }

   private:
    template <class Op>
    Stats run_op(std::size_t source_at, std::size_t target_at, std::size_t count) {
      static constexpr std::size_t kThreads = 5;
      Stats stats;
      for (std::size_t t = 0; t < kThreads; ++t) {
        Op op;
        grid::cast(source_.data() + source_at, target_.data() + target_at, count, t, kThreads, op);
        if constexpr (requires { op.tally; }) {
          using Bits = typename Op::From::Bits;
          const Bits largest = op.tally.largest;
          std::conditional_t<sizeof(Bits) == 4, float, double> absmax = 0;
          std::memcpy(&absmax, &largest, sizeof absmax);
          stats.merge({static_cast<double>(absmax), 0, op.tally.nonfinite, op.tally.overflow, op.tally.underflow,
                       op.tally.subnormal});
          stats.count = count;
        }
      }
      return stats;
    }
    template <class From, class To>
    Stats narrow_op(bool clamp, std::size_t source_at, std::size_t target_at, std::size_t count) {
      return clamp ? run_op<grid::Narrowing<From, To, true>>(source_at, target_at, count)
                   : run_op<grid::Narrowing<From, To, false>>(source_at, target_at, count);
    }
    Stats run(const Conversion& c, std::size_t source_at, std::size_t target_at, std::size_t count) {
      if (c.from == ElemType::float16) return run_op<grid::Widening<Fp16, Fp32>>(source_at, target_at, count);
      if (c.from == ElemType::bfloat16) return run_op<grid::Widening<Bf16, Fp32>>(source_at, target_at, count);
      const bool fp16 = c.to == ElemType::float16;
      if (c.from == ElemType::float64) {
        return fp16 ? narrow_op<Fp64, Fp16>(c.clamp, source_at, target_at, count)
                    : narrow_op<Fp64, Bf16>(c.clamp, source_at, target_at, count);
      }
      return fp16 ? narrow_op<Fp32, Fp16>(c.clamp, source_at, target_at, count)
                  : narrow_op<Fp32, Bf16>(c.clamp, source_at, target_at, count);
    }

    FakeDevice& device_;
    std::size_t number_;
    std::vector<std::byte> host_source_, host_target_, source_, target_;
    std::vector<std::function<void()>> queue_;
    std::vector<Stats> stats_;
  };

  void note(Call call, std::size_t lane) {
    const std::scoped_lock lock(mutex_);
    events_.push_back({call, lane});
    const int n = ++calls_[call];
    if (broken_ || (fail_n_ != 0 && call == fail_call_ && n == fail_n_)) {
      broken_ = for_good_;
      throw DeviceError("told to fail");
    }
  }

  std::mutex mutex_;
  std::vector<Event> events_;
  std::map<Call, int> calls_;
  std::size_t open_ = 0, ever_ = 0;
  Call fail_call_ = Call::open;
  int fail_n_ = 0;
  bool for_good_ = true;
  bool broken_ = false;
};

}  // namespace ampc::weights::test
