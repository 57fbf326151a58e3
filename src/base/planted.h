// Bugs that the tests must be able to catch. In every shipped library planted() is a constant
// false and leaves no trace; the library built for tests/dst/planted_bugs_test.cc defines
// NERVE_PLANTED_BUGS and can turn one bug on at a time.
#pragma once

#include <cstdint>

namespace nerve {

enum class Bug : std::uint8_t {
  kNone,
  kSkipDuplicateCheck,      // responder executes a duplicate WRITE or SEND again
  kExecuteAtomicTwice,      // a replayed atomic is executed instead of answered from the cache
  kAcceptStaleRkey,         // the variant byte of a key is not compared
  kSkipBoundsCheck,         // the last byte of a region is not checked
  kSkipRemoteWriteRight,    // a region without remote write accepts WRITEs
  kMiscomputeIcrc,          // one byte of the headers is left out of the ICRC
  kIgnoreIcrc,              // a bad ICRC is accepted
  kLoseFlushCompletion,     // the last request of a queue is not flushed
  kCompleteBeforeAck,       // an RC SEND completes when sent
  kAcceptWrongPsn,          // a packet one ahead of the expected PSN is accepted
  kForgetRetransmit,        // a sequence NAK is taken as an ACK of everything sent
  kResumeAtMessageStart,    // go-back-N resumes with the right PSN but the first bytes
  kReadRestartWrongOffset,  // a READ restarted mid-way asks for the data from its start
  kIgnoreFence,             // a fenced request does not wait
  kExceedReadDepth,         // one READ more than max_rd_atomic is in flight
  kSkipReceiveLengthCheck,  // a SEND longer than the receive is truncated silently
  kDeliverToWrongSge,       // scatter moves on one SGE too early
  kDropImmediate,           // the immediate of a WRITE_IMM is lost
  kMsnNotCounted,           // WRITEs do not advance the MSN
  kRnrIgnoresTimer,         // an RNR NAK is retried at once and for ever
  kUdAcceptsAnyQkey,        // the Q_Key of a datagram is not compared
  kSwapCompletions,         // two completions of one CQ change places
  kPsnWrapOff,              // the PSN wraps one too early
  kIgnoreRereg,             // a region registered again keeps its old access
  kUnbindKeepsKey,          // a type 1 window bound to nothing still gives access
  kSrqOrder,                // an SRQ gives its receives last-in first-out
  kLoseCqEvent,             // a CQ armed while completions wait is not armed
  kLoseOnResize,            // the newest completion is lost when a CQ is resized
  kIgnoreRateLimit,         // a QP sends at line rate whatever its limit
  kAckNamesRead,            // an ACK names the last PSN that came, though a READ's data answers it
  kForgetAckRequest,        // a QP that became blocked between turns does not ask for an ACK
  // What shows where engines recover from losses in different ways.
  kSelectiveNakToAny,  // selective NAKs go to a peer that has not announced them
  kSelectiveRunAcks,   // packets that arrived out of order are acknowledged with those before them
  kProbeMislabelsPacket,  // a tail probe has the last PSN, but the payload of the oldest packet
  // What only some families of worlds do (tests/dst/twists.h).
  kTakesStalePacket,     // a QP that has had no packet yet takes one of its number's life before
  kReadLosesSink,        // a READ whose sink was deregistered succeeds without its data
  kWindowGivesAtomics,   // a window gives the right to atomics though it was bound without
  kRetriesOneShort,      // a QP gives up one retry early
  kKeepsFirstMtu,        // a QP that is connected again keeps the MTU of its first connection
  kAnswerSkipsAtWrap,    // the answer to a READ leaves out a PSN when PSNs wrap
  kForgetsOverdueTimer,  // an RNR timer that is a second late wakes nobody
  kOverrunLosesOldest,   // a full CQ drops its oldest completion for the new one
  kSrqLimitEarly,        // an SRQ tells of its limit when it is reached, not when it is passed
  kRnrRetriesOneShort,   // a QP that finds no receives gives up one retry early
  kUdSrqUsesQpDomain,    // a datagram is placed with the keys of the QP's domain, not the SRQ's
  kForgetsTwinQps,       // with a QP's completions go those of every sixteenth QP
  kXrcWrongSrq,          // an XRC message takes a receive of the SRQ before the one it names
  // What shows where the hosts of a world are engines of one device.
  kKeyOutlivesRegion,      // a key is not revoked when its region is deregistered
  kCqHomeIsSiblings,       // a CQ tells its events to the engine that made the first one
  kCompletionToSiblingCq,  // some completions go to the first CQ, which a sibling uses
  // The communication manager's, which tests/dst/cm_world.h looks for.
  kRtuNotRepeated,   // a REP that comes again is not answered
  kDrepNotRepeated,  // a DREQ that comes again is not answered
  kStaleNotNoticed,  // a QP that the peer uses for another connection stays connected
  kCount,
};

#ifdef NERVE_PLANTED_BUGS
// Set by the test before it builds an engine.
extern Bug active_bug;
inline bool planted(Bug bug) { return active_bug == bug; }
#else
constexpr bool planted(Bug) { return false; }
#endif

}  // namespace nerve
