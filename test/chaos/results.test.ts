import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { ALL_POINTS, type KeptRound, kept, readResults, writeResults } from '../../scripts/chaos/results.ts'
import { table } from '../../scripts/chaos/table.ts'
import { bareEnv, tempDir } from '../support/world.ts'
import { aHistory } from './a-history.ts'

const GOOD: KeptRound = {
  sessions: 3,
  hit: ['kill-daemon', 'crash-point open.after-agent'],
  missed: [],
  violations: [],
}
const BAD: KeptRound = {
  sessions: 5,
  hit: ['kill-tool'],
  missed: ['disk-full'],
  violations: ['tool-once: c1 ran twice'],
}

test('results add up by seed, one line each, and a seed that is run again counts anew', t => {
  const file = join(tempDir(t), 'chaos.json')
  assert.deepEqual(readResults(file).unreached, ALL_POINTS, 'nothing was run yet')
  const results = {
    versions: { program: '1' },
    planted: { 'guardian-asleep': { rounds: 2, by: 'no-orphan' } },
    unreached: [],
  }
  writeResults(file, { ...results, rounds: { 7: BAD } })
  const before = readResults(file)
  assert.deepEqual(before, { ...results, rounds: { 7: BAD } })
  writeResults(file, { ...before, rounds: { ...before.rounds, 7: GOOD, 3: GOOD } })
  assert.deepEqual(readResults(file).rounds, { 3: GOOD, 7: GOOD })
  assert.equal(readFileSync(file, 'utf8').match(/^ {4}"\d+": \{.*\},?$/gm)?.length, 2)
})

test('the table counts faults and violations, and names what this machine could not run', () => {
  const drawn = table({ rounds: [GOOD, BAD], notRun: [{ kind: 'clock-jump', why: 'libfaketime is not installed' }] })
  assert.match(drawn, /^kill-daemon +1 +0 /m)
  assert.match(drawn, /^crash-point +1 +0 /m)
  assert.match(drawn, /^kill-tool +1 +1 /m)
  assert.match(drawn, /^clock-jump +not run: libfaketime is not installed /m)
  assert.match(drawn, /^tool-once +1 /m)
  assert.match(drawn, /^2 rounds, 8 sessions, 3 faults, 1 rounds with violations$/m)
})

test('a round is kept with what met something, what did not, and what was violated', () => {
  const { sessions } = aHistory()
  const faults = [
    {
      kind: 'crash-point' as const,
      atMs: 1,
      forMs: 1,
      session: 0,
      point: { name: 'settle.after-commit' as const, nth: 1 },
    },
    { kind: 'kill-tool' as const, atMs: 2, forMs: 1, session: 0 },
  ]
  const history = aHistory({ faults: faults.map(({ kind }) => ({ kind, at: 1, hit: kind === 'crash-point' })) })
  const violations = [{ invariant: 'no-orphan' as const, text: 'left' }]
  assert.deepEqual(kept({ plan: { seed: 1, sessions, faults }, history, violations, ms: 1 }), {
    outlived_ms: 800,
    sessions: 1,
    hit: ['crash-point settle.after-commit'],
    missed: ['kill-tool'],
    violations: ['no-orphan: left'],
  })
})

test('a number that is none and a mistake that does not exist are refused before anything is started', () => {
  const script = fileURLToPath(new URL('../../scripts/chaos.ts', import.meta.url))
  const run = (...args: string[]) => {
    const { status, stderr } = spawnSync(process.execPath, [script, ...args], { encoding: 'utf8', env: bareEnv('/') })
    return [status, stderr.trim()]
  }
  assert.deepEqual(run('--rounds', 'many'), [2, '--rounds many: it is not a whole number'])
  const [status, told] = run('--plant', 'everything')
  assert.equal(status, 2)
  assert.match(String(told), /^--plant everything: there is no such mistake; there are all, ending-told-twice, /)
})
