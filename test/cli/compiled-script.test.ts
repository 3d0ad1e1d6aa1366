import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { loadCompiled } from '../../src/cli/compiled-script.ts'
import { bareEnv, tempDir } from '../support/world.ts'

/** Loads a script, keeps what was compiled, and prints what the script says. */
const LOADING = `
const [module, script, cache] = process.argv.slice(1)
const { loadCompiled } = await import(module)
const { exports, keep } = loadCompiled(script, cache)
console.log(exports.say(), await exports.more())
keep()`

test('a script runs with what was compiled for exactly this script, and without it if that is damaged', async t => {
  const dir = tempDir(t)
  const script = join(dir, 'answer.cjs')
  const cache = join(dir, 'cache')
  writeFileSync(join(dir, 'beside.mjs'), 'export const said = "beside"')
  const write = (word: string) => {
    const code = `module.exports = { say: () => '${word}', more: async () => (await $importHere('./beside.mjs')).said }`
    writeFileSync(script, `//${createHash('sha256').update(code).digest('hex')}\n${code}`)
  }
  const load = () => {
    // In a process of its own, as always: in one that knows the script already, V8 looks at no file.
    const module = new URL('../../src/cli/compiled-script.ts', import.meta.url).href
    const args = ['--input-type=module', '-e', LOADING, module, script, cache]
    return execFileSync(process.execPath, args, { encoding: 'utf8', env: bareEnv(dir) }).trim()
  }
  const kept = () => {
    const [file = '', ...others] = readdirSync(cache).map(name => join(cache, name))
    assert.deepEqual(others, [])
    return { file, ino: statSync(file).ino, bytes: readFileSync(file) }
  }
  assert.equal(loadCompiled(script, cache), undefined, 'a checkout has none')

  write('one')
  assert.equal(load(), 'one beside')
  const { file, ino, bytes } = kept()
  assert.equal(load(), 'one beside')
  assert.equal(kept().ino, ino, 'it is kept once')

  for (const damaged of [bytes.subarray(0, 100), Buffer.alloc(0), Buffer.alloc(bytes.length), flip(bytes)]) {
    writeFileSync(file, damaged)
    assert.equal(load(), 'one beside')
    const replaced = kept()
    assert.notDeepEqual(replaced.bytes, damaged, 'a damaged file is replaced')
    assert.equal(load(), 'one beside')
    assert.equal(kept().ino, replaced.ino, 'what replaced it is used')
  }

  write('two') // as long, so that V8 alone would take the old functions
  assert.equal(load(), 'two beside')
  assert.notEqual(kept().file, file, 'the file of the older script is gone')
})

function flip(bytes: Buffer): Buffer {
  const damaged = Buffer.from(bytes)
  const at = Math.floor(bytes.length / 4)
  damaged.writeUInt8(damaged.readUInt8(at) ^ 0x55, at)
  return damaged
}
