import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { type MemoryRecord, newRecord, recordId } from '../../../src/domain/memory.ts'
import { MemoryBroker } from '../../../src/memory/broker.ts'
import { itemIdsOf } from '../../../src/memory/learn/apply-record.ts'
import { improve } from '../../../src/supervisor/memory/improve.ts'
import { openProjectMemory } from '../../../src/supervisor/memory/project-memory.ts'
import { fact } from '../../memory/records.ts'
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
  broker.catchUp()
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
  broker.catchUp()
  const [change] = improve(broker, { now: NOW, projectOf: () => undefined })
  assert.deepEqual(change?.kind === 'policy' && [change.name, change.after > change.before, change.reason], [
    'recall.threshold',
    true,
    '0 of 60 items that were shown were of use',
  ])
  const pattern = { event_type: 'text', trigger: { kind: 'glob', text: '*' }, authority: 'person', actor: 'person' }
  const rule = tried('git-a', 'Ask Ann', 2, pattern as Partial<MemoryRecord>)
  const told = Array.from({ length: 60 }, (_, at) => ({ ...shown(at), id: recordId(`${at}`), items: itemIdsOf(rule) }))
  broker.write([rule, ...told.map(each => ({ ...each, time: NOW + 1 }) as MemoryRecord)])
  const later = improve(broker, { now: NOW + 2 * DAY_MS, projectOf: () => undefined })
  assert.deepEqual(later, [], 'only what comes later counts again, and nobody knows whether a rule was of use')
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

/** What improving changes of thresholds, after these records. */
function changed(t: TestContext, records: MemoryRecord[]) {
  using broker = new MemoryBroker(tempDir(t))
  broker.write(records)
  broker.catchUp()
  return improve(broker, { now: NOW, projectOf: () => undefined }).flatMap(record =>
    record.kind === 'policy' ? [[record.name, record.after, record.scope]] : [],
  )
}

/** Answers of a person to so many kinds of requests, one an hour: A allows, R refuses. */
function answered(kinds: number, answers: string): MemoryRecord[] {
  return Array.from({ length: kinds }, (_, kind) =>
    [...answers].map((answer, at) =>
      newRecord({
        ...{ kind: 'procedure', time: NOW - DAY_MS + at * 3_600_000, scope: 'project', of: 'dir-a' },
        ...{ actor: 'person', authority: 'person', outcome: answer === 'A' ? 'success' : 'failure' },
        ...{
          event_type: 'permission',
          action: 'allow',
          trigger: { kind: 'request', text: `Bash ${'x'.repeat(kind + 1)}` },
        },
      }),
    ),
  ).flat()
}

test('the answers of people move the bound of advice: up where experience was sure and wrong, down where it was right a step below', t => {
  assert.deepEqual(changed(t, answered(60, 'AAR')), [['advice.bound', 0.93, 'global']])
  assert.deepEqual(changed(t, answered(160, 'RAAAA')), [['advice.bound', 0.87, 'global']])
  assert.deepEqual(changed(t, answered(60, 'RAAAA')), [], 'too few to be sure')
})

test('what a lesson did in the task that saw it is no reason to have shown it, and lessons that were taken back went up too early', t => {
  const shown = Array.from({ length: 12 }, (_, lesson) => {
    const trigger = { trigger: { kind: 'failure', text: `make ${'x'.repeat(lesson + 1)}` } } as Partial<MemoryRecord>
    const first = tried('git-a', 'sh check.sh', 9, { ...trigger, outcome: 'unknown' } as Partial<MemoryRecord>)
    const tasks = Array.from({ length: 10 }, (_, at) => `t-${lesson}-${at}`)
    return [
      first,
      ...tasks.map(task => recalled(task, itemIdsOf(first))),
      ...(lesson < 5 ? tasks.map(task => tried('git-a', 'sh check.sh', 1, { ...trigger, task })) : []),
    ]
  })
  assert.deepEqual(
    changed(t, shown.flat()).filter(([name]) => name === 'recall.worth'),
    [],
  )
  const move = (item: number, to: 'global' | 'retired', day: number) =>
    newRecord({
      ...{ kind: 'move', time: NOW - day * DAY_MS, scope: 'global', of: '', actor: 'daemon', authority: 'gate' },
      ...{ item: `i-${item}`, to, reason: 'r' },
    })
  const ups = Array.from({ length: 20 }, (_, item) => move(item, 'global', 30))
  const downs = Array.from({ length: 8 }, (_, item) => move(item, 'retired', 20))
  assert.deepEqual(changed(t, [...ups, ...downs]), [['promotion.successes', 4, 'global']])
  assert.deepEqual(changed(t, ups), [], 'of twenty nobody is sure')
})

