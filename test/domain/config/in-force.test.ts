import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { SETTING_KEYS, settingOf } from '../../../src/domain/config/settings.ts'
import { FLIPPED_BY } from './in-force.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

test('every setting is either listed as not yet in force or has a test that flips it', () => {
  for (const key of SETTING_KEYS) {
    const file = FLIPPED_BY[key]
    assert.equal(file !== undefined, settingOf(key).inForce, `${key}: settings.ts and in-force.ts disagree`)
    if (file) assert.ok(readFileSync(join(ROOT, file), 'utf8').includes(key), `${file} does not mention ${key}`)
  }
})

test('no code outside the table reads a setting that is listed as not yet in force', () => {
  const waiting = SETTING_KEYS.filter(key => !settingOf(key).inForce)
  const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter(path => path.endsWith('.ts') && !path.startsWith('domain/config/'))
    .map(path => ({ path, text: readFileSync(join(ROOT, 'src', path), 'utf8') }))
  const read = waiting.flatMap(key =>
    sources
      .filter(({ text }) => new RegExp(`\\b${key.split('.').at(-1)}\\b`).test(text))
      .map(({ path }) => `${key} is read in ${path}`),
  )
  assert.deepEqual(read, [])
})
