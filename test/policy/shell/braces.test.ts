import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { expandBraces } from '../../../src/policy/shell/expand.ts'

const SAME_AS_BASH = [
  'a',
  'a{b,c}d',
  '{a,b}{c,d}',
  'x{a,b{c,d}e}y',
  '{a,}',
  '{,a}b',
  '{1..3}',
  '{3..1}x',
  'a{a..e}',
  '{-1..1}',
  '{e..a}',
  '{a,b}-{1..2}',
  '{{a,b},c}',
  '{a,{1..2},b}',
  'x{,}',
]

test('alternatives and ranges become the words that bash makes of them', () => {
  const made = execFileSync('bash', ['-c', SAME_AS_BASH.map(text => `printf '%s|' ${text}; echo`).join('\n')], {
    encoding: 'utf8',
  })
  const lines = made.trimEnd().split('\n')
  for (const [place, text] of SAME_AS_BASH.entries()) {
    const expected = (lines[place] ?? '').split('|').slice(0, -1)
    assert.deepEqual(
      expandBraces(text)
        ?.filter(word => word !== '')
        .sort(),
      expected.filter(word => word !== '').sort(),
      text,
    )
  }
})

test('what is no alternative stays as it is', () => {
  assert.deepEqual(expandBraces('a{b'), ['a{b'])
  assert.deepEqual(expandBraces('a}b'), ['a}b'])
  assert.deepEqual(expandBraces('a{b{c,d}'), ['a{b{c,d}'])
  assert.deepEqual(expandBraces(''), [''])
})

test('what cannot be told, or is more than anybody writes, is unknown', () => {
  for (const text of [
    '{a}',
    '{}',
    '{1..3..2}',
    '{a..}',
    '{1..9999999}',
    '{1..70}',
    '{a,b}{x}',
    '{a,{b}}',
    '{aa..c}',
    '{1..c9}',
  ])
    assert.equal(expandBraces(text), undefined, text)
  assert.equal(expandBraces('{1..65}')?.length, undefined)
  assert.equal(expandBraces('{1..64}')?.length, 64)
  assert.equal(expandBraces('{a,b,c}{a,b,c}', 9)?.length, 9)
  assert.equal(expandBraces('{a,b,c}{a,b,c}', 8), undefined)
})
