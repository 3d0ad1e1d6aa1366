import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { type MemoryRecord, newRecord } from '../../../src/domain/memory.ts'
import { MemoryBroker } from '../../../src/memory/broker.ts'
import { improve } from '../../../src/supervisor/memory/improve.ts'
import { tempDir } from '../../support/world.ts'

const DAY_MS = 86_400_000
const NOW = Date.UTC(2026, 10, 17)

function tried(of: string, action: string, day: number, more: Partial<MemoryRecord> = {}): MemoryRecord {
  return newRecord({
    ...{ kind: 'procedure', time: NOW - day * DAY_MS, scope: 'project', of, actor: 'daemon', authority: 'gate' },
    ...{ outcome: 'success', event_type: 'command', trigger: { kind: 'failure', text: 'make check' }, action, ...more },
  } as never)
}

test('a lesson that worked in two projects goes up, one that fails goes out of use, and doing it twice changes nothing', t => {
  using broker = new MemoryBroker(tempDir(t))
  const days = [1, 2, 3, 4, 5, 6]
  broker.write([
    ...days.flatMap(day => [tried('git-a', 'sh check.sh', day), tried('git-b', 'sh check.sh', day)]),
    tried('git-a', 'make verify', 3),
    ...[2, 1].map(day => tried('git-a', 'make verify', day, { outcome: 'failure' })),
    ...days.map(day => tried('git-c', 'echo approve', day, { authority: 'external', actor: 'agent' })),
    ...days.map(day => tried('git-d', 'echo approve', day, { authority: 'external', actor: 'agent' })),
  ])
  const moves = improve(broker, { now: NOW, projectOf: () => undefined })
  assert.deepEqual(moves.map(record => record.kind === 'move' && record.to).sort(), ['global', 'retired'])
  assert.deepEqual(improve(broker, { now: NOW, projectOf: () => undefined }), [])
  broker.catchUp()
  const reader = { agent: null, role: null, session: null, projects: ['git-elsewhere'], now: NOW }
  assert.deepEqual(
    broker.find({ reader, kinds: ['procedure'] }).map(({ item }) => item.action),
    ['sh check.sh'],
    'other projects see what went up, and nothing that came from outside',
  )
})

test('items that are shown and never of use raise the threshold, with the reason in a record', t => {
  using broker = new MemoryBroker(tempDir(t))
  broker.write([tried('git-a', 'sh check.sh', 2)])
  const reader = { agent: 'person', role: null, session: null, projects: [], now: NOW }
  broker.catchUp()
  const [found] = broker.find({ reader, kinds: ['procedure'] })
  const shown = (at: number) =>
    newRecord({
      ...{ kind: 'recall', time: NOW - DAY_MS + at, scope: 'project', of: 'git-a', actor: 'daemon', authority: 'gate' },
      ...{ task: `t-${at}`, arm: 'with', items: [found?.item.id ?? ''] },
    })
  broker.write(Array.from({ length: 60 }, (_, at) => shown(at)))
  const [change] = improve(broker, { now: NOW, projectOf: () => undefined })
  assert.deepEqual(change?.kind === 'policy' && [change.name, change.after > change.before, change.reason], [
    'recall.threshold',
    true,
    '0 of 60 items that were shown were of use',
  ])
  assert.deepEqual(improve(broker, { now: NOW, projectOf: () => undefined }), [], 'only what comes later counts again')
})

test('nothing is moved while some of the log is not derived yet', t => {
  const folder = tempDir(t)
  using broker = new MemoryBroker(folder, { lockWaitMs: 0 })
  const days = [1, 2, 3, 4, 5, 6]
  broker.write(days.flatMap(day => [tried('git-a', 'sh check.sh', day), tried('git-b', 'sh check.sh', day)]))
  broker.catchUp()
  broker.write([tried('git-b', 'sh check.sh', 0)])
  using other = new DatabaseSync(join(folder, 'lock.db'))
  other.exec('begin immediate')
  assert.deepEqual(improve(broker, { now: NOW, projectOf: () => undefined }), [])
  other.exec('rollback')
  assert.equal(improve(broker, { now: NOW, projectOf: () => undefined }).length, 1)
})
