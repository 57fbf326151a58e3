#!/usr/bin/env python3
"""Synthetic trace documents (format nerve-trace-1), for viewing and testing the page of nerve trace.

    tests/web/make_trace_sample.py FOLDER
        send.json     5 000 SENDs of 64 bytes, back and forth over shared memory
        write.json    WRITEs of 64 KB in 16 packets; one lost packet, selective repeat; one refused
        connect.json  a connection by rdma_cm, one SEND, disconnection
        direct.json   WRITEs and a READ of 1 MB on the direct path
        alone.json    one end only: the peer is not traced
"""
import json
import pathlib
import random
import sys

MODULES = ["Application", "Verbs", "QP Manager", "WQE Engine", "DMA Engine", "Flow Control",
           "Ethernet", "RX Handler", "CQ Manager", "Connection Manager", "Link"]
STEPS = {
    "register": "DMA Engine", "deregister": "DMA Engine", "create_qp": "QP Manager",
    "modify_qp": "QP Manager", "destroy_qp": "QP Manager", "cm_send": "Connection Manager",
    "cm_receive": "Connection Manager", "post": "Verbs", "post_receive": "Verbs",
    "doorbell": "Verbs", "fetch": "WQE Engine", "packet_made": "WQE Engine",
    "packet_sent": "Ethernet", "packet_dropped": "Link", "packet_received": "Ethernet",
    "checked": "RX Handler", "refused": "RX Handler", "placed": "DMA Engine",
    "direct": "DMA Engine", "ack_sent": "RX Handler", "nak_sent": "RX Handler",
    "ack_received": "WQE Engine", "nak_received": "WQE Engine", "retransmit": "WQE Engine",
    "completion": "CQ Manager", "polled": "Verbs",
}
NAMES = list(STEPS)
COLUMNS = ["t", "end", "step", "qpn", "psn", "bytes", "message", "packet", "opcode", "detail"]
MTU = 4096


