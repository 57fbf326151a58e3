// The paragraph on where the time went, in pieces.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pieces } from '../../web/src/sections/why.js';

test('a paragraph becomes a beginning, a piece for each cause, and the rest', () => {
  const causes = [{ text: 'At most 67 % of it: DCQCN.' }, { text: 'At most 46 % of it: a queue of 3 us.' },
    { text: 'not in the paragraph' }];
  assert.deepEqual(
    pieces({ causes, paragraph: `It took 2 us. ${causes[0].text} ${causes[1].text} Try: less.` }),
    {
      before: ['It took 2\u202fµs.'],
      causes: ['At most 67 % of it: DCQCN.', 'At most 46 % of it: a queue of 3\u202fµs.'],
      after: ['Try: less.'],
    });
});

test('a paragraph without causes is shown as it is', () => {
  assert.deepEqual(pieces({ causes: [], paragraph: 'There is nothing to explain.' }),
    { before: ['There is nothing to explain.'], causes: [], after: [] });
});
