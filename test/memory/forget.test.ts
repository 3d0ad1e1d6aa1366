import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type MemoryItem, type MemoryRecord, type NewRecord, newRecord } from '../../src/domain/memory.ts'
import { MemoryBroker } from '../../src/memory/broker.ts'
import { auditMemory } from '../../src/memory/examine.ts'
import { erase, forget, recordsBehind } from '../../src/memory/forget.ts'
import { itemIdsOf } from '../../src/memory/learn/apply-record.ts'
import { maintain } from '../../src/memory/maintain.ts'
import { tempDir } from '../support/world.ts'
import { bytesBelow } from './kill-rounds.ts'
import { makeRandom } from './learn/stream.ts'
import { fact, PERSON } from './records.ts'

const BY_GATE = { actor: 'daemon', authority: 'gate', outcome: 'success' } as const

function procedure(trigger: string, time: number, fields: Partial<NewRecord> = {}): MemoryRecord {
  return newRecord({
    ...{ ...BY_GATE, kind: 'procedure', time, scope: 'project', of: 'git-a', event_type: 'command' },
    ...{ trigger: { kind: 'failure', text: trigger }, action: `not ${trigger}`, ...fields },
  } as NewRecord)
}

function moveToAll(item: string, time: number): MemoryRecord {
  return newRecord({ ...BY_GATE, kind: 'move', time, scope: 'global', of: '', item, to: 'global', reason: 'it worked' })
}

function allItems(memory: MemoryBroker): MemoryItem[] {
  const items = memory.find({ reader: PERSON, withEnded: true, limit: 200 }).map(({ item }) => item)
  return items
    .map(item => ({ ...item, records: item.records.toSorted(), evidence: item.evidence.toSorted() }))
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
}

test('a lesson that went up to all projects is there after a rebuild, and so is how often it was shown', t => {
  using memory = new MemoryBroker(tempDir(t))
  const lesson = procedure('npm test', 1_000)
  const [item = ''] = itemIdsOf(lesson)
  const shown = newRecord({
    ...{ ...BY_GATE, kind: 'recall', time: 1_500, scope: 'global', of: '', arm: 'with', items: [item] },
  } as NewRecord)
  for (const record of [lesson, shown, moveToAll(item, 2_000), procedure('npm test', 3_000)]) memory.write([record])
  memory.catchUp()
  const before = allItems(memory)
  assert.deepEqual(
    before.map(({ scope, uses, successes }) => [scope, uses, successes]),
    [['global', 1, 2]],
  )
  memory.rebuild()
  memory.catchUp()
  assert.deepEqual(allItems(memory), before)
})

test('after records are forgotten, what is left is what would be derived without them, and their words are gone', t => {
  for (const seed of [1, 2]) {
    const folder = tempDir(t)
    const random = makeRandom(seed)
    const pick = <T>(all: readonly T[]) => all[Math.floor(random() * all.length)] as T
    using memory = new MemoryBroker(folder, { rotateBytes: 8_000 })
    const records: MemoryRecord[] = []
    for (let at = 0; at < 90; at += 1) {
      const time = 1_000 + at
      const secret = `zq${seed}${String.fromCharCode(97 + (at % 26))}${at}q`
      const subject = pick(['indent', 'tests', 'names'])
      const authority = pick(['person', 'agent'] as const)
      const told = fact(`${subject} ${pick(['one', 'two'])} ${secret}`, { time, subject, authority, actor: authority })
      const episode = newRecord({
        ...{ ...BY_GATE, kind: 'episode', time, scope: 'project', of: 'git-a', session: pick(['s-1', 's-2']) },
        ...{ event_type: 'command', tool: null, inputs_hash: '', context: secret, decision: '', action: 'x' },
        ...{ fix: null, rationale: '' },
      } as NewRecord)
      const outcome = pick(['success', 'failure'] as const)
      const lesson = procedure('npm test', time, { outcome, evidence: [`event:${secret}`] })
      records.push(pick([told, episode, lesson]))
      if (at % 30 === 29) records.push(moveToAll(pick(records.flatMap(itemIdsOf)), time))
    }
    for (const record of records) memory.write([record])
    memory.catchUp()
    const gone = records.filter(() => random() < 0.3)
    for (const { id } of gone.slice(0, 3)) assert.deepEqual(forget(memory, [id]), [id])
    const rest = gone.slice(3).map(({ id }) => id)
    assert.deepEqual(forget(memory, rest), rest)
    const left = allItems(memory)
    while (!erase(memory, { withinMs: 1 }));
    const bytes = bytesBelow(folder)
    for (const secret of gone.flatMap(record => /zq\w+q/.exec(JSON.stringify(record)) ?? []))
      assert.ok(!bytes.includes(secret), secret)
    assert.deepEqual(auditMemory(memory).damaged, [])
    memory.rebuild()
    memory.catchUp()
    assert.deepEqual(left, allItems(memory), `seed ${seed}`)
  }
})

test('an item of many records is forgotten with all of them', t => {
  const folder = tempDir(t)
  using memory = new MemoryBroker(folder)
  const records = Array.from({ length: 45 }, (_, at) => procedure('zyxwv', 1_000 + at))
  memory.write(records)
  memory.catchUp()
  const [item = ''] = itemIdsOf(records[0] as MemoryRecord)
  const behind = recordsBehind(memory, item, PERSON).map(({ id }) => id)
  assert.equal(new Set(behind).size, 45)
  assert.equal(forget(memory, behind).length, 45)
  assert.equal(memory.item(item, PERSON), undefined)
  // The upkeep erases the rest, whoever forgot it.
  maintain(memory, { now: 10_000, retentionDays: 90, withinMs: 10_000 })
  assert.ok(!bytesBelow(folder).includes('zyxwv'))
})

test('forgetting one record reads and writes little of a long log', t => {
  const folder = tempDir(t)
  using memory = new MemoryBroker(folder)
  const told = fact('the one to forget')
  memory.write([told, ...Array.from({ length: 2_000 }, (_, at) => fact(`rule number ${at} of many`))])
  memory.catchUp()
  const sum = () => memory.inspect(({ file }) => file.row<{ n: number }>('select total_changes() as n')?.n ?? 0)
  const before = sum()
  forget(memory, [told.id])
  assert.ok(sum() - before < 60, `${sum() - before} rows were written`)
})
