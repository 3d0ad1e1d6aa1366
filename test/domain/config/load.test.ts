import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import { AppError } from '../../../src/base/errors.ts'
import { loadConfig } from '../../../src/domain/config/load.ts'
import { writeConfigFiles, writeText } from './config-files.ts'

const refusal =
  (code: string, ...words: (string | RegExp)[]) =>
  (thrown: unknown) => {
    assert.ok(thrown instanceof AppError, String(thrown))
    assert.equal(thrown.code, code)
    for (const word of words)
      assert.match(thrown.message, typeof word === 'string' ? new RegExp(RegExp.escape(word)) : word)
    return true
  }

test('without any file the defaults hold, and the data lies under PCC_HOME', async t => {
  const { paths, env } = writeConfigFiles(t)
  const { config, origin, untrusted } = await loadConfig({ paths, env, project: null })
  assert.equal(config.sessions.max_concurrent, 5)
  assert.equal(config.data.directory, join(paths.home, 'data'))
  assert.equal(origin('sessions.max_concurrent'), 'default')
  assert.deepEqual(untrusted, [])
})

test('each layer stands above the one before it: default, user file, project file, environment, flag', async t => {
  const key = 'sessions.max_concurrent'
  const { paths, env, project } = writeConfigFiles(t, {
    user: '\n[sessions]\nmax_concurrent = 4\n',
    project: 'sessions.max_concurrent = 3\n',
  })
  const bare = writeConfigFiles(t)
  const layers = [
    await loadConfig({ paths: bare.paths, env, project: null }),
    await loadConfig({ paths, env, project: null }),
    await loadConfig({ paths, env, project }),
    await loadConfig({ paths, env: { ...env, PCC_SESSIONS_MAX_CONCURRENT: '20' }, project }),
    await loadConfig({ paths, env: { ...env, PCC_SESSIONS_MAX_CONCURRENT: '20' }, project, flags: { [key]: 21 } }),
  ]
  assert.deepEqual(
    layers.map(({ config, origin }) => [config.sessions.max_concurrent, origin(key)]),
    [
      [5, 'default'],
      [4, `${paths.configFile}:3`],
      [3, `${join(project, '.perpetualcc.toml')}:1`],
      [20, 'PCC_SESSIONS_MAX_CONCURRENT'],
      [21, 'flag'],
    ],
  )
})

test('the environment gives lists by commas or as TOML, and an empty variable sets nothing', async t => {
  const { paths, env } = writeConfigFiles(t)
  const { config } = await loadConfig({
    paths,
    project: null,
    env: {
      ...env,
      PCC_PERMISSIONS_SAFE_DIRECTORIES: 'src/, cmd/',
      PCC_PERMISSIONS_BLOCKED_COMMANDS: '["a, b", "c"]',
      PCC_BRAIN_AUTO_ANSWER: 'false',
      PCC_BRAIN_CONFIDENCE_THRESHOLD: '0.95',
      PCC_LOGS_LEVEL: '',
    },
  })
  assert.deepEqual(config.permissions.safe_directories, ['src/', 'cmd/'])
  assert.deepEqual(config.permissions.blocked_commands, ['a, b', 'c'])
  assert.equal(config.brain.auto_answer, false)
  assert.equal(config.brain.confidence_threshold, 0.95)
  assert.equal(config.logs.level, 'info')
})

test('a wrong or mistyped variable is refused by its name', async t => {
  const { paths, env } = writeConfigFiles(t)
  const load = (more: Record<string, string>) => loadConfig({ paths, env: { ...env, ...more } })
  await assert.rejects(
    load({ PCC_SESSIONS_MAX_CONCURRENT: 'many' }),
    refusal('setting_invalid', 'PCC_SESSIONS_MAX_CONCURRENT', 'a whole number, 1 or more', '"many"'),
  )
  await assert.rejects(
    load({ PCC_SESSIONS_MAX_CONCURENT: '3' }),
    refusal('setting_invalid', 'PCC_SESSIONS_MAX_CONCURENT', 'did you mean "sessions.max_concurrent"?'),
  )
  await load({ PCC_SESSION_MARK: 'x', PCC_HOME: paths.home, PCC_CONFIG: '' })
})

