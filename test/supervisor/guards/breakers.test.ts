import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { SessionEvent } from '../../../src/domain/session.ts'
import { type BreakerFinding, Breakers, ProgressDetector } from '../../../src/supervisor/guards/breakers.ts'
import {
  callShape,
  type FinishedCall,
  RepetitionDetector,
  resultShape,
} from '../../../src/supervisor/guards/repetition.ts'

const MOST = 6

const done = (call: string, more: Partial<FinishedCall> = {}): FinishedCall => ({
  call,
  result: 'r',
  tookMs: 10,
  changed: false,
  ...more,
})

/** The calls, counted from 1, after which the agent is told of the circle and is stopped. */
function outcome(calls: FinishedCall[], most = MOST) {
  const detector = new RepetitionDetector(most)
  const verdicts = calls.map(call => detector.record(call).verdict)
  return { told: verdicts.indexOf('tell') + 1, stopped: verdicts.indexOf('stop') + 1 }
}

test('the same call, or up to four in turn, is told of half way and stopped at the end, whatever came before', () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(1000), { maxLength: 20 }),
      fc.uniqueArray(fc.nat(1000), { minLength: 1, maxLength: 4 }),
      fc.integer({ min: 3, max: 10 }),
      (before, cycle, most) => {
        const first = before.map((each, index) => done(`before ${each} ${index}`))
        const rounds = Array.from({ length: most }, () => cycle.map(each => done(`cycle ${each}`))).flat()
        const { told, stopped } = outcome([...first, ...rounds], most)
        assert.equal(stopped, before.length + most * cycle.length)
        assert.equal(told, before.length + Math.ceil(most / 2) * cycle.length)
      },
    ),
  )
})

test('calls that are never repeated, or whose outcome differs each time, are no circle', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(3), { maxLength: 200 }), calls => {
      const moving = calls.map((each, index) => done(`call ${each}`, { result: `progress ${index}` }))
      assert.deepEqual(outcome(moving), { told: 0, stopped: 0 })
    }),
  )
})

test('a new change of a file between repeated calls begins anew: tests between edits are no circle', () => {
  const calls = Array.from({ length: 100 }, (_, index) => [
    ...Array.from({ length: Math.ceil(MOST / 2) - 1 }, () => done('npm test')),
    done(`edit ${index}`, { changed: true }),
  ]).flat()
  assert.deepEqual(outcome(calls), { told: 0, stopped: 0 })
})

test('a call that waits by itself may be repeated four times as often', () => {
  const slow = Array.from({ length: MOST * 5 }, () => done('sleep 60; check', { tookMs: 60_000 }))
  assert.deepEqual(outcome(slow), { told: MOST * 2, stopped: MOST * 4 })
})

test('so may a wait that is a call of its own, with a look after it', () => {
  const looks = Array.from({ length: MOST * 5 }, () => [done('sleep 30', { tookMs: 30_000 }), done('BashOutput')])
  assert.deepEqual(outcome(looks.flat()), { told: MOST * 2 * 2, stopped: MOST * 4 * 2 })
})

test('calls that differ only in a time, a counter, a temporary name or a random id have one shape', () => {
  const id = fc.uuid()
  const moment = fc.date({ noInvalidDate: true, min: new Date('2001-01-01'), max: new Date('2090-01-01') })
  fc.assert(
    fc.property(fc.nat(), fc.nat(), id, id, moment, moment, (n, m, one, two, then, now) => {
      const command = (count: number, uuid: string, at: Date) => ({
        command: `echo try ${count} > /tmp/tmp.${uuid.slice(0, 8)} # ${uuid} at ${at.toISOString()} or ${at.getTime()}`,
      })
      assert.equal(callShape('Bash', command(n, one, then)), callShape('Bash', command(m, two, now)))
    }),
  )
  assert.notEqual(callShape('Bash', { command: 'npm test' }), callShape('Bash', { command: 'npm run build' }))
  assert.equal(callShape('X', { a: 1, b: { c: 2, d: 3 } }), callShape('X', { b: { d: 3, c: 2 }, a: 1 }))
})

test('an outcome is the same when only times, durations and the echoed counter differ, and another when a figure moves', () => {
  const shape = (output: string, command = 'x') => resultShape(output, { command })
  assert.equal(shape('1 failed in 1.23s at 10:11:12'), shape('1 failed in 4.56s at 11:12:13'))
  assert.equal(shape('try 17', 'echo try 17'), shape('try 18', 'echo try 18'))
  assert.notEqual(shape('34 %'), shape('35 %'))
  assert.notEqual(shape('2 failed'), shape('1 failed'))
})

