// Goal: a specification is parsed correctly, and errors name the value and the fix.
#include "link/tap/fault_spec.h"

#include <gtest/gtest.h>

#include "wire/opcode.h"

namespace nerve::link {
namespace {

FaultSpec parsed(std::string_view text) {
  const auto spec = parse_fault_spec(text);
  EXPECT_TRUE(spec) << (spec ? "" : spec.error());
  return spec ? *spec : FaultSpec{};
}

std::string refused(std::string_view text) {
  const auto spec = parse_fault_spec(text);
  EXPECT_FALSE(spec) << text;
  return spec ? "" : spec.error();
}

std::string names(const FaultRule& rule) {
  std::string all;
  for (unsigned code = 0; code < 256; ++code) {
    const wire::OpcodeInfo* info = wire::find_opcode(static_cast<wire::Opcode>(code));
    if (info != nullptr && rule.opcodes.test(code)) all += std::string{info->name} + " ";
  }
  return all;
}

}  // namespace

TEST(FaultSpec, ReadsEveryFault) {
  const FaultSpec spec =
      parsed(" loss=1%, dup=0.5% ,reorder=0.001,corrupt=100%,ecn=1.0,delay=1%:10us..1.5ms,seed=7");
  EXPECT_EQ(spec.seed, 7U);
  ASSERT_EQ(spec.rules.size(), 1U);
  const FaultRule& rule = spec.rules[0];
  EXPECT_EQ(rule.loss.parts, 10'000'000U);
  EXPECT_EQ(rule.duplicate.parts, 5'000'000U);
  EXPECT_EQ(rule.reorder.parts, 1'000'000U);
  EXPECT_EQ(rule.corrupt.parts, Probability::kCertain);
  EXPECT_EQ(rule.mark.parts, Probability::kCertain);
  EXPECT_EQ(rule.delay.probability.parts, 10'000'000U);
  EXPECT_EQ(rule.delay.least, std::chrono::microseconds{10});
  EXPECT_EQ(rule.delay.most, std::chrono::microseconds{1500});
  EXPECT_TRUE(rule.opcodes.all());
  EXPECT_FALSE(rule.qpn);
}

TEST(FaultSpec, DelayAppliesToAllPacketsByDefault) {
  const FaultDelay delay = parsed("delay=50us").rules.at(0).delay;
  EXPECT_EQ(delay.probability.parts, Probability::kCertain);
  EXPECT_EQ(delay.least, std::chrono::microseconds{50});
  EXPECT_EQ(delay.most, delay.least);
}

TEST(FaultSpec, RulesAreIndependent) {
  const FaultSpec spec = parsed("loss=1%,op=ACK; delay=20us,op=SEND* ;seed=0x10;");
  EXPECT_EQ(spec.seed, 16U);
  ASSERT_EQ(spec.rules.size(), 2U);
  EXPECT_EQ(names(spec.rules[0]), "RC_ACKNOWLEDGE XRC_ACKNOWLEDGE ");
  EXPECT_TRUE(spec.rules[1].opcodes.test(0x00));   // RC_SEND_FIRST
  EXPECT_TRUE(spec.rules[1].opcodes.test(0x64));   // UD_SEND_ONLY
  EXPECT_FALSE(spec.rules[1].opcodes.test(0x0a));  // RC_WRITE_ONLY
}

TEST(FaultSpec, ReadsOpcodeNamesPrefixesAndAlternatives) {
  EXPECT_EQ(names(parsed("loss=100%,op=rc_write_only").rules.at(0)), "RC_WRITE_ONLY ");
  EXPECT_EQ(names(parsed("loss=100%,op=UC_WRITE_ONLY*|CNP").rules.at(0)),
            "UC_WRITE_ONLY UC_WRITE_ONLY_IMM CNP ");
  EXPECT_EQ(names(parsed("loss=100%,op=RC_READ_RESPONSE*").rules.at(0)),
            "RC_READ_RESPONSE_FIRST RC_READ_RESPONSE_MIDDLE RC_READ_RESPONSE_LAST "
            "RC_READ_RESPONSE_ONLY ");
}

TEST(FaultSpec, ReadsDropsOfOneQpOrOfEach) {
  const FaultRule rule = parsed("drop=3,drop=0x12:5,qp=18").rules.at(0);
  ASSERT_EQ(rule.drops.size(), 2U);
  EXPECT_EQ(rule.drops[0], (FaultDrop{.qpn = {}, .nth = 3}));
  EXPECT_EQ(rule.drops[1], (FaultDrop{.qpn = Qpn{0x12}, .nth = 5}));
  EXPECT_EQ(rule.qpn, Qpn{18});
}

TEST(FaultSpec, AnEmptySpecHasNoRules) {
  EXPECT_TRUE(parsed("").rules.empty());
  EXPECT_TRUE(parsed(" ; ;seed=3").rules.empty());
  EXPECT_EQ(parsed("loss=0%").rules.size(), 1U);
}

TEST(FaultSpec, ErrorsNameTheValueAndTheFix) {
  EXPECT_EQ(refused("loss=101%"),
            "fault 'loss=101%': loss takes a probability from 0 to 100%, as in 1% or 0.01; "
            "100% is every packet");
  EXPECT_EQ(
      refused("lost=1%"),
      "fault 'lost=1%' is not a fault; faults are loss, dup, reorder, corrupt, ecn, delay, drop, "
      "op, qp, seed, each as key=value");
  EXPECT_EQ(refused("loss=1%,loss=2%"),
            "fault 'loss' is given twice; separate rules with ';', and give one seed");
  EXPECT_EQ(refused("op=ACK"),
            "fault 'op=ACK' names packets but no fault; add one of loss, dup, reorder, corrupt, "
            "ecn, delay, drop");
  EXPECT_EQ(refused("loss=1%,op=WRITE"),
            "fault 'op=WRITE': op takes opcodes as nerve decode prints them, as in WRITE_ONLY, "
            "RC_SEND*, READ_RESPONSE*|ACK");
  for (const char* bad : {"loss",
                          "loss=",
                          "loss=x",
                          "loss=1",
                          "ecn=2",
                          "loss=-1%",
                          "loss=1%%",
                          "loss=2",
                          "loss=1e-3",
                          "loss=.5",
                          "loss=1.",
                          "loss=0.00000000001",
                          "loss=1%loss",
                          "loss=1%,",
                          ",",
                          "delay=5",
                          "delay=5h",
                          "delay=11s",
                          "delay=2us..1us",
                          "delay=x:5us",
                          "delay=1%:",
                          "drop=0",
                          "drop=x",
                          "drop=1:",
                          "drop=0x1000000:1",
                          "drop=1:2:3",
                          "qp=-1",
                          "qp=0x1000000",
                          "seed=",
                          "seed=a",
                          "seed=18446744073709551616",
                          "seed=1;seed=2",
                          "loss=1%,op=",
                          "loss=1%,op=ACK|",
                          "delay=9999999s"}) {
    EXPECT_NE(refused(bad), "") << bad;
  }
}

}  // namespace nerve::link