const wrong: [string, string, RegExp][] = [
  ['broken TOML', '[sessions]\nmax_concurrent = \n', /:2: TOML: /],
  [
    'the wrong type',
    '# mine\n[sessions]\n\nmax_concurrent = "five"\n',
    /:4: sessions\.max_concurrent: expected a whole number, 1 or more, found the text "five"/,
  ],
  [
    'a number out of range',
    '[brain]\nconfidence_threshold = 7\n',
    /:2: brain\.confidence_threshold: expected a number from 0 to 1, found 7/,
  ],
  ['half a number', '[sessions]\nmax_concurrent = 2.5\n', /:2: .*found 2\.5/],
  [
    'an unknown key',
    '[sessions]\nauto_resume = true\nmax_concurent = 3\n',
    /:3: sessions\.max_concurent: unknown setting; did you mean "sessions\.max_concurrent"\?/,
  ],
  ['an unknown section', '[sesions]\nx = 1\n', /:2: sesions\.x: unknown setting; did you mean "\[sessions\]"\?/],
  ['an unknown key near nothing', '[zebra]\nstripes = 9\n', /:2: zebra\.stripes: unknown setting\./],
  ['a value in place of a section', 'brain = "gemini"\n', /:1: brain: expected a section, written \[brain\]/],
  [
    'a section in place of a value',
    '[agents.env]\nFOO = 1\n',
    /:1: agents\.env: expected a list of .*, found a section/,
  ],
  [
    'a word that is not offered',
    '[brain]\ntype = "gpt"\n',
    /:2: brain\.type: expected "none", .* or "openai-compatible", found the text "gpt"/,
  ],
  ['an entry of a list', '[agents]\nenv = [\n  "FOO",\n  "BAR BAZ",\n]\n', /:2: agents\.env: expected a list of names/],
  [
    'an address without http',
    '[brain.ollama]\nhost = "localhost:11434"\n',
    /:2: brain\.ollama\.host: expected an address/,
  ],
  [
    'a value inside an inline table',
    'brain = { type = "none", auto_answer = 1 }\n',
    /:1: brain\.auto_answer: expected true or false, found 1/,
  ],
  ['a strange version', 'version = "one"\n', /:1: version: expected a whole number/],
  ['a date', '[brain.gemini]\nmodel = 2026-01-01\n', /:2: brain\.gemini\.model: expected text, found a date/],
]
for (const [what, text, words] of wrong) {
  test(`${what} is refused by file, line, key and expectation, and the file stays as it is`, async t => {
    const { paths, env } = writeConfigFiles(t, { user: text })
    await assert.rejects(loadConfig({ paths, env }), refusal('config_invalid', paths.configFile, words))
    assert.equal(readFileSync(paths.configFile, 'utf8'), text)
  })
}

test('the first invalid line is reported', async t => {
  const { paths, env } = writeConfigFiles(t, { user: '[logs]\nkeep = 0\n[brain]\ntype = 1\n' })
  await assert.rejects(loadConfig({ paths, env }), refusal('config_invalid', ':2: logs.keep'))
})

test('a refused secret is never repeated', async t => {
  const { paths, env } = writeConfigFiles(t, { user: '[brain.gemini]\napi_key = ["AIza-very-secret"]\n' })
  await assert.rejects(loadConfig({ paths, env }), thrown => {
    assert.ok(thrown instanceof AppError)
    assert.match(thrown.message, /:2: brain\.gemini\.api_key: expected text, found a list/)
    assert.doesNotMatch(thrown.message, /very-secret/)
    return true
  })
})

test('a file for a newer program is refused with its own code, a known version is fine', async t => {
  const newer = writeConfigFiles(t, { user: 'version = 2\nwhatever = 1\n' })
  await assert.rejects(
    loadConfig(newer),
    thrown => refusal('config_newer', '(version 2, ')(thrown) && (thrown as AppError).exit === 5,
  )
  const known = writeConfigFiles(t, { user: 'version = 1\n[logs]\nkeep = 2\n' })
  assert.equal((await loadConfig(known)).config.logs.keep, 2)
})

