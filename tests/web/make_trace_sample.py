#!/usr/bin/env python3
"""Trace documents (format nerve-trace-1) to look at and to test the page of nerve trace with.

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
HELD = "out of order: held until the missing packet arrives"
ACK = "RC ACKNOWLEDGE"
COLUMNS = ["t", "end", "step", "qpn", "psn", "bytes", "message", "packet", "opcode", "detail"]
MTU = 4096


class Trace:
    """A document under construction: a clock, and the tables that events refer to."""

    def __init__(self, title, program, ends=2, seed=1):
        self.chance = random.Random(seed)
        self.now, self.packets, self.message, self.arrival = 0, 0, -1, 0
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
        qpn = self.qpn[end] if qpn is None else qpn
        self.events.append([when, end, NAMES.index(step), qpn, psn, size, self.message,
                            packet, self.index(self.opcodes, opcode),
                            self.index(self.details, detail)])
        return when

    def begin(self, op, size, end):
        """A new message: its work request is posted."""
        self.now += self.chance.randint(40, 160)
        self.message = len(self.messages)
        peer = 1 - end
        self.messages.append({"end": end, "qpn": self.qpn[end], "op": op, "bytes": size,
                              "peer_end": peer, "peer_qpn": self.qpn[peer], "begin": self.now,
                              "finish": -1, "status": "", "retransmitted": 0})
        self.add("post", end, size=size, opcode=op, after=0)
        self.add("doorbell", end, size=size, opcode=op)
        self.add("fetch", end, size=size, opcode=op)
        return self.messages[-1]

    def receive(self, end, message):
        """A receive that a later message uses."""
        before, self.message = self.message, message
        self.add("post_receive", end)
        self.message = before

    def finish(self, status="success"):
        self.messages[self.message].update(finish=self.now, status=status)
        self.message = -1

    def packet(self, end, opcode, psn, size, arrives=True, wire=900):
        """Sends a packet; returns its id and the time it arrives."""
        self.packets += 1
        self.add("packet_sent", end, psn, size, self.packets, opcode)
        when = max(self.now + wire + self.chance.randint(0, 200), self.arrival + 30)
        self.arrival = when
        if not arrives:
            self.add("packet_dropped", end, psn, size, self.packets, opcode,
                     "lost by fault injection", at=self.now + wire // 2)
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
    trace.add("packet_made", end, psn, size, opcode="RC SEND Only")
    packet, _ = trace.packet(end, "RC SEND Only", psn, size)
    trace.add("packet_received", peer, psn, size, packet, "RC SEND Only", after=620)
    trace.add("checked", peer, psn, size, opcode="RC SEND Only")
    trace.add("placed", peer, psn, size, opcode="RC SEND Only")
    trace.add("completion", peer, size=size, opcode="RECV", detail="success")
    trace.add("ack_sent", peer, psn, opcode=ACK, detail="ACK")
    answer, _ = trace.packet(peer, ACK, psn, 0)
    trace.add("polled", peer, size=size, opcode="RECV", detail="success")
    trace.add("packet_received", end, psn, 0, answer, ACK, after=480)
    trace.add("ack_received", end, psn, opcode=ACK, detail="ACK")
    trace.add("completion", end, size=size, opcode="SEND", detail="success")
    trace.add("polled", end, size=size, opcode="SEND", detail="success")
    trace.finish()


def send():
    trace = Trace("ib_send_lat -n 5000 -s 64", ["ib_send_lat (server)", "ib_send_lat 10.0.0.1"])
    trace.set_up(4096)
    trace.receive(0, 0)
    for i in range(5000):
        trace.receive(1 - (i + 1) % 2 if i < 4999 else 0, i + 1 if i < 4999 else -1)
        small_send(trace, 1 - i % 2, 0x100 + i // 2)
        trace.now += 500
    trace.close()
    trace.notes = ["QP 0x11: the first 2500 of 5000000 messages are shown"]
    return trace


def write_message(trace, psn, size, lost=None):
    """A WRITE in packets; if one is lost, the receiver reports the gap and only it is resent."""
    count = size // MTU
    message = trace.begin("WRITE", size, 0)
    opcodes = ["RC RDMA WRITE " + ("First" if i == 0 else "Last" if i == count - 1 else "Middle")
               for i in range(count)]
    arrivals = []
    for i, opcode in enumerate(opcodes):
        trace.add("packet_made", 0, psn + i, MTU, opcode=opcode)
        packet, when = trace.packet(0, opcode, psn + i, MTU, arrives=i != lost, wire=1100)
        if i != lost:
            arrivals.append((when, i, packet))
    start, nak = trace.now, None

    def place(i, when):
        trace.add("checked", 1, psn + i, MTU, opcode=opcodes[i], at=when + 45)
        trace.add("placed", 1, psn + i, MTU, opcode=opcodes[i], at=when + 130)

    for when, i, packet in arrivals:
        trace.add("packet_received", 1, psn + i, MTU, packet, opcodes[i], at=when)
        if lost is None or i < lost:
            place(i, when)
        else:
            trace.add("refused", 1, psn + i, MTU, opcode=opcodes[i], detail=HELD, at=when + 40)
        if lost is not None and i == lost + 1:
            trace.add("nak_sent", 1, psn + lost, opcode=ACK, detail="selective NAK", at=when + 70)
            trace.packets += 1
            nak = (when + 130, trace.packets)
            trace.add("packet_sent", 1, psn + lost, 0, nak[1], ACK, at=nak[0])
        trace.now = max(start, when + 130)
    if nak:
        when, packet = nak
        trace.add("packet_received", 0, psn + lost, 0, packet, ACK, at=when + 900)
        trace.add("nak_received", 0, psn + lost, opcode=ACK, detail="selective NAK", at=when + 950)
        trace.now = max(trace.now, when + 980)
        trace.add("retransmit", 0, psn + lost, detail="NAK")
        trace.add("packet_made", 0, psn + lost, MTU, opcode=opcodes[lost])
        message["retransmitted"] = 1
        packet, when = trace.packet(0, opcodes[lost], psn + lost, MTU)
        trace.add("packet_received", 1, psn + lost, MTU, packet, opcodes[lost], after=900)
        for i in range(lost, count):
            place(i, trace.now)
            trace.now += 150
    trace.add("ack_sent", 1, psn + count - 1, opcode=ACK, detail="ACK")
    answer, _ = trace.packet(1, ACK, psn + count - 1, 0)
    trace.add("packet_received", 0, psn + count - 1, 0, answer, ACK, after=800)
    trace.add("ack_received", 0, psn + count - 1, opcode=ACK, detail="ACK")
    trace.add("completion", 0, size=size, opcode="WRITE", detail="success")
    trace.add("polled", 0, size=size, opcode="WRITE", detail="success")
    trace.finish()


def timed_out(trace, psn):
    """A small WRITE whose only packet is lost and resent by the timer, and then refused."""
    message = trace.begin("WRITE", 8, 0)
    opcode = "RC RDMA WRITE Only"
    trace.add("packet_made", 0, psn, 8, opcode=opcode)
    trace.packet(0, opcode, psn, 8, arrives=False)
    trace.add("retransmit", 0, psn, detail="timeout", after=67_000_000)
    trace.add("packet_made", 0, psn, 8, opcode=opcode)
    message["retransmitted"] = 1
    packet, _ = trace.packet(0, opcode, psn, 8)
    trace.add("packet_received", 1, psn, 8, packet, opcode, after=900)
    trace.add("refused", 1, psn, 8, opcode=opcode, detail="remote access error: NAK")
    trace.add("nak_sent", 1, psn, opcode=ACK, detail="NAK: remote access error")
    answer, _ = trace.packet(1, ACK, psn, 0)
    trace.add("packet_received", 0, psn, 0, answer, ACK, after=900)
    trace.add("nak_received", 0, psn, opcode=ACK, detail="NAK: remote access error")
    trace.add("completion", 0, size=8, opcode="WRITE", detail="remote access error")
    trace.add("polled", 0, size=8, opcode="WRITE", detail="remote access error")
    trace.finish("remote access error")
    for end in (0, 1):
        trace.add("modify_qp", end, detail="ERR")


def write():
    trace = Trace("ib_write_bw -s 65536", ["ib_write_bw 10.0.0.2", "ib_write_bw (server)"])
    trace.set_up(131072)
    for i in range(6):
        write_message(trace, 100 + 16 * i, 16 * MTU, lost=5 if i == 2 else None)
        trace.now += 400
    timed_out(trace, 196)
    trace.close()
    return trace


def cm(trace, sender, name):
    trace.packets += 1
    trace.add("cm_send", sender, packet=trace.packets, detail=name, after=4_000)
    trace.add("cm_receive", 1 - sender, packet=trace.packets, detail=name, after=14_000)


def connect():
    trace = Trace("rping", ["rping -c -a 10.0.0.2", "rping -s"])
    for end in (1, 0):
        trace.add("create_qp", end, detail="RC", after=5_000)
        trace.add("register", end, size=64, qpn=-1, after=12_000)
    trace.add("modify_qp", 0, detail="INIT", after=700)
    cm(trace, 0, "REQ")
    for state in ("INIT", "RTR"):
        trace.add("modify_qp", 1, detail=state, after=1_500)
    trace.receive(1, 0)
    cm(trace, 1, "REP")
    for state in ("RTR", "RTS"):
        trace.add("modify_qp", 0, detail=state, after=1_500)
    cm(trace, 0, "RTU")
    trace.add("modify_qp", 1, detail="RTS", after=1_500)
    small_send(trace, 0, 0xABCDE, 16)
    trace.now += 20_000
    cm(trace, 0, "DREQ")
    cm(trace, 1, "DREP")
    trace.close()
    return trace


def direct():
    trace = Trace("ib_write_bw -s 1048576", ["ib_write_bw 10.0.0.2", "ib_write_bw (server)"])
    trace.set_up(2097152)
    for op in ("WRITE", "WRITE", "READ"):
        trace.begin(op, 1 << 20, 0)
        trace.add("direct", 0, size=1 << 20, opcode=op, after=38_000)
        trace.add("completion", 0, size=1 << 20, opcode=op, detail="success")
        trace.add("polled", 0, size=1 << 20, opcode=op, detail="success")
        trace.finish()
    trace.close()
    return trace


def alone():
    trace = Trace("ucx_perftest 10.0.0.9", ["ucx_perftest 10.0.0.9"], ends=1)
    trace.set_up(8192)
    message = trace.begin("SEND", 64, 0)
    message.update(peer_end=-1, peer_qpn=-1)
    trace.packet(0, "RC SEND Only", 7, 64)
    trace.packets += 1
    trace.add("packet_received", 0, 7, 0, trace.packets, ACK, after=21_000)
    trace.add("ack_received", 0, 7, opcode=ACK, detail="ACK")
    trace.add("completion", 0, size=64, opcode="SEND", detail="success")
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
