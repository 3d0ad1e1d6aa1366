import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withoutSigils } from '../../../src/supervisor/sigils/without-sigils.ts'

test('what an agent says to its supervisor is taken out of its words, also over several lines, and nothing else', () => {
  const text = [
    'Done.',
    '<task-done>t-3fa91c</task-done>',
    '<journal>',
    'a <b>bold</b> word',
    '</journal>',
    '<knowledge title="x" tags="a, b">one',
    'two</knowledge>',
    'I wrote <journal>this</journal> in a sentence.',
    '<verify-pass/>',
    '<div>stays</div>',
  ].join('\n')
  assert.equal(withoutSigils(text), 'Done.\n\nI wrote <journal>this</journal> in a sentence.\n\n<div>stays</div>')
})

test('a text of nothing but openings is read in a moment', () => {
  assert.equal(withoutSigils('<journal>\n'.repeat(2_000)).length, '<journal>\n'.repeat(2_000).trim().length)
})
