import assert from 'node:assert/strict'
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { MemoryBroker } from '../../src/memory/broker.ts'
import { tempDir } from '../support/world.ts'
import { agentReader, fact, PERSON } from './records.ts'

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
