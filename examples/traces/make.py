#!/usr/bin/env python3
"""Writes execution traces of Chakra (.et) without protobuf: a training step with a pipeline.

    make.py pipeline        writes pipeline.0.et to pipeline.7.et

Eight ranks: two pipeline stages of four ranks each. In a stage, two ranks split a layer (tensor
parallelism), and two groups of them train on different data. A step has two micro-batches. A stage
computes its layers, with an all-reduce after each; the first sends activations to the second, which
returns gradients. At the end each stage reduces its gradients.

The encoding is that of et_def.proto: messages after their length, GlobalMetadata first, then Nodes.
Use it as a start for traces of your own.
"""
import sys

COMPUTE, SEND, RECEIVE, COLLECTIVE = 4, 5, 6, 7
ALL_REDUCE = 0

TENSOR, DATA, STAGES = 2, 2, 2
BATCHES, LAYERS = 2, 2
ACTIVATIONS = 2_097_152  # bytes of a micro-batch
GRADIENTS = 25_165_824   # bytes of a rank
FORWARD_US, BACKWARD_US = 120, 240  # of a layer


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def data(field, content):
    return varint(field << 3 | 2) + varint(len(content)) + content


def attribute(name, value):
    content = data(1, name.encode())
    if isinstance(value, bool):
        content += number(27, int(value))
    elif isinstance(value, int):
        content += number(9, value)
    else:
        content += data(29, value.encode())
    return data(10, content)


class Trace:
    """The nodes of one rank. Each depends on the node before it, unless told otherwise."""

    def __init__(self):
        self.messages = [data(1, b'0.0.4')]
        self.last = None
        self.ids = 0

    def node(self, name, kind, after=None, micros=0, **attributes):
        self.ids += 1
        content = number(1, self.ids) + data(2, name.encode()) + number(3, kind)
        after = self.last if after is None else after
        if after is not None:
            content += data(5, varint(after))
        if micros:
            content += number(7, micros)
        content += attribute('is_cpu_op', False)
        for key, value in attributes.items():
            content += attribute(key, value)
        self.messages.append(content)
        self.last = self.ids
        return self.ids

    def compute(self, name, micros):
        return self.node(name, COMPUTE, micros=micros)

    def all_reduce(self, name, size, group):
        return self.node(name, COLLECTIVE, comm_type=ALL_REDUCE, comm_size=size, pg_name=group)

    def send(self, name, to, size, tag):
        """The rank goes on without waiting for it."""
        before = self.last
        self.node(name, SEND, comm_dst=to, comm_size=size, comm_tag=tag)
        self.last = before

    def receive(self, name, source, size, tag):
        return self.node(name, RECEIVE, comm_src=source, comm_size=size, comm_tag=tag)

    def bytes(self):
        return b''.join(varint(len(message)) + message for message in self.messages)


def trace_of(rank):
    stage, replica, _ = rank // (DATA * TENSOR), rank // TENSOR % DATA, rank % TENSOR
    tensor = f'tensor{stage}.{replica}'
    reduce = f'data{stage}.{rank % TENSOR}'
    peer = (rank + DATA * TENSOR) % (STAGES * DATA * TENSOR)
    trace = Trace()

    def layers(name, micros):
        for layer in range(LAYERS):
            trace.compute(f'{name}{layer}', micros)
            trace.all_reduce(f'{name}{layer} reduce', ACTIVATIONS, tensor)

    for batch in range(BATCHES):
        if stage > 0:
            trace.receive('activations', peer, ACTIVATIONS, batch)
        layers('forward', FORWARD_US)
        if stage == 0:
            trace.send('activations', peer, ACTIVATIONS, batch)
        else:
            layers('backward', BACKWARD_US)
            trace.send('gradients', peer, ACTIVATIONS, BATCHES + batch)
    if stage == 0:
        for batch in range(BATCHES):
            trace.receive('gradients', peer, ACTIVATIONS, BATCHES + batch)
            layers('backward', BACKWARD_US)
    trace.all_reduce('weights', GRADIENTS, reduce)
    return trace.bytes()


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for rank in range(STAGES * DATA * TENSOR):
        with open(f'{sys.argv[1]}.{rank}.et', 'wb') as file:
            file.write(trace_of(rank))


if __name__ == '__main__':
    main()