class Trace:
    """A document under construction: a clock, and the tables that events refer to."""

    def __init__(self, title, program, ends=2, seed=1):
        self.chance = random.Random(seed)
        self.now, self.packets, self.message = 0, 0, -1
        self.qpn = [0x11, 0x12]
        self.opcodes, self.details, self.events, self.messages = [], [], [], []
        self.notes = []
        self.title, self.ends = title, [
            {"id": i, "name": program[i], "pid": 3050 + i, "device": "nerve0",
             "address": f"10.0.0.{i + 1}"} for i in range(ends)]

    def index(self, table, text):
        if text is None:
            return -1
        if text not in table:
            table.append(text)
        return table.index(text)

    def add(self, step, end, psn=-1, size=-1, packet=-1, opcode=None, detail=None, after=None,
            at=None, qpn=None):
        """An event some nanoseconds after the last one, or `at` a time."""
        if at is None:
            self.now += self.chance.randint(40, 160) if after is None else after
        when = self.now if at is None else at
        self.events.append([when, end, NAMES.index(step), self.qpn[end] if qpn is None else qpn, psn,
                            size, self.message, packet, self.index(self.opcodes, opcode),
                            self.index(self.details, detail)])
        return when

    def begin(self, op, size, end):
        self.message = len(self.messages)
        peer = 1 - end
        self.messages.append({"end": end, "qpn": self.qpn[end], "op": op, "bytes": size,
                              "peer_end": peer, "peer_qpn": self.qpn[peer], "begin": self.now,
                              "finish": -1, "status": "", "retransmitted": 0})
        return self.messages[-1]

    def finish(self, status="success"):
        self.messages[self.message].update(finish=self.now, status=status)
        self.message = -1

    def packet(self, end, opcode, psn, size, arrives=True, wire=900):
        """Sends a packet; returns its id and the time it arrives."""
        self.packets += 1
        self.add("packet_sent", end, psn, size, self.packets, opcode)
        when = self.now + wire + self.chance.randint(0, 200)
        if not arrives:
            self.add("packet_dropped", end, psn, size, self.packets, opcode, "fault injection",
                     at=self.now + wire // 2)
        return self.packets, when

    def set_up(self, size):
        for end in range(len(self.ends)):
            self.add("register", end, size=size, qpn=-1, after=21_000)
            self.add("create_qp", end, after=4_000)
            self.add("modify_qp", end, detail="INIT", after=900)
        for state in ("RTR", "RTS"):
            for end in range(len(self.ends)):
                self.add("modify_qp", end, detail=state, after=60_000 if state == "RTR" else 900)

    def close(self):
        for end in range(len(self.ends)):
            self.add("destroy_qp", end, after=9_000)
            self.add("deregister", end, qpn=-1, after=3_000)

    def document(self):
        self.events.sort(key=lambda event: event[0])
        qps = [{"end": end["id"], "qpn": self.qpn[end["id"]], "type": "RC",
                "peer_end": 1 - end["id"] if len(self.ends) == 2 else -1,
                "peer_qpn": self.qpn[1 - end["id"]] if len(self.ends) == 2 else -1,
                "messages": sum(m["end"] == end["id"] for m in self.messages),
                "traced": sum(m["end"] == end["id"] for m in self.messages)} for end in self.ends]
        return {"format": "nerve-trace-1", "title": self.title, "simulated": False,
                "ends": self.ends, "qps": qps, "modules": MODULES,
                "steps": [{"name": name, "module": MODULES.index(module),
                           "text": name.replace("_", " ")} for name, module in STEPS.items()],
                "opcodes": self.opcodes, "details": self.details, "messages": self.messages,
                "columns": COLUMNS, "events": self.events, "notes": self.notes}


def small_send(trace, end, psn, size=64):
    peer = 1 - end
    trace.begin("SEND", size, end)
    trace.add("post_receive", peer)
    trace.add("post", end, size=size, opcode="SEND")
    trace.add("doorbell", end)
    trace.add("fetch", end)
    trace.add("packet_made", end, psn, size, opcode="RC SEND Only")
    packet, _ = trace.packet(end, "RC SEND Only", psn, size + 16)
    trace.add("packet_received", peer, psn, size + 16, packet, "RC SEND Only", after=620)
    trace.add("checked", peer, psn)
    trace.add("placed", peer, psn, size)
    trace.add("completion", peer, detail="success")
    trace.add("ack_sent", peer, psn)
    answer, _ = trace.packet(peer, "RC Acknowledge", psn, 20)
    trace.add("polled", peer)
    trace.add("packet_received", end, psn, 20, answer, "RC Acknowledge", after=480)
    trace.add("ack_received", end, psn)
    trace.add("completion", end, detail="success")
    trace.add("polled", end)
    trace.finish()


def send():
    trace = Trace("ib_send_lat -n 5000 -s 64", ["ib_send_lat (server)", "ib_send_lat 10.0.0.1"])
    trace.set_up(4096)
    for i in range(5000):
        small_send(trace, 1 - i % 2, 0x100 + i // 2)
        trace.now += 500
    trace.close()
    trace.notes = ["QP 0x11: the first 2500 of 5000000 messages are shown"]
    return trace


def write_message(trace, psn, size, lost=None):
    """A WRITE in packets; if one is lost, the receiver reports the gap and only it is resent."""
    count = size // MTU
    message = trace.begin("WRITE", size, 0)
    trace.add("post", 0, size=size, opcode="RDMA WRITE")
    trace.add("doorbell", 0)
    trace.add("fetch", 0)
    arrivals = []
    for i in range(count):
        opcode = "RC RDMA WRITE " + ("First" if i == 0 else "Last" if i == count - 1 else "Middle")
        trace.add("packet_made", 0, psn + i, MTU, opcode=opcode)
        packet, when = trace.packet(0, opcode, psn + i, MTU, arrives=i != lost, wire=1100)
        if i != lost:
            arrivals.append((when, i, packet, opcode))
    start, nak = trace.now, None
    for when, i, packet, opcode in arrivals:
        trace.add("packet_received", 1, psn + i, MTU, packet, opcode, at=when)
        trace.add("checked", 1, psn + i, at=when + 45)
        trace.add("placed", 1, psn + i, MTU, at=when + 130)
        if lost is not None and i == lost + 1:
            trace.add("nak_sent", 1, psn + lost, detail="PSN sequence error", at=when + 170)
            trace.packets += 1
            nak = (when + 240, trace.packets)
            trace.add("packet_sent", 1, psn + lost, 20, nak[1], "RC Acknowledge (NAK)", at=nak[0])
        trace.now = max(start, when + 130)
    if nak:
        trace.now = max(trace.now, nak[0] + 700)
        trace.add("packet_received", 0, psn + lost, 20, nak[1], "RC Acknowledge (NAK)")
        trace.add("nak_received", 0, psn + lost, detail="PSN sequence error")
        trace.add("retransmit", 0, psn + lost, detail="NAK")
        message["retransmitted"] = 1
        opcode = "RC RDMA WRITE Middle"
        packet, when = trace.packet(0, opcode, psn + lost, MTU)
        trace.add("packet_received", 1, psn + lost, MTU, packet, opcode, after=900)
        trace.add("checked", 1, psn + lost)
        trace.add("placed", 1, psn + lost, MTU)
    trace.add("ack_sent", 1, psn + count - 1)
    answer, _ = trace.packet(1, "RC Acknowledge", psn + count - 1, 20)
    trace.add("packet_received", 0, psn + count - 1, 20, answer, "RC Acknowledge", after=800)
    trace.add("ack_received", 0, psn + count - 1)
    trace.add("completion", 0, detail="success")
    trace.add("polled", 0)
    trace.finish()


def timed_out(trace, psn):
    """A small WRITE whose only packet is lost: the timer resends it. Then one that is refused."""
    message = trace.begin("WRITE", 8, 0)
    trace.add("post", 0, size=8, opcode="RDMA WRITE")
    trace.add("doorbell", 0)
    trace.add("fetch", 0)
    opcode = "RC RDMA WRITE Only"
    trace.add("packet_made", 0, psn, 8, opcode=opcode)
    trace.packet(0, opcode, psn, 40, arrives=False)
    trace.add("retransmit", 0, psn, detail="timeout", after=67_000_000)
    message["retransmitted"] = 1
    packet, _ = trace.packet(0, opcode, psn, 40)
    trace.add("packet_received", 1, psn, 40, packet, opcode, after=900)
    trace.add("refused", 1, psn, detail="remote access error")
    trace.add("nak_sent", 1, psn, detail="remote access error")
    answer, _ = trace.packet(1, "RC Acknowledge (NAK)", psn, 20)
    trace.add("packet_received", 0, psn, 20, answer, "RC Acknowledge (NAK)", after=900)
    trace.add("nak_received", 0, psn, detail="remote access error")
    trace.add("completion", 0, detail="remote access error")
    trace.add("polled", 0)
    trace.finish("remote access error")


def write():
    trace = Trace("ib_write_bw -s 65536", ["ib_write_bw 10.0.0.2", "ib_write_bw (server)"])
    trace.set_up(131072)
    for i in range(6):
        write_message(trace, 100 + 16 * i, 16 * MTU, lost=5 if i == 2 else None)
        trace.now += 400
    timed_out(trace, 196)
    trace.close()
    return trace


def connect():
    trace = Trace("rping", ["rping -c -a 10.0.0.2", "rping -s"])
    for end in (1, 0):
        trace.add("create_qp", end, after=5_000)
        trace.add("register", end, size=64, qpn=-1, after=12_000)
    trace.add("modify_qp", 0, detail="INIT")
    for sender, name in ((0, "REQ"), (1, "REP"), (0, "RTU")):
        trace.add("cm_send", sender, qpn=-1, detail=name, after=4_000)
        trace.add("cm_receive", 1 - sender, qpn=-1, detail=name, after=14_000)
        if name == "REQ":
            for state in ("INIT", "RTR"):
                trace.add("modify_qp", 1, detail=state, after=1_500)
        if name == "REP":
            for state in ("RTR", "RTS"):
                trace.add("modify_qp", 0, detail=state, after=1_500)
        if name == "RTU":
            trace.add("modify_qp", 1, detail="RTS", after=1_500)
    small_send(trace, 0, 0xABCDE, 16)
    trace.now += 20_000
    for sender, name in ((0, "DREQ"), (1, "DREP")):
        trace.add("cm_send", sender, qpn=-1, detail=name, after=4_000)
        trace.add("cm_receive", 1 - sender, qpn=-1, detail=name, after=14_000)
    trace.close()
    return trace


def direct():
    trace = Trace("ib_write_bw -s 1048576", ["ib_write_bw 10.0.0.2", "ib_write_bw (server)"])
    trace.set_up(2097152)
    for op in ("WRITE", "WRITE", "READ"):
        trace.begin(op, 1 << 20, 0)
        trace.add("post", 0, size=1 << 20, opcode=f"RDMA {op}")
        trace.add("doorbell", 0)
        trace.add("fetch", 0)
        trace.add("direct", 0, size=1 << 20, after=38_000)
        trace.add("completion", 0, detail="success")
        trace.add("polled", 0)
        trace.finish()
    trace.close()
    return trace


def alone():
    trace = Trace("ucx_perftest 10.0.0.9", ["ucx_perftest 10.0.0.9"], ends=1)
    trace.set_up(8192)
    message = trace.begin("SEND", 64, 0)
    message.update(peer_end=-1, peer_qpn=-1)
    trace.add("post", 0, size=64, opcode="SEND")
    trace.add("fetch", 0)
    trace.packet(0, "RC SEND Only", 7, 80)
    trace.packets += 1
    trace.add("packet_received", 0, 7, 20, trace.packets, "RC Acknowledge", after=21_000)
    trace.add("ack_received", 0, 7)
    trace.add("completion", 0, detail="success")
    trace.finish()
    trace.notes = ["the peer at 10.0.0.9 was not traced"]
    return trace


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for make in (send, write, connect, direct, alone):
        text = json.dumps(make().document(), separators=(",", ":"))
        (folder / f"{make.__name__}.json").write_text(text)


if __name__ == "__main__":
    main()
