#include "node/stage/stage_from_service.h"

#include <chrono>
#include <utility>
#include <variant>

#include "wire/codec.h"

namespace dlaunch {

StageFromService::StageFromService(EventLoop& loop, Send send)
    : send_(std::move(send)),
      run_(loop, {.send =
                      [this](NodeId node, wire::StageOrder order) {
                        wire::Frame frame = std::visit(
                            [](auto& one) { return wire::encode(std::move(one)); }, order);
                        send_(wire::StageLetter{id_, node, frame.type, std::move(frame.payload)});
                      },
                  .done = [this](const Result<StageReport>& report) { done(report); },
                  .show =
                      [this](std::string text) {
                        send_(wire::StageSaid{id_, std::move(text), false});
                      },
                  .note =
                      [this](std::string text) {
                        send_(wire::StageSaid{id_, std::move(text), true});
                      }}) {}

void StageFromService::on(wire::StageFrom& order) {
  run_.cancel();  // its letters have the old id
  id_ = order.id;
  peers_ = std::move(order.peers);
  if (peers_.empty()) return;
  StageRunSettings settings;
  settings.items = std::move(order.items);
  settings.self = std::move(order.self);
  settings.by = std::move(order.by);
  settings.for_ranks = order.for_ranks;
  settings.needs_all = order.needs_all;
  settings.window_delay = std::chrono::milliseconds(order.window_ms);
  bool forwards = false;
  for (const wire::StagePeer& peer : peers_) {
    settings.nodes.push_back({peer.node, peer.name, peer.forwards});
    forwards = forwards || peer.forwards;
  }
  // The launcher knows which addresses two nodes share, and adds them.
  settings.addresses = [](std::size_t, std::size_t) { return std::vector<std::string>(); };
  if (forwards)
    settings.own_addresses = [this](std::size_t peer) { return peers_[peer].addresses; };
  run_.begin(std::move(settings));
}

void StageFromService::on(const wire::StageLetter& letter) {
  if (letter.id != id_) return;
  const auto message =
      wire::decode<wire::FromAgent>(wire::FrameView{letter.type, 0, 0, 0, letter.payload});
  if (!message) return;
  std::visit(
      [&](const auto& one) {
        if constexpr (wire::OneOf<std::decay_t<decltype(one)>, wire::StageAnswer>)
          run_.on(letter.node, one);
      },
      *message);
}

void StageFromService::on(const wire::StageLost& lost) {
  if (lost.id == id_) run_.node_lost(lost.node);
}

void StageFromService::abandon() {
  run_.cancel();
}

void StageFromService::done(const Result<StageReport>& report) {
  wire::StageReported told;
  told.id = id_;
  if (report) {
    told.nodes = report->nodes;
    told.files = report->extent.files;
    told.bytes = report->extent.bytes;
    told.special = report->special;
    told.notes = report->notes;
  } else {
    told.exit_code = static_cast<std::uint8_t>(report.error().exit_code);
    told.problem = report.error().message;
  }
  send_(std::move(told));
}

}  // namespace dlaunch
