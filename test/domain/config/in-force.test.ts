import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { findUnreadSettings, unreadSettingsFile } from '../../../scripts/unread-settings.ts'
import { isInForce, SETTING_KEYS } from '../../../src/domain/config/settings.ts'
import { tempDir } from '../../support/world.ts'
import { FLIPPED_BY } from './in-force.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

test('every setting that code reads has a test that flips it, and the others have none', () => {
  for (const key of SETTING_KEYS) {
    const file = FLIPPED_BY[key]
    const mend = isInForce(key)
      ? 'code reads it: name the test that flips it in test/domain/config/in-force.ts'
      : 'no code reads it (npm run docs looks): take it out of test/domain/config/in-force.ts'
    assert.equal(file !== undefined, isInForce(key), `${key}: ${mend}`)
    if (file) assert.ok(readFileSync(join(ROOT, file), 'utf8').includes(key), `${file} does not mention ${key}`)
  }
})

test('the list of settings that no code reads is what the code says: npm run docs writes it', () => {
  assert.equal(readFileSync(join(ROOT, 'src/domain/config/unread-settings.ts'), 'utf8'), unreadSettingsFile())
})

test('a setting is read if its name is in code, and not if only the table or a comment has it', t => {
  const root = tempDir(t)
  mkdirSync(join(root, 'src/domain/config'), { recursive: true })
  writeFileSync(join(root, 'src/domain/config/settings.ts'), "'logs.level': word(), 'logs.keep_days': count()\n")
  writeFileSync(join(root, 'src/read.ts'), '/** `keep_days` */\nlog(config.logs.level) // not max_bytes\n')
  const unread = findUnreadSettings(root)
  assert.ok(!unread.includes('logs.level'))
  assert.deepEqual(
    unread.filter(key => key.startsWith('logs.')),
    ['logs.max_bytes', 'logs.keep', 'logs.keep_days', 'logs.syslog'],
  )
})
