// Outgoing frames: transmit() fills a burst and a link sends it.
//
// A burst is created once and reused. Frames and the payload pieces they refer to live in two flat
// arrays, so that filling it does not allocate.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "base/fixed_array.h"
#include "wire/frame.h"

namespace nerve::nic {

class TxBurst {
 public:
  explicit TxBurst(std::uint32_t max_frames, std::uint32_t max_pieces_per_frame = 32)
      : frames_{max_frames},
        pieces_{max_frames + max_pieces_per_frame},
        max_pieces_per_frame_{max_pieces_per_frame} {}

  [[nodiscard]] std::span<const wire::Frame> frames() const { return {frames_.data(), count_}; }
  [[nodiscard]] std::uint32_t size() const { return count_; }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] std::uint32_t max_pieces_per_frame() const { return max_pieces_per_frame_; }
  // True when another frame with the maximum number of pieces might not fit.
  [[nodiscard]] bool full() const {
    return count_ == frames_.size() || piece_count_ + max_pieces_per_frame_ > pieces_.size();
  }
  void clear() {
    count_ = piece_count_ = 0;
    fetched_ = false;
  }

  // For the engine. The returned frame has default headers and no payload.
  wire::Frame& add() {
    CHECK(!full());
    wire::Frame& frame = frames_[count_++];
    frame = {};
    return frame;
  }
  wire::Frame& operator[](std::uint32_t i) { return frames_[i]; }
  // Appends to the payload of the frame added last.
  void add_piece(const wire::Piece& piece) {
    CHECK(count_ > 0 && piece_count_ < pieces_.size());
    wire::Frame& frame = frames_[count_ - 1];
    pieces_[piece_count_++] = piece;
    const std::size_t pieces = frame.payload.size() + 1;
    frame.payload = {pieces_.data() + piece_count_ - pieces, pieces};
    frame.payload_length += piece.length;
  }
  // Appends bytes of late memory.
  void add_fetched(const std::byte* bytes, std::uint32_t length) {
    add_piece({.address = reinterpret_cast<std::uint64_t>(bytes), .length = length});
    fetched_ = true;
  }
  void repeat_fetched(std::uint32_t count, const std::byte* bytes, std::uint32_t length) {
    repeat_last(count, {.address = reinterpret_cast<std::uint64_t>(bytes), .length = length});
    fetched_ = true;
  }
  [[nodiscard]] bool fetched() const { return fetched_; }
  // The number of single-piece frames that still fit.
  [[nodiscard]] std::uint32_t room() const {
    return std::min(frames_.size() - count_, pieces_.size() - piece_count_);
  }
  // Adds `count` copies of the last frame, each with the next PSN and the next `piece.length` bytes
  // of memory.
  void repeat_last(std::uint32_t count, wire::Piece piece) {
    CHECK(count_ > 0 && count <= room());
    const wire::Frame& model = frames_[count_ - 1];
    for (std::uint32_t i = 1; i <= count; ++i) {
      wire::Frame& frame = frames_[count_ - 1 + i];
      frame = model;
      frame.headers.bth.psn = model.headers.bth.psn + i;
      frame.headers.bth.ack_request = false;
      frame.continues_train = true;
      wire::Piece& own = pieces_[piece_count_++];
      own = piece;
      frame.payload = {&own, 1};
      frame.payload_length = piece.length;
      piece.address += piece.length;
    }
    count_ += count;
  }
  // Removes the last `count` pieces of the frame added last.
  void drop_pieces(std::uint32_t count) {
    CHECK(count_ > 0);
    wire::Frame& frame = frames_[count_ - 1];
    CHECK(count <= frame.payload.size());
    for (const wire::Piece& piece : frame.payload.last(count)) {
      frame.payload_length -= piece.length;
    }
    frame.payload = frame.payload.first(frame.payload.size() - count);
    piece_count_ -= count;
  }
  // Removes the frame added last, when its payload turned out to be inaccessible.
  void drop_last() {
    CHECK(count_ > 0);
    piece_count_ -= static_cast<std::uint32_t>(frames_[--count_].payload.size());
  }

 private:
  FixedArray<wire::Frame> frames_;
  FixedArray<wire::Piece> pieces_;
  std::uint32_t max_pieces_per_frame_;
  std::uint32_t count_{};
  std::uint32_t piece_count_{};
  bool fetched_{};
};

}  // namespace nerve::nic