test('a file that cannot be read as text is refused, and so is one that was named and does not exist', async t => {
  const { paths, env, home } = writeConfigFiles(t)
  writeText(paths.configFile, '')
  writeFileSync(paths.configFile, Buffer.from([0xff, 0xfe, 0x00]))
  await assert.rejects(loadConfig({ paths, env }), refusal('config_unreadable', 'not text in UTF-8'))
  const folder = appPathsFor({ env, configFile: join(home, 'folder') })
  mkdirSync(folder.configFile)
  await assert.rejects(loadConfig({ paths: folder, env }), refusal('config_unreadable', 'no ordinary file'))
  const named = appPathsFor({ env, configFile: join(home, 'nowhere.toml') })
  await assert.rejects(
    loadConfig({ paths: named, env }),
    refusal('config_unreadable', 'nowhere.toml', 'does not exist'),
  )
})

test('a file with a byte order mark and Windows line ends is read, with the right lines', async t => {
  const { paths, env } = writeConfigFiles(t, { user: '\uFEFF[sessions]\r\n# c\r\nmax_concurrent = 2\r\n' })
  const { config, origin } = await loadConfig({ paths, env, project: null })
  assert.equal(config.sessions.max_concurrent, 2)
  assert.equal(origin('sessions.max_concurrent'), `${paths.configFile}:3`)
})

test('paths in a file start at the file, and ~ is the home directory', async t => {
  const { paths, env, home } = writeConfigFiles(t, {
    user: '[data]\ndirectory = "~/d"\n[agents]\npath = "bin/claude"\n',
  })
  const { config } = await loadConfig({ paths, env, project: null })
  assert.equal(config.data.directory, join(home, 'd'))
  assert.equal(config.agents.path, join(paths.home, 'bin/claude'))
})

test('the project file is the nearest one upwards, and nothing above home is looked at', async t => {
  const { paths, env, project, home } = writeConfigFiles(t)
  const deep = join(project, 'packages', 'api')
  mkdirSync(deep, { recursive: true })
  const nearest = async () => (await loadConfig({ paths, env, project: deep })).projectFile
  assert.equal(await nearest(), undefined)
  writeText(join(home, '.perpetualcc.toml'), '')
  assert.equal(await nearest(), join(home, '.perpetualcc.toml'))
  writeText(join(project, '.perpetualcc.toml'), '')
  assert.equal(await nearest(), join(project, '.perpetualcc.toml'))
  writeText(join(deep, '.perpetualcc.toml'), '')
  assert.equal(await nearest(), join(deep, '.perpetualcc.toml'))

  const inner = { ...env, HOME: project }
  const outside = await loadConfig({
    paths: appPathsFor({ env: inner }),
    env: inner,
    project: join(project, 'packages'),
  })
  assert.equal(outside.projectFile, join(project, '.perpetualcc.toml'))
})

test('a project file that may not be read is refused, not passed over', async t => {
  const { paths, env, project } = writeConfigFiles(t, { project: '' })
  if (process.getuid?.() !== 0) chmodSync(join(project, '.perpetualcc.toml'), 0)
  else {
    rmSync(join(project, '.perpetualcc.toml'))
    mkdirSync(join(project, '.perpetualcc.toml'))
  }
  await assert.rejects(loadConfig({ paths, env, project }), refusal('config_unreadable', '.perpetualcc.toml'))
})

test('a setting that no longer means anything is warned about with its line, and everything else counts', async t => {
  const { paths, env, project } = writeConfigFiles(t, {
    user: '[sessions]\npersist_history = false\nmax_concurrent = 4\n',
    project: 'sessions.persist_history = "anything"\n',
  })
  const loaded = await loadConfig({ paths, env: { ...env, PCC_SESSIONS_PERSIST_HISTORY: 'no' }, project })
  assert.equal(loaded.config.sessions.max_concurrent, 4)
  assert.deepEqual(loaded.warnings, [
    `sessions.persist_history no longer has a meaning; remove it from ${paths.configFile}:2`,
    `sessions.persist_history no longer has a meaning; remove it from ${join(project, '.perpetualcc.toml')}:1`,
  ])
})
