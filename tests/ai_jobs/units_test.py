"""Goal: the parts of the AI jobs that need neither torch nor a network: the block pool, the
dispatcher, batches, and data from a seed."""
import pathlib
import random
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples/ai"))

import data  # noqa: E402
from kv_cache import BLOCK, BlockPool, NoSpace, blocks_for, identities  # noqa: E402
from scheduler import Batch, Dispatcher, Job  # noqa: E402


def tokens(seed, count):
    """The first `count` tokens of one of many endless texts."""
    prng = data.Prng(seed)
    return [prng.below(1000) for _ in range(count)]


class Blocks(unittest.TestCase):
    def test_identity_depends_on_all_tokens_before(self):
        a = tokens(1, 3 * BLOCK)
        b = [a[0] + 1, *a[1:]]
        self.assertEqual(identities(a), identities(list(a)))
        self.assertFalse(set(identities(a)) & set(identities(b)))
        self.assertEqual(identities(a)[:2], identities(a[:2 * BLOCK] + tokens(2, BLOCK))[:2])

    def test_prompt_finds_its_prefix(self):
        pool = BlockPool(8)
        prompt = tokens(1, 3 * BLOCK)
        table = pool.allocate(3)
        pool.publish(prompt, table)
        pool.release(table)
        self.assertEqual(pool.match(prompt + [5]), table)
        self.assertEqual(pool.match(prompt)[:3], table[:2])  # the last token is computed

    def test_least_recently_used_block_is_evicted(self):
        pool = BlockPool(4)
        for seed in (1, 2):
            table = pool.allocate(2)
            pool.publish(tokens(seed, 2 * BLOCK), table)
            pool.release(table)
        held = pool.match(tokens(1, 2 * BLOCK) + [0])  # 1 is used again, so 2 is the older one
        pool.release(held)
        pool.allocate(2)
        self.assertEqual(pool.evictions, 2)
        self.assertEqual(len(pool.match(tokens(1, 2 * BLOCK) + [0])), 2)
        self.assertEqual(pool.match(tokens(2, 2 * BLOCK) + [0]), [])

    def test_blocks_in_use_are_never_evicted(self):
        pool = BlockPool(4)
        table = pool.allocate(3)
        pool.publish(tokens(1, 3 * BLOCK), table)
        with self.assertRaises(NoSpace):
            pool.allocate(2)
        self.assertEqual(pool.available(), 1)  # nothing was taken

    def test_double_release_is_refused(self):
        pool = BlockPool(2)
        table = pool.allocate(1)
        pool.release(table)
        with self.assertRaises(ValueError):
            pool.release(table)

    def test_random_requests_against_a_model(self):
        for seed in range(20):
            chance, pool, held = random.Random(seed), BlockPool(24), []
            for _ in range(200):
                if held and chance.random() < 0.5:
                    pool.release(held.pop(chance.randrange(len(held))))
                    continue
                prompt = tokens(chance.randrange(6) + 1, chance.randrange(1, 6 * BLOCK))
                hit = pool.match(prompt)
                try:
                    table = hit + pool.allocate(blocks_for(len(prompt)) - len(hit))
                except NoSpace:
                    pool.release(hit)
                    continue
                pool.publish(prompt, table)
                held.append(table)
                used = {block for one in held for block in one}
                self.assertEqual(pool.available(), 24 - len(used), f"seed {seed}")
                new = table[len(hit):]
                others = {block for one in held[:-1] for block in one}
                self.assertFalse(set(new) & others, f"seed {seed}: a block has two owners")


class Dispatching(unittest.TestCase):
    def test_waits_until_a_worker_has_room(self):
        dispatcher = Dispatcher(1, 1, 4)
        dispatcher.arrive(Job(0, [0] * BLOCK * 2, BLOCK))
        dispatcher.arrive(Job(1, [0] * BLOCK, BLOCK))
        first = dispatcher.next()
        self.assertEqual((first.number, first.decode, first.prefill), (0, 0, 0))
        self.assertIsNone(dispatcher.next())
        dispatcher.finished(first)
        self.assertEqual(dispatcher.next().number, 1)

    def test_death_moves_requests_and_keeps_their_tokens(self):
        dispatcher = Dispatcher(1, 2, 8)
        for number in range(3):
            dispatcher.arrive(Job(number, [1, 2], 3))
        jobs = [dispatcher.next() for _ in range(3)]
        self.assertEqual([job.decode for job in jobs], [0, 1, 0])
        jobs[0].generated, jobs[2].generated = [7], [7, 8, 9]
        lost = dispatcher.decode_died(0)
        self.assertEqual([job.number for job in lost], [0, 2])
        again = dispatcher.next()
        self.assertEqual((again.number, again.decode, again.attempt), (0, 1, 1))
        self.assertEqual(again.tokens(), [1, 2, 7])
        self.assertIsNone(dispatcher.next())  # request 2 was complete

    def test_death_of_a_prefill_worker_leaves_its_requests_to_the_others(self):
        dispatcher = Dispatcher(2, 1, 32)
        for number in range(4):
            dispatcher.arrive(Job(number, [1, 2], 3))
        jobs = [dispatcher.next() for _ in range(3)]
        self.assertEqual([job.prefill for job in jobs], [0, 1, 0])
        dispatcher.prefill_died(0)
        for job in (jobs[2], jobs[0]):
            dispatcher.lost(job)
        again = [dispatcher.next() for _ in range(3)]  # in the order of arrival
        self.assertEqual([(job.number, job.prefill, job.attempt) for job in again],
                         [(0, 1, 1), (2, 1, 1), (3, 1, 0)])

    def test_without_prefill_workers_decode_workers_compute(self):
        dispatcher = Dispatcher(1, 1, 2)
        dispatcher.arrive(Job(0, [1, 2], BLOCK))
        job = dispatcher.next()
        job.generated = [7]
        dispatcher.prefill_died(0)
        dispatcher.prefilled(job)  # its last message may come after the death
        dispatcher.lost(job)
        again = dispatcher.next()  # the decode worker has room for it again
        self.assertEqual((again.number, again.prefill, again.tokens()), (0, None, [1, 2, 7]))

    def test_batch_admits_when_others_leave(self):
        batch = Batch(2)
        for one in "abc":
            batch.add(one)
        self.assertEqual(batch.admit(), ["a", "b"])
        batch.leave("a")
        self.assertEqual(batch.admit(), ["b", "c"])


class Data(unittest.TestCase):
    def test_same_seed_same_data(self):
        self.assertEqual(data.batch(1, 2, 3, 4, 8, 36), data.batch(1, 2, 3, 4, 8, 36))
        self.assertNotEqual(data.batch(1, 2, 3, 4, 8, 36), data.batch(1, 2, 4, 4, 8, 36))

    def test_known_values(self):
        """The same on every machine and Python."""
        self.assertEqual(data.Prng(1).next(), 0x6c45d188009454f)
        self.assertEqual(data.batch(1, 0, 0, 1, 5, 36), [[33, 5, 12, 19, 26, 1]])

    def test_sequences_follow_their_rule(self):
        for one in data.batch(9, 0, 0, 50, 20, 36):
            a, b = data.RULES[one[0] - 32]
            self.assertTrue(all((a * x + b) % 32 == y for x, y in zip(one[1:], one[2:])))

    def test_requests_arrive_in_order_at_the_rate(self):
        made = data.requests(1, 2000, 10.0, 256, 64, 8)
        times = [request.arrival for request in made]
        self.assertEqual(times, sorted(times))
        self.assertAlmostEqual(times[-1] / 200, 1, delta=0.1)


if __name__ == "__main__":
    unittest.main()
