// Bugs that the tests must be able to catch. In every shipped library planted() is a constant false
// and generates no code. The library built for tests/dst/planted_bugs_test.cc defines
// NERVE_PLANTED_BUGS and can enable one bug at a time.
#pragma once

#include <cstdint>

namespace nerve {

enum class Bug : std::uint8_t {
  kNone,
  kSkipDuplicateCheck,      // the responder executes a duplicate WRITE or SEND again
  kExecuteAtomicTwice,      // a replayed atomic is executed again instead of answered from the
                            // replay cache
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
  kRnrIgnoresTimer,         // an RNR NAK is retried immediately and without limit
  kUdAcceptsAnyQkey,        // the Q_Key of a datagram is not compared
  kSwapCompletions,         // two completions of one CQ change places
  kPsnWrapOff,              // the PSN wraps one step early
  kIgnoreRereg,             // a re-registered region keeps its old access rights
  kUnbindKeepsKey,          // an unbound type 1 window still grants access
  kSrqOrder,                // an SRQ hands out its receives last-in first-out
  kLoseCqEvent,             // arming a CQ that holds completions does not arm it
  kLoseOnResize,            // the newest completion is lost when a CQ is resized
  kIgnoreRateLimit,         // a QP ignores its rate limit and sends at line rate
  kAckNamesRead,            // an ACK covers a READ whose response has not been sent
  kForgetAckRequest,        // a QP that becomes blocked between turns does not request an ACK
  kMsnWindowOneShort,       // an MSN that counts all messages sent is taken for a forged one
  // Visible only where a stranger forges packets.
  kMsnNotCompared,      // a NAK is heeded whatever its MSN
  kFarRequestAnswered,  // a request outside any window is answered
  kCnpIntervalIgnored,  // every CNP is heeded
  // Visible only where memory is late.
  kCompletesBeforeLanding,     // a receive or READ completes before its bytes have landed
  kAcknowledgesBeforeLanding,  // a request is acknowledged before its bytes have landed
  kReadOvertakesWrite,         // a READ does not wait for the WRITEs before it to land
  // Visible only where the engines of a world recover from loss in different ways.
  kPacketOvertakesCopy,   // a packet does not wait for copies of the direct path before it
  kSelectiveNakToAny,     // selective NAKs are sent to a peer that has not announced support
  kSelectiveRunAcks,      // packets that arrived out of order are acknowledged cumulatively
  kProbeMislabelsPacket,  // a tail probe carries the last PSN but the payload of the oldest packet
  kTrimmedMislabelled,    // a trimmed packet is retransmitted with the payload of the next one
  // Visible only in some families of worlds (tests/dst/twists.h).
  kTakesStalePacket,     // a new QP accepts a packet meant for an earlier QP with its number
  kReadLosesSink,        // a READ whose local buffer was deregistered completes successfully
                         // without its data
  kWindowGivesAtomics,   // a window bound without atomic access grants it
  kRetriesOneShort,      // a QP gives up one retry too early
  kKeepsFirstMtu,        // a reconnected QP keeps the path MTU of its first connection
  kAnswerSkipsAtWrap,    // a READ response skips a PSN at the wrap
  kForgetsOverdueTimer,  // an RNR timer that is a second overdue does not wake its QP
  kOverrunLosesOldest,   // a full CQ drops its oldest completion in favour of the new one
  kSrqLimitEarly,        // an SRQ raises its limit event at the limit instead of below it
  kRnrRetriesOneShort,   // a QP gives up one RNR retry too early
  kUdSrqUsesQpDomain,    // a datagram is placed with the QP's protection domain instead of the
                         // SRQ's
  kForgetsTwinQps,       // removing a QP's completions also removes those of every sixteenth QP
  kXrcWrongSrq,          // an XRC message takes a receive from the SRQ before the one it names
  // Visible only where the hosts of a world are engines of one device.
  kKeyOutlivesRegion,      // a key is not revoked when its region is deregistered
  kCqHomeIsSiblings,       // a CQ reports its events to the engine that created the first CQ
  kCompletionToSiblingCq,  // some completions go to the first CQ, which belongs to a sibling engine
  // Bugs of the communication manager, which tests/dst/cm_world.h detects.
  kRtuNotRepeated,       // a duplicate REP is not answered
  kDrepNotRepeated,      // a duplicate DREQ is not answered
  kStaleNotNoticed,      // a connection stays up after the peer has reused its QP for another one
  kStaleEndsConnection,  // a request for the QP of an established connection ends it at once
  kEvictsEstablished,    // an established connection counts as half open and gives way to requests
  kCount,                // of the bugs of the engine
  // A bug of the tensor library, which tests/ai/planted_bugs_test.cc detects.
  kReductionSkipsChunk,  // a reduction leaves out all full blocks but the first
  // Bugs of GPU memory, which tests/gpu/planted_bugs_test.cc detects.
  kUsesFreedImport,  // memory that is freed and allocated again is taken for the old one
  kCopyEndsEarly,    // the copier reports a copy when it begins
  // Bugs of sealing, which tests/seal/planted_bugs_test.cc detects.
  kNonceReused,          // the counter of a sealed packet is sometimes used for the next one too
  kReplayWindowShort,    // the latest packet is accepted again
  kOldEpochForEver,      // the keys of an epoch that is over are kept
  kBthNotAuthenticated,  // a sealed packet whose BTH was changed is accepted
  kShortTag,             // only the first four bytes of a tag are compared
  kUnsignedMadAccepted,  // the MAC of a management datagram is not compared
};

#ifdef NERVE_PLANTED_BUGS
// Set by the test before it creates an engine.
extern Bug active_bug;
inline bool planted(Bug bug) { return active_bug == bug; }
#else
constexpr bool planted(Bug) { return false; }
#endif

}  // namespace nerve