test('rounds that change nothing add up, those that bring nothing new and wait for nothing count as four, a change counts from zero', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ changed: fc.boolean(), fresh: fc.boolean(), waited: fc.boolean() }), { maxLength: 300 }),
      rounds => {
        const progress = new ProgressDetector(40)
        let weight = 0
        for (const [index, round] of rounds.entries()) {
          const waits = round.waited || (rounds[index - 1]?.waited ?? false)
          weight = round.changed ? 0 : weight + (round.fresh || waits ? 1 : 4)
          assert.equal(progress.round(round), weight >= 40)
        }
      },
    ),
  )
})

const SETTINGS = {
  repeatedCalls: 6,
  noProgressRounds: 1000,
  stallMs: 300_000,
  maxMemoryBytes: 2 ** 31,
  maxProcesses: 1000,
}

/** Passes rounds of one call each to the breakers, and returns what they found at which round. */
function observe(
  calls: { tool: string; input: Record<string, unknown>; output: string; ok?: boolean; tookMs?: number }[],
  more = {},
) {
  const breakers = new Breakers({ ...SETTINGS, ...more })
  const found: [number, BreakerFinding][] = []
  const told: number[] = []
  let now = 0
  const send = (event: SessionEvent, index: number) => {
    now += 100
    for (const finding of breakers.observe(event, now)) found.push([index, finding])
  }
  for (const [index, { tool, input, output, ok = true, tookMs = 0 }] of calls.entries()) {
    const counts = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0 }
    send({ kind: 'usage', ...counts, turns: index + 1 }, index + 1)
    const callId = `c-${index}`
    send({ kind: 'tool_request', callId, tool, input }, index + 1)
    const refused = breakers.verdict({ callId, tool, input, cwd: '/p' })
    if (refused) told.push(index + 1)
    now += refused ? 0 : tookMs
    send({ kind: 'tool_result', callId, ok: ok && !refused, output: refused?.reason ?? output }, index + 1)
  }
  return { found: found.map(([at, finding]) => [at, finding.guard, 'did' in finding ? finding.did : 'paused']), told }
}

test('an agent in a circle is refused once with a word to do something else, and stopped when it goes on all the same', () => {
  const calls = Array.from({ length: 6 }, (_, n) => ({
    tool: 'Bash',
    input: { command: `make try=${n}` },
    output: 'no',
  }))
  const { found, told } = observe(calls)
  assert.deepEqual(told, [4], 'the call after the third of the same is refused')
  assert.deepEqual(found, [
    [3, 'repetition', 'told'],
    [6, 'repetition', 'paused'],
  ])
})

test('tests between edits, and looking at something that moves, run on', () => {
  const edits = Array.from({ length: 60 }, (_, n) => [
    { tool: 'Edit', input: { file_path: '/p/a', new_string: `v${n}` }, output: 'ok' },
    { tool: 'Bash', input: { command: 'npm test' }, output: '1 failed' },
  ]).flat()
  assert.deepEqual(observe(edits), { found: [], told: [] })
  const polls = Array.from({ length: 15 }, (_, n) => ({
    tool: 'Bash',
    input: { command: 'cat progress' },
    output: `${n} %`,
  }))
  assert.deepEqual(observe(polls), { found: [], told: [] })
})

test('the same edit back and forth is a circle, and no progress', () => {
  const flip = (to: string) => ({ tool: 'Edit', input: { file_path: '/p/a', new_string: to }, output: 'ok' })
  const { found } = observe(Array.from({ length: 14 }, (_, n) => flip(n % 2 === 0 ? 'on' : 'off')))
  assert.deepEqual(found.at(-1), [14, 'repetition', 'paused'])
})

test('reading new things goes on for long, reading the same again and again does not', () => {
  const read = (name: string) => ({ tool: 'Read', input: { file_path: `/p/${name}` }, output: `text of ${name}` })
  const few = { noProgressRounds: 20 }
  const fresh = observe(
    Array.from({ length: 40 }, (_, n) => read(`file-${'x'.repeat(n)}`)),
    few,
  )
  assert.deepEqual(fresh.found[0], [21, 'progress', 'paused'])
  const again = observe(
    Array.from({ length: 40 }, (_, n) => read(['a', 'b', 'c', 'd', 'e'][n % 5] ?? '')),
    few,
  )
  assert.deepEqual(again.found[0], [10, 'progress', 'paused'])
})

test('waiting for something that takes its time, a look after each wait, is told of late and is no lack of progress', () => {
  const polls = Array.from({ length: 80 }, (_, n) =>
    n % 2 === 0
      ? { tool: 'Bash', input: { command: 'sleep 30' }, output: '', tookMs: 30_000 }
      : { tool: 'BashOutput', input: { bash_id: 'b1' }, output: 'still running' },
  )
  const { found, told } = observe(polls, { repeatedCalls: 8, noProgressRounds: 120 })
  assert.deepEqual(told, [33])
  assert.deepEqual(found.slice(0, 2), [
    [32, 'repetition', 'told'],
    [64, 'repetition', 'paused'],
  ])
})
