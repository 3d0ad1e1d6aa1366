import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { loadCompiled } from '../../src/cli/compiled-script.ts'
import { tempDir } from '../support/world.ts'

test('a script runs with what was compiled for exactly this script, and without it if that is damaged', async t => {
  const dir = tempDir(t)
  const script = join(dir, 'answer.cjs')
  const cache = join(dir, 'cache')
  writeFileSync(join(dir, 'beside.mjs'), 'export const said = "beside"')
  const write = (word: string) => {
    const code = `module.exports = { say: () => '${word}', more: async () => (await $importHere('./beside.mjs')).said }`
    writeFileSync(script, `//${createHash('sha256').update(code).digest('hex')}\n${code}`)
  }
  const load = () =>
    loadCompiled<{ say(): string; more(): Promise<string> }>(script, cache) ?? assert.fail('there is a script')
  const kept = () => {
    const [file = '', ...others] = readdirSync(cache).map(name => join(cache, name))
    assert.deepEqual(others, [])
    return { file, ino: statSync(file).ino }
  }
  assert.equal(loadCompiled(script, cache), undefined, 'a checkout has none')

  write('one')
  const first = load()
  assert.deepEqual([first.exports.say(), await first.exports.more()], ['one', 'beside'])
  first.keep()
  const { file, ino } = kept()
  load().keep()
  assert.equal(kept().ino, ino, 'it is kept once')

  const bytes = readFileSync(file)
  for (const damaged of [bytes.subarray(0, 100), Buffer.alloc(0), Buffer.alloc(bytes.length), flip(bytes)]) {
    writeFileSync(file, damaged)
    const again = load()
    assert.equal(again.exports.say(), 'one')
    again.keep()
    // How long the data is differs with what V8 has compiled and dropped by then.
    const replaced = readFileSync(kept().file)
    const half = replaced.length / 2
    assert.ok(half > 0 && !replaced.equals(damaged), 'a damaged file is replaced')
    assert.deepEqual(replaced.subarray(half), replaced.subarray(0, half))
    const inode = kept().ino
    load().keep()
    assert.equal(kept().ino, inode, 'what replaced it is used')
  }

  write('two') // as long, so that V8 alone would take the old functions
  const second = load()
  assert.equal(second.exports.say(), 'two')
  second.keep()
  assert.notEqual(kept().file, file, 'the file of the older script is gone')
})

function flip(bytes: Buffer): Buffer {
  const damaged = Buffer.from(bytes)
  const at = Math.floor(bytes.length / 4)
  damaged.writeUInt8(damaged.readUInt8(at) ^ 0x55, at)
  return damaged
}
