import assert from 'node:assert/strict'
import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { TranscriptReader } from '../../src/agents/json-lines.ts'
import { tempDir } from '../support/world.ts'

test('each line is read once, and half a line waits for its end', t => {
  const path = join(tempDir(t), 'record')
  writeFileSync(path, '{"n":1}\nnonsense\n{"n":')
  const reader = new TranscriptReader({ path, offset: 0 })
  assert.deepEqual(reader.read(), [{ n: 1 }])
  assert.deepEqual(reader.read(), [])
  appendFileSync(path, '2}\n')
  assert.deepEqual(reader.read(), [{ n: 2 }])
  const next = new TranscriptReader({ path, offset: reader.position.offset })
  assert.deepEqual(next.read(), [])
})

test('a line that is too long is passed over while it is still written, and what follows is read', t => {
  const path = join(tempDir(t), 'record')
  const most = 300_000
  writeFileSync(path, `{"n":1}\n"${'x'.repeat(most + 1000)}`)
  const reader = new TranscriptReader({ path, offset: 0 }, most)
  assert.deepEqual(reader.read(), [{ n: 1 }])
  const { offset } = reader.position
  assert.ok(offset > most, 'it is not read again')
  appendFileSync(path, `${'y'.repeat(most * 2)}"\n{"n":2}\n`)
  assert.deepEqual(reader.read(), [{ n: 2 }])
  const whole = JSON.stringify('z'.repeat(most - 10))
  appendFileSync(path, `${whole}\n`)
  assert.deepEqual(reader.read(), [JSON.parse(whole)], 'one that is nearly too long is whole')
})
