import assert from 'node:assert/strict'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openRecorder } from '../../src/agents/session-output.ts'
import { closeFails } from '../support/failing-close.ts'
import { tempDir } from '../support/world.ts'

test('a recording whose file could not be closed properly writes to nobody else’s file', t => {
  const dir = tempDir(t)
  const recorder = openRecorder(join(dir, 'recording'))
  recorder.note({ pcc: 'pause' })
  closeFails(t)
  assert.throws(() => recorder.close(), { code: 'EDQUOT' })
  const next = openSync(join(dir, 'next'), 'a') // gets the descriptor that was just closed
  recorder.note({ pcc: 'interrupt' })
  recorder.close()
  closeSync(next)
  assert.deepEqual(
    [readFileSync(join(dir, 'recording'), 'utf8'), readFileSync(join(dir, 'next'), 'utf8')],
    ['{"pcc":"pause"}\n', ''],
  )
})
