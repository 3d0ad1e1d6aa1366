import assert from 'node:assert/strict'
import { closeSync, fstatSync, mkdirSync, openSync, readFileSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openRotatingFile } from '../../../src/base/rotating-file.ts'
import { tempDir } from '../../support/world.ts'

test('a file that cannot be put aside is written on, and closes nobody else’s file; later it is put aside after all', t => {
  const dir = tempDir(t)
  const file = join(dir, 'log')
  const log = openRotatingFile({ file, maxBytes: 10, keep: 1 })
  log.write('first line\n')
  mkdirSync(`${file}.1`)
  log.write('second line\n')
  const other = openSync(join(dir, 'other'), 'w')
  log.write('third line\n')
  assert.ok(fstatSync(other).isFile())
  closeSync(other)
  assert.equal(readFileSync(file, 'utf8'), 'first line\nsecond line\nthird line\n')
  rmdirSync(`${file}.1`)
  log.write('fourth line\n')
  log.close()
  assert.equal(readFileSync(file, 'utf8'), 'fourth line\n')
})
