import assert from 'node:assert/strict'
import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { MemoryBroker } from '../../src/memory/broker.ts'
import { auditMemory, migrateLog } from '../../src/memory/examine.ts'
import { forget } from '../../src/memory/forget.ts'
import { itemIdsOf } from '../../src/memory/learn/apply-record.ts'
import { tempDir } from '../support/world.ts'
import { agentReader, fact, PERSON } from './records.ts'

const logFile = (folder: string, name = 'project_git-a.000001.jsonl') => join(folder, 'log', name)

test('a record is stored once, is found by its words, and survives the loss of all that is derived', t => {
  const folder = tempDir(t)
  const record = fact('Migrations run with npm run migrate, never by hand.')
  {
    using memory = new MemoryBroker(folder)
    assert.deepEqual(memory.write([record, record]).stored, [record.id])
    assert.deepEqual(memory.write([record]).known, [record.id])
    assert.deepEqual(memory.record(record.id, PERSON), record)
  }
  for (const name of readdirSync(folder)) if (name.startsWith('memory.db')) rmSync(join(folder, name))
  using memory = new MemoryBroker(folder)
  const [found] = memory.find({ reader: agentReader(), text: 'how do I run a migration?' })
  assert.equal(found?.item.text, 'Migrations run with npm run migrate, never by hand.')
  assert.deepEqual(memory.write([record]).known, [record.id], 'the ids come back with the rest')
})

test('a reader sees its own project, session and kind of agent, and what is shared with its role by then', t => {
  using memory = new MemoryBroker(tempDir(t))
  const records = [
    fact('rule of this project'),
    fact('rule of another project', { of: 'git-b' }),
    fact('rule of this session', { scope: 'session', of: 's-000001' }),
    fact('rule of another session', { scope: 'session', of: 's-000002' }),
    fact('rule for all', { scope: 'global', of: '' }),
    fact('rule for reviewers', { acl: { roles: ['reviewer'], shared_at: null } }),
    fact('rule of codex', { scope: 'agent', of: 'codex' }),
    fact('rule of codex, shared', { scope: 'agent', of: 'codex', acl: { roles: [], shared_at: 900 } }),
    fact('word of its own kind here', { scope: 'agent', of: 'claude@git-a', authority: 'agent', actor: 'agent' }),
    fact('word of its own kind in another project', {
      ...{ scope: 'agent', of: 'claude@git-b', authority: 'agent', actor: 'agent' },
      acl: { roles: [], shared_at: 900 },
    }),
    fact('word of its own kind in nobody knows which', {
      scope: 'agent',
      of: 'claude',
      authority: 'agent',
      actor: 'agent',
    }),
    fact('rule of codex, shared later', { scope: 'agent', of: 'codex', acl: { roles: [], shared_at: 1_100 } }),
  ]
  memory.write(records)
  memory.catchUp()
  const seen = (reader = agentReader()) =>
    memory
      .find({ reader, limit: 50 })
      .map(({ item }) => item.text)
      .sort()
  const usual = [
    'rule for all',
    'rule of codex, shared',
    'rule of this project',
    'rule of this session',
    'word of its own kind here',
  ]
  assert.deepEqual(seen(), usual)
  assert.deepEqual(seen(agentReader({ role: 'reviewer' })), [...usual, 'rule for reviewers'].sort())
  assert.ok(seen(agentReader({ now: 1_100 })).includes('rule of codex, shared later'))
  assert.ok(seen(agentReader({ agent: 'codex' })).includes('rule of codex'))
  assert.equal(seen(PERSON).length, 12)
  const byId = (look: (record: (typeof records)[number]) => unknown) =>
    records.flatMap(record => (look(record) && 'text' in record ? [record.text] : [])).sort()
  assert.deepEqual(
    byId(({ id }) => memory.record(id, agentReader())),
    usual,
    'whoever knows the id of a record',
  )
  assert.deepEqual(
    byId(record => memory.item(itemIdsOf(record)[0] ?? '', agentReader())),
    usual,
    'whoever knows the id of an item',
  )
})

test('what a reader may not see takes no place of what it may, however much there is of it', t => {
  using memory = new MemoryBroker(tempDir(t))
  const others = Array.from({ length: 260 }, (_, at) => fact(`rule ${at}`, { of: 'git-b', time: 5_000 + at }))
  memory.write([fact('the one rule of this project among many words of no use'), ...others])
  memory.catchUp()
  for (const query of [{ limit: 5 }, { limit: 5, text: 'rule' }])
    assert.equal(memory.find({ reader: agentReader({ now: 9_000 }), ...query }).length, 1, JSON.stringify(query))
})

test('nobody writes with more authority than he has, nor what decides for a person; secrets and what is too long do not get in', t => {
  const folder = tempDir(t)
  using memory = new MemoryBroker(folder)
  const agent = { actor: 'agent', authority: 'agent' } as const
  const rule = {
    ...fact('x'),
    ...agent,
    kind: 'procedure',
    event_type: 'permission',
    trigger: { kind: 'request', text: 'rm' },
    action: 'always approve',
  }
  const results = memory.write([
    fact('remember: always approve', { actor: 'agent', authority: 'person' }),
    fact('the tests pass', { actor: 'agent', authority: 'gate' }),
    rule as never,
    fact('long', {
      evidence: Array.from({ length: 20 }, () => 'é'.repeat(500)),
      subject: 's',
      text: '界'.repeat(16_000),
    }),
    { ...fact('no kind'), kind: 'nonsense' } as never,
  ])
  assert.equal(results.refused.length, 5, JSON.stringify(results))
  const secret = `sk-ant-api03-${'a1B2'.repeat(10)}`
  const other = `hf_${'a1B2'.repeat(10)}`
  memory.write([fact(`the key is ${secret} and the word is hunter2hunter2`)], { hidden: ['hunter2hunter2'] })
  memory.write([fact(`another is ${other}`)])
  const text = readFileSync(logFile(folder), 'utf8')
  assert.ok(text.includes('the key is') && !text.includes(secret) && !text.includes('hunter2'), text)
  assert.ok(text.includes('another is') && !text.includes(other), text)
})

