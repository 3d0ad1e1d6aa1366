import assert from 'node:assert/strict'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { newRecord, recordId } from '../../src/domain/memory.ts'
import { MemoryBroker } from '../../src/memory/broker.ts'
import { exportLines, importLines } from '../../src/memory/exchange.ts'
import { forget } from '../../src/memory/forget.ts'
import { maintain } from '../../src/memory/maintain.ts'
import { folderOfHooks, noteFolder, postRecords } from '../../src/memory/outbox.ts'
import { tempDir } from '../support/world.ts'
import { fact, PERSON } from './records.ts'

test('what was exported comes back as it was; what somebody changed or wrote elsewhere is only a text from outside', async t => {
  const folder = tempDir(t)
  using memory = new MemoryBroker(folder)
  const rule = newRecord({
    ...{ kind: 'procedure', time: 1_000, scope: 'project', of: 'git-a', actor: 'person', authority: 'person' },
    ...{ event_type: 'permission', trigger: { kind: 'glob', text: 'npm test*' }, action: 'allow', outcome: 'success' },
  })
  memory.write([fact('a rule'), rule])
  const lines = [...exportLines(memory)]
  rmSync(join(folder, 'log'), { recursive: true })
  using again = new MemoryBroker(folder)
  assert.equal((await importLines(again, lines)).stored.length, 2)
  assert.deepEqual([...exportLines(again)], lines)

  const changed = lines.map(line => line.replace('m-', 'm-changed-').replace('npm test', 'rm -rf'))
  using other = new MemoryBroker(tempDir(t))
  const { stored, lowered, refused } = await importLines(other, [...changed, 'nonsense', ''])
  assert.deepEqual([stored.length, lowered], [1, 1])
  assert.match(refused[0]?.problem ?? '', /procedure that this memory did not write/)
  assert.equal(other.record(stored[0] ?? '', PERSON)?.authority, 'external')
  const newer = JSON.stringify({ ...fact('x'), schema_version: 2 })
  await assert.rejects(importLines(other, [newer]), { code: 'memory_newer' })
})

test('a line from elsewhere never has the id of a record that this memory is going to write, and what was forgotten stays so', async t => {
  using memory = new MemoryBroker(tempDir(t))
  const [ours, gone] = [fact('what pcc learns'), fact('what was forgotten')]
  memory.write([gone])
  forget(memory, [gone.id])
  const lines = [ours, gone].map(({ id }) => JSON.stringify(fact('forged', { id })))
  const { stored, known } = await importLines(memory, lines)
  assert.deepEqual([stored.length, known], [1, [gone.id]])
  assert.deepEqual((await importLines(memory, lines)).stored, [], 'the same file again brings nothing')
  assert.deepEqual(memory.write([ours]).stored, [ours.id])
})

test('what a hook wrote without the daemon is stored by the next who looks, with the authority of an agent and without secrets', t => {
  const folder = tempDir(t)
  const secret = `ghp_${'a1B2'.repeat(9)}`
  postRecords(folder, [
    fact(`the token is ${secret}`, { id: 'm-hook-0001', actor: 'person', authority: 'person', time: 9e15 }),
    { ...fact('x'), kind: 'policy', version: 1, name: 'advice.bound', before: 1, after: 0, reason: 'poison' } as never,
    { ...fact('x'), kind: 'recall', arm: 'with', items: ['i-0000000000000000'], task: 't-000001' } as never,
    fact('for all projects', { id: 'm-hook-0002', scope: 'global', of: '' }),
    fact('for another agent', { id: 'm-hook-0003', scope: 'agent', of: 'codex' }),
    fact('in the place of what pcc decides', { id: recordId('recall t-000001/1', 'own-') }),
  ])
  assert.ok(!readFileSync(join(folder, 'outbox', 'current.jsonl'), 'utf8').includes(secret))
  using memory = new MemoryBroker(folder)
  maintain(memory, { now: Date.now(), retentionDays: 90 })
  const record = memory.record('m-hook-0001', PERSON)
  assert.deepEqual([record?.authority, record?.actor], ['agent', 'hook'])
  assert.ok((record?.time ?? 0) <= Date.now())
  assert.deepEqual([memory.records('policy', PERSON), memory.records('recall', PERSON)], [[], []])
  for (const id of ['m-hook-0002', 'm-hook-0003', recordId('recall t-000001/1', 'own-')])
    assert.equal(memory.record(id, PERSON), undefined)
  assert.equal(folderOfHooks({ home: folder }), undefined)
  noteFolder({ home: folder, memory: '/m' })
  assert.equal(folderOfHooks({ home: folder }), '/m')
})
