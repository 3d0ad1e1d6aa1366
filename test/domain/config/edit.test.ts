import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { lstatSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { AppError } from '../../../src/base/errors.ts'
import { resetSetting, resetSettings, setSetting } from '../../../src/domain/config/edit.ts'
import { loadConfig } from '../../../src/domain/config/load.ts'
import { writeConfigFiles, writeText } from './config-files.ts'

const MINE = `# my settings, please keep
version = 1

[sessions]   # how many
max_concurrent = 2   # my laptop is small
# more later

[brain]
type = "none"
`

test('setting a key keeps every comment, the order and all other values', async t => {
  const { paths, env } = writeConfigFiles(t, { user: MINE })
  await setSetting(paths, 'sessions.max_concurrent', '3')
  await setSetting(paths, 'sessions.auto_resume', 'false')
  await setSetting(paths, 'brain.gemini.api_key', 'env:GEMINI_API_KEY')
  assert.equal(
    readFileSync(paths.configFile, 'utf8'),
    MINE.replace('= 2 ', '= 3 ').replace('small\n', 'small\nauto_resume = false\n') +
      '\n[brain.gemini]\napi_key = "env:GEMINI_API_KEY"\n',
  )
  const { config } = await loadConfig({ paths, env, project: null })
  assert.deepEqual([config.sessions.max_concurrent, config.sessions.auto_resume], [3, false])
})

test('the first set makes the file, readable by its owner only', async t => {
  const { paths } = writeConfigFiles(t)
  await setSetting(paths, 'logs.level', 'debug')
  assert.equal(readFileSync(paths.configFile, 'utf8'), '[logs]\nlevel = "debug"\n')
  assert.equal(statSync(paths.configFile).mode & 0o777, 0o600)
})

test('a wrong value changes nothing', async t => {
  const { paths } = writeConfigFiles(t, { user: MINE })
  await assert.rejects(setSetting(paths, 'sessions.max_concurrent', '0'), { code: 'setting_invalid' })
  assert.equal(readFileSync(paths.configFile, 'utf8'), MINE)
})

test('a wrong file is refused with its line and not touched', async t => {
  const broken = '[sessions]\nmax_concurrent = "two"\n'
  const { paths } = writeConfigFiles(t, { user: broken })
  await assert.rejects(
    setSetting(paths, 'logs.keep', '3'),
    (thrown: AppError) => thrown.code === 'config_invalid' && thrown.message.includes(':2: sessions.max_concurrent'),
  )
  assert.equal(readFileSync(paths.configFile, 'utf8'), broken)
})

test('a wrong file is not repaired by the way: neither its syntax nor the very key that is set', async t => {
  for (const [user, words] of [
    ['logs.keep = 0\n', ':1: logs.keep: expected a whole number'],
    ['[logs\n', ':1: TOML: '],
  ] as const) {
    const { paths } = writeConfigFiles(t, { user })
    await assert.rejects(
      setSetting(paths, 'logs.keep', '3'),
      (thrown: AppError) => thrown.code === 'config_invalid' && thrown.message.includes(words),
    )
    assert.equal(readFileSync(paths.configFile, 'utf8'), user)
  }
})

test('a config file that is a link stays a link, and what it leads to is changed', async t => {
  const { paths, home } = writeConfigFiles(t)
  const dotfile = join(home, 'dotfiles', 'pcc.toml')
  writeText(dotfile, '# dot\n')
  writeText(join(paths.home, 'x'), '')
  symlinkSync(dotfile, paths.configFile)
  await setSetting(paths, 'logs.keep', '3')
  assert.ok(lstatSync(paths.configFile).isSymbolicLink())
  assert.equal(readFileSync(dotfile, 'utf8'), '# dot\n\n[logs]\nkeep = 3\n')
  assert.deepEqual(readdirSync(join(home, 'dotfiles')), ['pcc.toml'])
})

test('a typed path is stored relative to the current directory', async t => {
  const { paths } = writeConfigFiles(t)
  assert.equal(await setSetting(paths, 'agents.path', 'bin/claude'), join(process.cwd(), 'bin/claude'))
  assert.equal(await setSetting(paths, 'agents.path', '~/bin/claude'), '~/bin/claude')
})

test('resetting a key removes only that key and keeps a backup', async t => {
  const { paths } = writeConfigFiles(t, { user: MINE })
  const backup = await resetSetting(paths, 'sessions.max_concurrent', { clock: { now: () => 0 } })
  assert.equal(backup, `${paths.configFile}.1970-01-01T00-00-00.bak`)
  assert.equal(readFileSync(backup, 'utf8'), MINE)
  assert.equal(statSync(backup).mode & 0o777, 0o600)
  assert.equal(readFileSync(paths.configFile, 'utf8'), MINE.replace(/max_concurrent.*\n/, ''))
  assert.equal(await resetSetting(paths, 'sessions.max_concurrent'), undefined)
})

test('resetting everything works on a broken file too, and never overwrites an older backup', async t => {
  const { paths } = writeConfigFiles(t, { user: 'broken = = =' })
  const clock = { now: () => 0 }
  const first = await resetSettings(paths, { clock })
  const second = await resetSettings(paths, { clock })
  assert.equal(readFileSync(first ?? '', 'utf8'), 'broken = = =')
  assert.equal(readFileSync(second ?? '', 'utf8'), '')
  assert.equal(readFileSync(paths.configFile, 'utf8'), '')
  assert.equal(await resetSettings(writeConfigFiles(t).paths), undefined)
})

test('processes that set different keys at once lose none of them', async t => {
  const { paths, env } = writeConfigFiles(t, { user: MINE })
  const module = new URL('../../../src/domain/config/edit.ts', import.meta.url).href
  const changes = {
    'logs.keep': '7',
    'logs.level': 'warn',
    'brain.auto_answer': 'false',
    'data.episode_retention_days': '9',
    'agents.isolation': 'marker',
    'notifications.sound': 'false',
  }
  const children = Object.entries(changes).map(([key, value]) => {
    const code = `const { setSetting } = await import(${JSON.stringify(module)}); await setSetting(${JSON.stringify(paths)}, ${JSON.stringify(key)}, ${JSON.stringify(value)})`
    return once(spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: 'inherit' }), 'exit')
  })
  assert.deepEqual(
    await Promise.all(children),
    children.map(() => [0, null]),
  )
  const { config } = await loadConfig({ paths, env, project: null })
  assert.deepEqual(
    [
      config.logs.keep,
      config.logs.level,
      config.brain.auto_answer,
      config.data.episode_retention_days,
      config.agents.isolation,
      config.notifications.sound,
      config.sessions.max_concurrent,
    ],
    [7, 'warn', false, 9, 'marker', false, 2],
  )
})