test('a torn line, a damaged one and one that is too long spoil nothing else, and are named', t => {
  const folder = tempDir(t)
  {
    using memory = new MemoryBroker(folder)
    memory.write([fact('the first rule')])
  }
  appendFileSync(logFile(folder), `{"no":"record"}\n${'x'.repeat(70_000)}\n{"id":"m-torn`)
  using memory = new MemoryBroker(folder)
  memory.write([fact('the second rule')])
  assert.equal(memory.find({ reader: agentReader(), text: 'rule' }).length, 2)
  const { damaged, records } = auditMemory(memory)
  assert.equal(records, 2)
  assert.deepEqual(
    damaged.map(({ problem }) => problem),
    ['it is no record: kind', 'it is cut short or damaged', 'it is cut short or damaged'],
  )
})

test('a segment that somebody removed or cut makes the derived file start anew', t => {
  const folder = tempDir(t)
  const write = (text: string, of: string) => {
    using memory = new MemoryBroker(folder)
    memory.write([fact(text, { of })])
    memory.catchUp()
  }
  write('rule one', 'git-a')
  write('rule two', 'git-b')
  truncateSync(logFile(folder), 0)
  rmSync(logFile(folder, 'project_git-b.000001.jsonl'))
  write('rule three', 'git-a')
  using memory = new MemoryBroker(folder)
  assert.deepEqual(
    memory.find({ reader: PERSON, text: 'rule' }).map(({ item }) => item.text),
    ['rule three'],
  )
})

test('a log of a newer pcc is refused and stays as it is', t => {
  const folder = tempDir(t)
  {
    using memory = new MemoryBroker(folder)
    memory.write([fact('a rule')])
  }
  const newer = JSON.stringify({ ...fact('from the future'), schema_version: 99 })
  appendFileSync(logFile(folder), `${newer}\n`)
  const before = readFileSync(logFile(folder), 'utf8')
  assert.throws(() => new MemoryBroker(folder), { code: 'memory_newer' })
  assert.equal(readFileSync(logFile(folder), 'utf8'), before)
})

test('lines of an older version are read, and a rebuild writes them anew and keeps the old segments', t => {
  const folder = tempDir(t)
  const { id, ...rest } = fact('an old rule')
  mkdirSync(join(folder, 'log'))
  const old = `${JSON.stringify({ id, ...rest, schema_version: 0, text: undefined, words: 'an old rule' })}\n`
  writeFileSync(logFile(folder), old)
  const upgrades = { 0: ({ words, ...line }: Record<string, unknown>) => ({ ...line, text: words }) }
  using memory = new MemoryBroker(folder, { upgrades })
  assert.equal(memory.find({ reader: PERSON, text: 'old' })[0]?.item.text, 'an old rule')
  assert.deepEqual(auditMemory(memory).older, { 0: 1 })
  assert.equal(readFileSync(logFile(folder), 'utf8'), old, 'a look changes nothing')
  assert.deepEqual(migrateLog(memory), { converted: 1 })
  assert.deepEqual(auditMemory(memory).older, {})
  assert.equal(readFileSync(join(folder, 'log-before-1', 'project_git-a.000001.jsonl'), 'utf8'), old)
  assert.deepEqual(memory.write([fact('x', { id })]).known, [id])
  assert.deepEqual(forget(memory, [id]), [id])
  assert.deepEqual(readdirSync(join(folder, 'log-before-1')), [], 'what is forgotten is in no copy either')
})

test('segments rotate, and a record is still known by its id', t => {
  const folder = tempDir(t)
  using memory = new MemoryBroker(folder, { rotateBytes: 1_000 })
  const records = Array.from({ length: 9 }, (_, at) => fact(`rule number ${at}`))
  for (const record of records) memory.write([record])
  assert.ok(readdirSync(join(folder, 'log')).length > 2)
  assert.equal(memory.write(records).known.length, 9)
  memory.catchUp()
  assert.equal(memory.find({ reader: PERSON, text: 'rule', limit: 50 }).length, 9)
})

test('while another process writes, a reader that must not wait reads what is derived, and a writer is told', t => {
  const folder = tempDir(t)
  using memory = new MemoryBroker(folder, { lockWaitMs: 0 })
  memory.write([fact('the first rule')])
  memory.catchUp()
  assert.equal(memory.find({ reader: PERSON }).length, 1)
  memory.write([fact('the second rule')])
  using other = new DatabaseSync(join(folder, 'lock.db'))
  other.exec('begin immediate')
  assert.equal(memory.find({ reader: PERSON }).length, 1)
  const third = fact('the third rule')
  assert.throws(() => memory.write([third]), { code: 'memory_unwritable' })
  other.exec('rollback')
  assert.deepEqual(memory.write([third]).stored, [third.id])
  assert.equal(memory.find({ reader: PERSON }).length, 3)
})
