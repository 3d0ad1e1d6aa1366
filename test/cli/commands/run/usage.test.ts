import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sessionMarker } from '../../../../src/base/process/marker.ts'
import { pccFor } from '../../pcc.ts'

const REFUSED: [string, string[], number, RegExp][] = [
  ['more at once than there can be', ['run', '.', '--parallel', '65'], 2, /from 1 to 64/],
  ['two limits', ['run', '.', '--once', '--limit', '3'], 2, /--once is --limit 1, and --limit says 3/],
  ['an agent that is not there', ['run', '.', '--agent', 'moon'], 2, /--agent/],
  ['a strategy that is not there', ['run', '.', '--model-strategy', 'moon'], 2, /--model-strategy/],
  ['a number that is none', ['run', '.', '--max-retries', 'many'], 2, /from 0 to 100/],
]

test('invalid options of pcc run are refused before a daemon is started', async t => {
  const pcc = pccFor(t)
  for (const [what, args, code, words] of REFUSED) {
    const refused = await pcc.run(args)
    assert.equal(refused.code, code, what)
    assert.match(refused.stderr, words, what)
  }
  const inside = await pcc.run(['run', '.'], { env: { [sessionMarker('').name]: 'x' } })
  assert.match(inside.stderr, /pcc run \./, 'an agent starts no runs')
  assert.notEqual(inside.code, 0)
})
