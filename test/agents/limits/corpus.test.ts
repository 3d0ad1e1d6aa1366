import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Failure, SessionEvent } from '../../../src/domain/session.ts'
import { tempDir } from '../../support/world.ts'
import { allowing } from '../conformance/world.ts'
import { replayDriver } from '../replay.ts'
import { LIMIT_CASES, LOOK_ALIKE_CASES, OTHER_CASES } from './corpus-cases.ts'

// Conversations of the real Claude Code, recorded by make-corpus.ts, through the driver's own code.

const RESET = Date.parse('2030-01-01T00:00:00Z')
const MINUTE_MS = 60_000

/** The expected result of each recorded limit: the window, when it resets, and which record says so. */
const LIMITS: Record<string, { window?: string; resetsAt?: number | 'recorded'; source: string }> = {
  'subscription: five hours': { window: 'five_hour', resetsAt: RESET, source: 'event' },
  'subscription: seven days': { window: 'seven_day', resetsAt: RESET, source: 'event' },
  'subscription: a window of one model': { window: 'seven_day_opus', resetsAt: RESET, source: 'event' },
  'subscription: after a tool': { window: 'five_hour', resetsAt: RESET, source: 'event' },
  'subscription: in a subagent': { window: 'five_hour', resetsAt: RESET, source: 'event' },
  'subscription: a reset in the past': {
    window: 'five_hour',
    resetsAt: Date.parse('2026-01-01T00:00:00Z'),
    source: 'event',
  },
  'subscription: in thirty days': { window: 'five_hour', resetsAt: 'recorded', source: 'event' },
  'subscription: in two hours, in Berlin': { window: 'five_hour', resetsAt: 'recorded', source: 'event' },
  'subscription: in two hours, in Kathmandu': { window: 'five_hour', resetsAt: 'recorded', source: 'event' },
  'subscription: a claim without a reset': { window: 'five_hour', source: 'event' },
  'subscription: a claim that is not rejected': { window: 'five_hour', resetsAt: RESET, source: 'event' },
  'subscription: out of credits': { window: 'overage', resetsAt: RESET, source: 'event' },
  'subscription: retry after 61 s': { source: 'event' },
  'subscription: refused again and again': { source: 'event' },
  'key: retry after 61 s': { source: 'result' },
  'key: refused again and again': { source: 'result' },
  'key: the headers of a subscription': { source: 'result' },
}

const limits = recorded('limits')
test('the corpus holds every kind of limit that the vendor tells', () => {
  assert.deepEqual([...limits.keys()], Object.keys(LIMITS))
  assert.deepEqual(
    [...limits.keys()],
    LIMIT_CASES.map(one => one.name),
  )
})

for (const [name, lines] of limits) {
  test(`no limit is missed: ${name}`, async t => {
    const failure = failureOf(await played(t, lines))
    const { resetsAt, ...expected } = LIMITS[name] ?? assert.fail(name)
    assert.equal(failure?.kind, 'limit')
    assert.ok(failure?.limit)
    const { message, resetsAt: told, ...found } = failure.limit
    assert.deepEqual(found, expected)
    assert.equal(told, resetsAt === 'recorded' ? resetIn(lines) : resetsAt)
    assert.equal(message, failure.message)
    assert.ok(message.length > 10)
  })
}

for (const [name, lines] of limits) {
  const resetsAt = resetIn(lines)
  if (resetsAt === undefined || name.includes('past')) continue
  test(`the vendor's message alone says the same to the minute: ${name}`, async t => {
    const limit = failureOf(await played(t, messageOnly(lines)))?.limit
    assert.equal(limit?.source, 'message')
    const off = resetsAt - (limit?.resetsAt ?? 0)
    assert.ok(off >= 0 && off < MINUTE_MS, `${off} ms off`)
  })
}

const others = recorded('others')
for (const { name, failure } of OTHER_CASES) {
  test(`no limit is imagined: ${name}`, async t => {
    const events = await played(t, others.get(name) ?? assert.fail('it is not recorded'))
    assert.equal(failureOf(events)?.kind, failure)
    assert.equal(failureOf(events)?.limit, undefined)
  })
}

const lookAlikes = recorded('look-alikes')
test('the corpus holds at least sixty look-alikes', () => {
  assert.ok(lookAlikes.size >= 60)
  assert.deepEqual(
    [...lookAlikes.keys()],
    LOOK_ALIKE_CASES.map(one => one.name),
  )
})

for (const [name, lines] of lookAlikes) {
  test(`no limit is imagined where somebody else speaks of one (${name})`, async t => {
    const events = await played(t, lines)
    const ended = events.filter(event => event.kind === 'turn_ended')
    assert.deepEqual(
      ended.map(event => [event.outcome, event.failure]),
      [['completed', undefined]],
    )
    assert.deepEqual(
      events.filter(event => event.kind === 'retry' || (event.kind === 'limit' && event.status !== 'allowed')),
      [],
    )
  })
}

test('a try that was refused says that it was a limit, and the turn goes on', async t => {
  const events = await played(t, others.get('refused once, then an answer') ?? [])
  const retries = events.filter(event => event.kind === 'retry')
  assert.deepEqual(
    retries.map(({ failure }) => [failure.kind, failure.status, failure.limit?.source]),
    [['limit', 429, 'retry']],
  )
})

/** The conversations of a file by name. */
function recorded(file: string): Map<string, string[]> {
  const found = new Map<string, string[]>()
  let lines: string[] = []
  for (const line of readFileSync(fileURLToPath(new URL(`${file}.jsonl`, import.meta.url)), 'utf8')
    .trim()
    .split('\n')) {
    const { pcc, name } = JSON.parse(line)
    if (pcc === 'open') {
      lines = []
      found.set(name, lines)
    }
    lines.push(line)
  }
  return found
}

async function played(t: TestContext, lines: string[]): Promise<SessionEvent[]> {
  const file = join(tempDir(t), 'one.jsonl')
  writeFileSync(file, `${lines.join('\n')}\n`)
  const asks = allowing()
  const driver = replayDriver(file)
  const options = {
    id: 's-1',
    cwd: '/proj',
    env: {},
    settingSources: [],
    isolation: 'auto' as const,
    asks,
    prompt: 'go',
  }
  const session = await driver.open(options)
  const events: SessionEvent[] = []
  for await (const event of session.events) {
    events.push(event)
    if (event.kind === 'turn_ended') await session[Symbol.asyncDispose]()
  }
  return events
}

function failureOf(events: SessionEvent[]): Failure | undefined {
  const ended = events.find(event => event.kind === 'turn_ended')
  return ended?.kind === 'turn_ended' ? ended.failure : assert.fail('no turn ended')
}

/** The reset of the recorded event. */
function resetIn(lines: string[]): number | undefined {
  const infos = lines.map(line => JSON.parse(line).rate_limit_info)
  const seconds = infos.find(info => info?.status === 'rejected')?.resetsAt
  return seconds === undefined ? undefined : seconds * 1000
}

/** The conversation as a version of the vendor's program without rate limit events would report it. */
function messageOnly(lines: string[]): string[] {
  return lines.flatMap(line => {
    const { api_error_params: _, ...message } = JSON.parse(line)
    return message.type === 'rate_limit_event' ? [] : [JSON.stringify(message)]
  })
}
