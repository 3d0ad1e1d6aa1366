import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { pruneMemory } from '../../src/daemon/retention.ts'
import { type NewRecord, newRecord } from '../../src/domain/memory.ts'
import { MemoryBroker } from '../../src/memory/broker.ts'
import { auditMemory } from '../../src/memory/examine.ts'
import { forget } from '../../src/memory/forget.ts'
import { maintain } from '../../src/memory/maintain.ts'
import { tempDir } from '../support/world.ts'
import { runChild } from './kill-rounds.ts'
import { fact, PERSON } from './records.ts'

const DAY_MS = 86_400_000
const NOW = 1_800_000_000_000

function episode(context: string, time: number) {
  const base = { kind: 'episode', time, scope: 'project', of: 'git-a', actor: 'daemon', authority: 'gate' } as const
  const what = {
    event_type: 'tool',
    tool: 'Bash',
    inputs_hash: '',
    context,
    decision: '',
    action: 'run',
    fix: null,
    rationale: '',
  }
  return newRecord({ ...base, ...what } as NewRecord)
}

test('data.episode_retention_days removes old episodes and all of old sessions, keeps facts, and changes nothing else', async t => {
  const folder = tempDir(t)
  const old = NOW - 40 * DAY_MS
  const kept = [fact('an old fact', { time: old }), episode('a new episode', NOW - DAY_MS)]
  const gone = [
    episode('an old episode', old),
    fact('of an old session', { time: old, scope: 'session', of: 's-000009' }),
  ]
  {
    using memory = new MemoryBroker(folder)
    memory.write([...kept, ...gone])
  }
  const prune = (retentionDays: number, now: number) =>
    pruneMemory({ paths: { memory: folder }, retentionDays, now, signal: new AbortController().signal })
  assert.equal(await prune(90, NOW), 0)
  assert.equal(await prune(30, NOW + 1_000), 0, 'once a day is enough')
  assert.equal(await prune(30, NOW + DAY_MS), 2)
  using memory = new MemoryBroker(folder)
  const texts = () =>
    memory
      .find({ reader: PERSON })
      .map(({ item }) => item.text.split('\n')[0])
      .sort()
  const before = texts()
  assert.equal(before.length, 2)
  assert.deepEqual(memory.record(kept[1]?.id ?? '', PERSON), kept[1], 'a record is found where it is now')
  memory.rebuild()
  memory.catchUp()
  assert.deepEqual(texts(), before, 'what follows from the log is the same')
  assert.deepEqual(memory.write(kept).known.length, 2)
})

test('whatever was written, forgotten and expired, each record that is left is found and no other', t => {
  const kind = fc.constantFrom('episode', 'fact', 'of a session')
  const written = fc.array(fc.record({ kind, age: fc.integer({ min: 1, max: 60 }) }), { maxLength: 60 })
  const rounds = fc.array(fc.record({ written, days: fc.integer({ min: 5, max: 55 }), forgets: fc.nat(3) }), {
    ...{ minLength: 1, maxLength: 4 },
  })
  fc.assert(
    fc.property(rounds, given => {
      using memory = new MemoryBroker(tempDir(t), { rotateBytes: 8_000 })
      const left = new Map<string, number>()
      const known: string[] = []
      given.forEach(({ written, days, forgets }, round) => {
        const now = NOW + round * DAY_MS
        const records = written.map(({ kind, age }, at) => {
          const time = now - age * DAY_MS
          const text = `record ${round} ${at}`
          if (kind === 'episode') return episode(text, time)
          return fact(text, { time, ...(kind !== 'fact' && { scope: 'session', of: 's-000009' }) })
        })
        memory.write([...records, episode(`newest ${round}`, now)])
        for (const { id, kind, time, scope } of records) {
          known.push(id)
          left.set(id, kind === 'episode' || scope === 'session' ? time : Number.POSITIVE_INFINITY)
        }
        for (const id of [...left.keys()].slice(0, forgets)) {
          forget(memory, [id])
          left.delete(id)
        }
        while (!maintain(memory, { now, retentionDays: days }).isDone);
        for (const [id, time] of left) if (time < now - days * DAY_MS) left.delete(id)
      })
      const found = () => known.filter(id => memory.record(id, PERSON) !== undefined)
      assert.deepEqual(found(), [...left.keys()])
      const items = () => memory.find({ reader: PERSON, limit: 1_000 }).map(({ item }) => item.id)
      const before = items().sort()
      memory.rebuild()
      memory.catchUp()
      assert.deepEqual(found(), [...left.keys()])
      assert.deepEqual(items().sort(), before)
    }),
    { numRuns: 20 },
  )
})

test('a clock that is years ahead removes nothing', t => {
  using memory = new MemoryBroker(tempDir(t))
  memory.write([episode('an episode', NOW)])
  assert.equal(maintain(memory, { now: NOW + 1_000 * DAY_MS, retentionDays: 30 }).removed, 0)
  assert.equal(memory.find({ reader: PERSON }).length, 1)
})

test('a round that a wrong clock has put into the future does not keep the next one waiting', t => {
  using memory = new MemoryBroker(tempDir(t))
  const isWritten = () => Number(memory.inspect(({ file }) => file.readMeta('maintained_at')))
  maintain(memory, { now: NOW + 500 * DAY_MS, retentionDays: 30, withinMs: 10_000 })
  assert.equal(isWritten(), NOW + 500 * DAY_MS)
  maintain(memory, { now: NOW, retentionDays: 30, withinMs: 10_000 })
  assert.equal(isWritten(), NOW)
})

test('upkeep goes on where it was, one process at a time, and items grow cold', t => {
  using memory = new MemoryBroker(tempDir(t))
  memory.write(
    Array.from({ length: 120 }, (_, at) =>
      fact(`rule number ${at}`, { time: NOW, authority: 'agent', actor: 'agent' }),
    ),
  )
  memory.catchUp()
  const later = NOW + 400 * DAY_MS
  const first = maintain(memory, { now: later, retentionDays: 900, withinMs: 0.01 })
  assert.deepEqual([first.isDone, first.recalibrated], [false, 0])
  memory.exclusive(({ file }) => file.writeMeta('lease', JSON.stringify({ until: later + 1_000 })))
  assert.deepEqual(maintain(memory, { now: later, retentionDays: 900 }), { isDone: true, removed: 0, recalibrated: 0 })
  let count = 0
  for (let isDone = false; !isDone; ) {
    const slice = maintain(memory, { now: later + 2_000, retentionDays: 900, withinMs: 1 })
    count += slice.recalibrated
    isDone = slice.isDone
  }
  assert.equal(count, 120)
  const day = maintain(memory, { now: later + 2 * DAY_MS, retentionDays: 900, withinMs: 60_000 })
  assert.deepEqual([day.isDone, day.recalibrated], [true, 0], 'a day alone changes nothing that is worth writing')
  assert.ok(memory.find({ reader: PERSON, limit: 200 }).every(({ item }) => item.tier === 'cold'))
})

test('a process that is killed while it removes what expired leaves a log from which everything follows', t => {
  const folder = tempDir(t)
  {
    using memory = new MemoryBroker(folder)
    memory.write([episode('an old episode', NOW - 900 * DAY_MS), fact('a rule that stays')])
  }
  assert.equal(runChild(folder, ['expire'], { PCC_CRASH_AT: 'memory.after-rewrite' }).signal, 'SIGKILL')
  using memory = new MemoryBroker(folder)
  const { records, items, damaged } = auditMemory(memory)
  assert.deepEqual({ records, items, damaged }, { records: 2, items: 2, damaged: [] })
})
