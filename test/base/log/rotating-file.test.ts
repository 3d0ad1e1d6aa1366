import assert from 'node:assert/strict'
import { closeSync, fstatSync, mkdirSync, openSync, readFileSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openRotatingFile } from '../../../src/base/rotating-file.ts'
import { closeFails } from '../../support/failing-close.ts'
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

test('a file that was closed, or could not be closed properly, is written to no more, and no other one in its place', t => {
  const dir = tempDir(t)
  const options = { maxBytes: 10, keep: 1 }
  const [broken, other] = [join(dir, 'broken'), join(dir, 'other')]
  const file = openRotatingFile({ ...options, file: broken })
  file.write('123456789\n')
  closeFails(t)
  file.write('rotated\n') // the old one could not be closed as it was put aside
  const next = openSync(other, 'a') // gets the number that was just closed
  file.write('a\n')
  file.close()
  file.write('too late\n')
  closeSync(next)
  assert.deepEqual(
    [broken, `${broken}.1`, other].map(each => readFileSync(each, 'utf8')),
    ['rotated\na\n', '123456789\n', ''],
  )
})
