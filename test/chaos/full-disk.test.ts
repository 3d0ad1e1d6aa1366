import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openStore } from '../../src/store/open.ts'
import '../support/full-disk.ts'
import { tempDir } from '../support/world.ts'

test('a store whose disk is declared full refuses writes that need space, keeps its data, and works again afterwards', async t => {
  const dir = tempDir(t)
  process.env['PCC_FULL_WHILE'] = join(dir, 'full')
  t.after(() => {
    delete process.env['PCC_FULL_WHILE']
  })
  await using store = await openStore({ file: join(dir, 'store.db') })
  const text = 'x'.repeat(100_000)
  const event = { actor: 'daemon', subject: 's-1', kind: 'session.noted', body: { text } } as const
  const note = () => store.transaction(tx => tx.append([event]))
  await note()
  writeFileSync(join(dir, 'full'), '')
  await assert.rejects(note(), /the disk is full/)
  assert.equal((await store.events({ subject: 's-1' })).length, 1)
  rmSync(join(dir, 'full'))
  await note()
  assert.equal((await store.events({ subject: 's-1' })).length, 2)
})