function recalled(task: string, items: string[]): MemoryRecord {
  return newRecord({
    ...{ kind: 'recall', time: NOW - 2 * DAY_MS, scope: 'project', of: 'git-a', actor: 'daemon', authority: 'gate' },
    ...{ task, arm: 'with', items },
  })
}

test('a session keeps the thresholds with which it began, and the next one has those of its role', async t => {
  const project = tempDir(t)
  using memory = openProjectMemory({ memory: tempDir(t) })
  const [of] = await memory.keysOf(project)
  memory.write([fact('The cart is tested with a server and much else besides', { of, time: Date.now() })])
  const ask = async (session: string | null, role: string | null = null) =>
    (await memory.recall({ project, text: 'test the cart now, says Ann', session, role })).length
  assert.deepEqual([await ask('s-1'), await ask('s-2', 'conductor'), await ask(null)], [1, 1, 1])
  const set = (role: string | null) =>
    memory.write([
      newRecord({
        ...{ kind: 'policy', time: Date.now(), scope: 'project', of, actor: 'person', authority: 'person', role },
        ...{ version: 1, name: 'recall.threshold', before: 0.2, after: 0.6, reason: 'r' },
      }),
    ])
  set('conductor')
  assert.deepEqual([await ask('s-2', 'conductor'), await ask('s-3', 'conductor')], [1, 0])
  assert.deepEqual([await ask('s-3'), await ask(null)], [1, 1], 'other roles have theirs')
  set(null)
  assert.deepEqual([await ask('s-1'), await ask('s-4'), await ask(null)], [1, 0, 0])
})

test('what conversations of a role were told and never used raises the threshold of that role alone', async t => {
  const project = tempDir(t)
  let now = NOW - DAY_MS
  using memory = openProjectMemory({ memory: tempDir(t) }, () => now)
  const [of] = await memory.keysOf(project)
  const lesson = tried(of, 'sh check.sh', 9)
  memory.write([lesson])
  const tell = async (role: string, session: string, isUsed: boolean) => {
    now += 1
    const items = await memory.recall({ project, text: 'make check', session, role })
    const to = { session, role, agent: 'claude' }
    await memory.noteShown(project, items, to)
    await memory.noteShown(project, [...items, ...items.map(each => ({ ...each, id: 'i-more' }))], to)
    if (isUsed) memory.write([tried(of, 'sh check.sh', 0, { session, role, time: now })])
  }
  for (let at = 0; at < 60; at += 1) {
    await tell('conductor', `o-a${at}`, false)
    await tell('musician', `o-b${at}`, at % 2 === 0)
  }
  memory.broker.catchUp()
  assert.equal(memory.broker.item(itemIdsOf(lesson)[0] ?? '', { ...READER, projects: [of] })?.uses, 120, 'once each')
  const changes = improve(memory.broker, { now: NOW, projectOf: () => undefined })
  assert.deepEqual(
    changes.map(each => each.kind === 'policy' && [each.name, each.role, each.after, each.reason]),
    [['recall.threshold', 'conductor', 0.25, '0 of 60 items that were shown were of use']],
  )
})

const READER = { agent: null, role: null, session: null, projects: [], now: NOW }
