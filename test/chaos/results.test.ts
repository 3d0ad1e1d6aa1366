import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { diedAt, PAGE_FILE, pageWith, RESULTS_FILE } from '../../scripts/chaos/page.ts'
import { ALL_POINTS } from '../../scripts/chaos/plan/points.ts'
import {
  changeResults,
  type KeptResults,
  type KeptRound,
  kept,
  RULES,
  readResults,
  withEarlier,
} from '../../scripts/chaos/results.ts'
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

test('results add up by seed, one line each', t => {
  const file = join(tempDir(t), 'chaos.json')
  const results = { versions: { program: '1' }, planted: { 'guardian-asleep': { rounds: 2, by: 'no-orphan' } } }
  changeResults(file, () => ({ ...results, rounds: { 7: BAD } }))
  changeResults(file, before => ({ ...before, rounds: { ...before.rounds, 3: GOOD } }))
  assert.deepEqual(readResults(file), { ...results, rounds: { 3: GOOD, 7: BAD } })
  assert.equal(readFileSync(file, 'utf8').match(/^ {4}"\d+": \{.*\},?$/gm)?.length, 2)
})

test('a round with violations stays visible when it is run again, however often', () => {
  assert.deepEqual(withEarlier(GOOD, undefined), GOOD)
  assert.deepEqual(withEarlier(GOOD, GOOD), GOOD)
  const again = withEarlier(GOOD, BAD)
  assert.deepEqual(again, { ...GOOD, earlier: [BAD] })
  assert.deepEqual(withEarlier(GOOD, again), { ...GOOD, earlier: [BAD] })
  assert.deepEqual(withEarlier(GOOD, withEarlier(BAD, again)), { ...GOOD, earlier: [BAD, BAD] })
})

const results = (rounds: Record<string, KeptRound>): KeptResults => ({ versions: {}, planted: {}, rounds })

test('the page counts rounds judged by the current rules, and names the violations and the steps at which no daemon died', () => {
  const today = (round: KeptRound, died: readonly string[] = []): KeptRound => ({
    ...round,
    rules: RULES,
    died: [...died],
  })
  const page = (rounds: Record<string, KeptRound>) =>
    pageWith(
      'a\n<!-- made from bench/chaos.json by `npm run docs` -->\nYESTERDAY\n<!-- end of what is made -->\nz\n',
      results(rounds),
    )
  const made = page({ 1: GOOD, 2: today(GOOD, ALL_POINTS.slice(1)), 3: { ...today(GOOD), earlier: [today(BAD)] } })
  assert.match(made, /^a\n<!-- made.*\n\*\*2 rounds, 6 sessions, 4 faults: 0 rounds with violations\.\*\*\n/)
  assert.match(made, /^Violated when they were first run, and not when they were run again: 3; both are kept\.$/m)
  const all = ALL_POINTS.length
  assert.ok(made.includes(`\nDaemons died at ${all - 1} of ${all} named steps; never at \`submit.before-commit\`.\n`))
  assert.match(made, /^\| `kill-daemon` \| 2 \| 0 \|$/m)
  assert.match(made, /\n1 earlier rounds stand .*\n<!-- end of what is made -->\nz\n/)
  assert.doesNotMatch(made, /YESTERDAY/)
  assert.match(page({ 9: today(BAD) }), /1 rounds with violations\.\*\*\nViolated: 9\./)
})

test('the page says what bench/chaos.json says (write it with: npm run docs), and daemons died at every step that has a name', () => {
  const page = readFileSync(PAGE_FILE, 'utf8')
  const kept = readResults(RESULTS_FILE)
  assert.ok(page === pageWith(page, kept), 'run: npm run docs')
  const died = diedAt(Object.values(kept.rounds))
  assert.deepEqual(
    ALL_POINTS.filter(name => !died.has(name)),
    [],
    'run: npm run chaos -- --point <step>',
  )
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

test('a round is stored with the faults that hit, the faults that missed, and the violations', () => {
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
  const history = aHistory({
    faults: faults.map(({ kind, point }) => ({ kind, at: 1, hit: kind === 'crash-point', step: point?.name })),
    died: ['settle.after-commit'],
  })
  const violations = [{ invariant: 'no-orphan' as const, text: 'left' }]
  assert.deepEqual(kept({ plan: { seed: 1, sessions, faults }, history, violations, ms: 1 }), {
    rules: RULES,
    died: ['settle.after-commit'],
    deaths: 1,
    outlived_ms: 800,
    due: 1,
    sessions: 1,
    hit: ['crash-point settle.after-commit'],
    missed: ['kill-tool'],
    violations: ['no-orphan: left'],
  })
})

test('an invalid number and an unknown mistake are refused before anything is started', () => {
  const script = fileURLToPath(new URL('../../scripts/chaos.ts', import.meta.url))
  const run = (...args: string[]) => {
    const { status, stderr } = spawnSync(process.execPath, [script, ...args], { encoding: 'utf8', env: bareEnv('/') })
    return [status, stderr.trim()]
  }
  assert.deepEqual(run('--rounds', 'many'), [2, '--rounds many: it is not a whole number'])
  const nowhere = '--point nowhere: there is no such step; src/base/crash-point.ts has them'
  assert.deepEqual(run('--point', 'submit.before-commit,nowhere'), [2, nowhere])
  const [status, told] = run('--plant', 'everything')
  assert.equal(status, 2)
  assert.match(String(told), /^--plant everything: there is no such mistake; there are all, ending-told-twice, /)
})
