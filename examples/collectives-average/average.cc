// Data-parallel training in its smallest form: each rank fits y = a x + b to its own part of the
// data, and all average their gradients after each step, so that all have the same model.
#include <cstddef>
#include <cstdio>
#include <random>
#include <vector>

#include <dlaunch/collectives/communicator.h>

using namespace dlaunch::collectives;

namespace {

constexpr std::size_t kPoints = 1000;  // on each rank
constexpr int kSteps = 400;
constexpr float kRate = 0.2F;

int report(const Status& status) {
  std::fprintf(stderr, "average: %s\n", status.what().c_str());
  return 1;
}

/// The gradient of the mean squared error with respect to a and b, over this rank's points.
std::vector<float> gradient(const std::vector<float>& x, const std::vector<float>& y,
                            const std::vector<float>& model) {
  std::vector<float> sum(2);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float error = model[0] * x[i] + model[1] - y[i];
    sum[0] += 2 * error * x[i] / kPoints;
    sum[1] += 2 * error / kPoints;
  }
  return sum;
}

}  // namespace

int main() {
  auto world = Communicator::create({.backend = BackendKind::mpi});
  if (!world) return report(world.status());

  std::mt19937 random(static_cast<unsigned>(world->rank()));  // each rank has other points
  std::uniform_real_distribution<float> place(-1, 1);
  std::normal_distribution<float> noise(0, 0.01F);
  std::vector<float> x(kPoints);
  std::vector<float> y(kPoints);
  for (std::size_t i = 0; i < kPoints; ++i) {
    x[i] = place(random);
    y[i] = 3 * x[i] - 1 + noise(random);
  }

  std::vector<float> model(2);
  for (int step = 0; step < kSteps; ++step) {
    std::vector<float> slope = gradient(x, y, model);
    const Status done = world->all_reduce(slope.data(), slope.data(), slope.size(),
                                          DataType::float32, ReduceOp::avg);
    if (!done.ok()) return report(done);
    for (std::size_t i = 0; i < model.size(); ++i) model[i] -= kRate * slope[i];
  }
  std::printf("rank %d of %d: y = %.2f x %+.2f\n", world->rank(), world->size(), model[0],
              model[1]);
}
