import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { AppError } from '../../../src/base/errors.ts'
import { variableOf } from '../../../src/domain/config/layers.ts'
import { checkValue, findSetting, suggestionFor } from '../../../src/domain/config/parse-setting.ts'
import { defaultValues, isInForce, SETTING_KEYS, settingOf } from '../../../src/domain/config/settings.ts'

/** The tables of the manual, word for word, without `sessions.persist_history`, which never meant anything. */
const MANUAL: Record<string, unknown> = {
  'brain.type': 'none',
  'brain.confidence_threshold': 0.7,
  'brain.auto_answer': true,
  'brain.gemini.api_key': undefined,
  'brain.gemini.model': 'gemini-2.0-flash',
  'brain.ollama.host': 'http://localhost:11434',
  'brain.ollama.model': undefined,
  'sessions.max_concurrent': 5,
  'sessions.auto_resume': true,
  'permissions.auto_approve_low_risk': true,
  'permissions.safe_directories': ['src/', 'tests/', 'lib/', 'app/', 'packages/'],
  'permissions.blocked_commands': ['rm -rf /', 'sudo', 'curl | sh'],
  'notifications.enabled': true,
  'notifications.sound': true,
  'notifications.on_question': true,
  'notifications.on_complete': true,
  'notifications.on_rate_limit': true,
  'notifications.on_error': true,
  'knowledge.embedding_provider': 'local',
  'knowledge.local_model': 'nomic-embed-text',
  'knowledge.auto_index': true,
  'data.directory': '~/.perpetualcc/data',
  'data.checkpoint_retention_days': 30,
  'data.episode_retention_days': 90,
}

test('every key of the manual is there with its default', () => {
  const standard: Record<string, unknown> = defaultValues()
  for (const [key, value] of Object.entries(MANUAL)) {
    assert.ok(key in standard, key)
    assert.deepEqual(standard[key], value, key)
  }
})

test('every default is a value that the setting itself accepts', () => {
  for (const [key, value] of Object.entries(defaultValues())) {
    if (value !== undefined) assert.deepEqual(checkValue(findSetting(key), value), { ok: true, value })
  }
})

test('each key has a variable of its own', () => {
  assert.equal(variableOf('sessions.max_concurrent'), 'PCC_SESSIONS_MAX_CONCURRENT')
  assert.equal(new Set(SETTING_KEYS.map(variableOf)).size, SETTING_KEYS.length)
})

test('the short names of the manual, and any ending that only one key has, stand for the full key', () => {
  assert.equal(findSetting('confidence_threshold'), 'brain.confidence_threshold')
  assert.equal(findSetting('auto_approve'), 'permissions.auto_approve_low_risk')
  assert.equal(findSetting('notification_sound'), 'notifications.sound')
  assert.equal(findSetting('gemini.model'), 'brain.gemini.model')
  assert.equal(findSetting('data.directory'), 'data.directory')
})

test('a short name that several keys share is refused with all of them', () => {
  assert.throws(
    () => findSetting('model'),
    (thrown: AppError) =>
      thrown.code === 'config_ambiguous_key' && /brain\.gemini\.model, brain\.ollama\.model/.test(thrown.message),
  )
})

test('an unknown name is refused, with the nearest one when there is one', () => {
  assert.throws(() => findSetting('brain.tpye'), /There is no setting "brain\.tpye"; did you mean "brain\.type"\?/)
  assert.throws(
    () => findSetting('toString'),
    (thrown: AppError) => thrown.code === 'config_unknown_key',
  )
  assert.equal(suggestionFor('max-concurrent'), '; did you mean "sessions.max_concurrent"?')
  assert.equal(suggestionFor('zzz'), '.')
})

test('the page about settings lists every key with its default, its description, its project rule and whether it is in force', () => {
  const page = readFileSync(new URL('../../../docs/config.md', import.meta.url), 'utf8')
  for (const key of SETTING_KEYS) {
    const row = page.split('\n').find(line => line.startsWith(`| \`${key}\` |`))
    assert.ok(row, `docs/config.md has no row for ${key}: write one; its description is the setting's \`about\``)
    const cells = row.split(/(?<!\\)\|/).map(cell => cell.trim())
    const { standard, project, about } = settingOf(key)
    const expected =
      key === 'agents.env' ? 'see below' : standard === undefined ? '–' : `\`${JSON.stringify(standard)}\``
    assert.deepEqual(
      [cells[2]?.replaceAll('\\|', '|'), cells[4], cells[5]],
      [expected, project, isInForce(key) ? 'yes' : 'not yet'],
      key,
    )
    assert.ok(
      cells[3]?.replaceAll('\\|', '|').includes(about),
      `docs/config.md describes ${key} as its \`about\` does: ${about}`,
    )
  }
})
