import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { PassThrough } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import type { AppError } from '../../../src/base/errors.ts'
import { chooseOne, confirm } from '../../../src/cli/input.ts'
import { SETTING_KEYS } from '../../../src/domain/config/settings.ts'
import { pccFor } from '../pcc.ts'

function setUp(t: TestContext, config?: string) {
  const pcc = pccFor(t)
  const { configFile } = appPathsFor({ env: pcc.env })
  if (config !== undefined) {
    mkdirSync(dirname(configFile), { recursive: true })
    writeFileSync(configFile, config)
  }
  return { ...pcc, configFile, text: () => readFileSync(configFile, 'utf8') }
}

test('set takes the short names of the manual and answers with the full key', async t => {
  const { run, configFile, text } = setUp(t)
  const { code, stdout, stderr } = await run(['config', 'set', 'confidence_threshold', '0.8'])
  assert.equal(code, 0)
  assert.equal(stdout, `brain.confidence_threshold = 0.8  (in ${configFile})\n`)
  assert.equal(stderr, '')
  await run(['config', 'set', 'auto_approve', 'true'])
  assert.equal((await run(['config', 'set', 'notification_sound', 'false'])).stderr, '')
  assert.equal(
    text(),
    '[brain]\nconfidence_threshold = 0.8\n\n[permissions]\nauto_approve_low_risk = true\n\n[notifications]\nsound = false\n',
  )
  assert.equal((await run(['config', 'get', 'notification_sound'])).stdout, 'false\n')
})

test('set --project writes the file of one project and agrees to it, and no other project changes', async t => {
  const { run, env, configFile } = setUp(t)
  const [one, other] = ['one', 'other'].map(name => join(env['HOME'] ?? '', name)) as [string, string]
  for (const project of [one, other]) mkdirSync(project)
  const loosen = ['config', 'set', 'gates.known_failures', 'allow', '--project']
  const { code, stdout } = await run(loosen, { cwd: one })
  assert.equal(code, 0)
  assert.match(
    stdout,
    /^gates\.known_failures = "?allow"? {2}\(in .*one\/\.perpetualcc\.toml, for this project\)\nIt counts/,
  )
  const valueIn = async (project: string) =>
    (await run(['config', 'get', 'gates.known_failures', '--project', project])).stdout
  assert.deepEqual([await valueIn(one), await valueIn(other)], ['allow\n', 'block\n'])
  assert.equal(existsSync(configFile), false, 'nothing is set for all projects')

  // What the project brings in itself is not agreed to along the way.
  writeFileSync(join(other, '.perpetualcc.toml'), '[gates]\ntest = "true"\n')
  const waits = await run(loosen, { cwd: other })
  assert.match(waits.stdout, /brings in more than this\. Look at it, then: pcc trust /)
  assert.equal(await valueIn(other), 'block\n')
  const own = await run(['config', 'set', 'notifications.ntfy.topic', 'x', '--project', one])
  assert.equal(own.code, 2)
  assert.match(own.stderr, /may not set notifications\.ntfy\.topic/)
  const key = await run(['config', 'set', 'brain.gemini.api_key', 'AIza-secret', '--project', one])
  assert.equal(key.code, 2)
  assert.doesNotMatch(readFileSync(join(one, '.perpetualcc.toml'), 'utf8') + key.stdout + key.stderr, /AIza-secret/)
})

test('a variable that overrides the file is pointed out when the file is set', async t => {
  const { run } = setUp(t)
  const env = { PCC_LOGS_LEVEL: 'warn' }
  assert.match(
    (await run(['config', 'set', 'logs.level', 'debug'], { env })).stderr,
    /PCC_LOGS_LEVEL is set and overrides the file/,
  )
  assert.equal((await run(['config', 'get', 'logs.level'], { env })).stdout, 'warn\n')
})

test('a secret is masked wherever it is shown, unless it is asked for; env:NAME is shown', async t => {
  const { run } = setUp(t)
  const set = await run(['config', 'set', 'brain.gemini.api_key', 'AIza-secret'])
  const shown = [
    set,
    await run(['config', 'get', 'gemini.api_key']),
    await run(['config', 'show']),
    await run(['config', 'show', '--json']),
  ]
  for (const { stdout, stderr } of shown) {
    assert.match(stdout, /\*{8}/)
    assert.doesNotMatch(stdout + stderr, /AIza-secret/)
  }
  assert.match((await run(['config', 'get', 'gemini.api_key', '--reveal'])).stdout, /^AIza-secret\n$/)
  await run(['config', 'set', 'gemini.api_key', 'env:GEMINI_API_KEY'])
  assert.match((await run(['config', 'get', 'gemini.api_key'])).stdout, /^env:GEMINI_API_KEY\n$/)
})

test('show lists every setting with its origin', async t => {
  const { run, home, configFile } = setUp(t, '# mine\n[logs]\nkeep = 3\n')
  writeFileSync(join(home, '.perpetualcc.toml'), '[agents]\nisolation = "namespace"\nenv = ["FOO"]\n')
  const { stdout } = await run(['config', 'show', '--origin'], { env: { PCC_LOGS_LEVEL: 'warn' } })
  const headings = stdout.split('\n').filter(each => each.startsWith('['))
  assert.deepEqual(headings, [...new Set(headings)], 'each section is named once')
  const line = (key: string) => {
    const at = key.lastIndexOf('.')
    const section =
      stdout
        .split(`[${key.slice(0, at)}]\n`)[1]
        ?.split('\n\n', 1)
        .join('') ?? ''
    return section.split('\n').find(each => each.startsWith(`${key.slice(at + 1)} `)) ?? ''
  }
  assert.match(line('logs.keep'), /3 +~\/pcc\/config\.toml:3$/)
  assert.match(line('logs.level'), /"warn" +PCC_LOGS_LEVEL$/)
  assert.match(line('agents.isolation'), /"namespace" +~\/\.perpetualcc\.toml:2$/)
  assert.match(
    line('agents.env'),
    /values: pcc config get agents\.env\) +default +the project sets another value: pcc trust$/,
  )
  assert.match(line('knowledge.local_model'), /"nomic-embed-text" +default$/)
  assert.doesNotMatch(stdout, /not yet in force/, 'every setting has code that reads it')

  const json = JSON.parse((await run(['config', 'show', '--json'])).stdout)
  assert.deepEqual(
    json.settings.map((row: { key: string }) => row.key),
    SETTING_KEYS,
  )
  assert.deepEqual(json.files, { user: configFile, project: join(home, '.perpetualcc.toml') })
  assert.deepEqual(json.waits_for_trust, ['agents.env'])
  assert.deepEqual(
    json.settings.find((row: { key: string }) => row.key === 'logs.keep'),
    {
      key: 'logs.keep',
      value: 3,
      default: 5,
      origin: `${configFile}:3`,
      in_force: true,
      waits_for_trust: false,
      about: 'Rotated log files that are kept',
    },
  )
})

test('--data-dir is shown as what it is', async t => {
  const { run, home } = setUp(t)
  const { stdout } = await run(['--data-dir', join(home, 'd'), 'config', 'get', 'data.directory', '--json'])
  assert.deepEqual([JSON.parse(stdout).value, JSON.parse(stdout).origin], [join(home, 'd'), 'flag'])
})

test('reset without a person or --yes is refused with exit 3 and changes nothing', async t => {
  const { run, text } = setUp(t, 'logs.keep = 3\n')
  const { code, stderr } = await run(['config', 'reset'])
  assert.equal(code, 3)
  assert.match(stderr, /needs your confirmation.*\n.*--yes/)
  assert.equal(text(), 'logs.keep = 3\n')
})

test('reset --yes keeps the old file beside the new one, for one key or for all', async t => {
  const { run, text, configFile } = setUp(t, 'logs.keep = 3\nlogs.level = "warn"\n')
  const one = await run(['config', 'reset', 'logs.keep', '--yes', '--json'])
  assert.equal(readFileSync(JSON.parse(one.stdout).backup, 'utf8'), 'logs.keep = 3\nlogs.level = "warn"\n')
  assert.equal(text(), 'logs.level = "warn"\n')
  const all = await run(['config', 'reset', '--yes'])
  assert.match(all.stdout, /The old file is /)
  assert.equal(text(), '')
  assert.equal(readdirSync(dirname(configFile)).filter(name => name.endsWith('.bak')).length, 2)
})

test('a broken file is reported by every command that reads it, and can still be found and reset', async t => {
  const { run, configFile, text } = setUp(t, '[data]\ndirectory = 5\n')
  for (const args of [['show'], ['get', 'logs.keep'], ['set', 'logs.keep', '4']]) {
    const { code, stderr } = await run(['config', ...args])
    assert.equal(code, 2, args.join(' '))
    assert.match(stderr, /config\.toml:2: data\.directory: expected a path, found 5/)
  }
  assert.equal(text(), '[data]\ndirectory = 5\n')
  assert.equal((await run(['config', 'path'])).stdout, `${configFile}\n`)
  assert.equal((await run(['config', 'reset', '--yes'])).code, 0)
  assert.equal((await run(['config', 'show'])).code, 0)
})

test('a file for a newer program is refused with exit 5', async t => {
  const { run } = setUp(t, 'version = 9\n')
  assert.equal((await run(['config', 'show'])).code, 5)
})

test('an unknown key, a wrong value and a mistyped subcommand are refused with exit 2', async t => {
  const { run } = setUp(t)
  assert.match((await run(['config', 'get', 'brain.tpye'])).stderr, /did you mean "brain\.type"\?/)
  assert.match(
    (await run(['config', 'set', 'logs.keep', 'many'])).stderr,
    /logs\.keep: expected a whole number, 1 or more, found the text "many"/,
  )
  assert.match((await run(['config', 'shwo'])).stderr, /did you mean show\?/)
  assert.equal((await run(['config', 'set', 'logs.keep', '0'])).code, 2)
})

test('only y or yes confirms', async () => {
  const answer = async (text: string | null) => {
    const input = Object.assign(new PassThrough(), { isTTY: true })
    const output = new PassThrough()
    const asked = confirm({ action: 'Doing it', question: 'Do it?', yes: false, input, output })
    if (text === null) input.end()
    else input.write(`${text}\n`)
    await asked
    return String(output.read())
  }
  assert.match(await answer('y'), /^Do it\? \[y\/N\] /)
  await answer('YES')
  for (const no of ['', 'n', 'yep', null]) {
    await assert.rejects(answer(no), (thrown: AppError) => thrown.code === 'not_confirmed' && thrown.exit === 3)
  }
})

test('a number that is no choice is asked for again; nothing means the first', async () => {
  const choose = async (...lines: string[]) => {
    const input = new PassThrough()
    const output = new PassThrough()
    const chosen = chooseOne('Which?', ['one', 'two'], { input, output })
    for (const line of lines) {
      await once(output, 'readable')
      while (!/\[1\] |for 1: /.test(String(output.read()))) await once(output, 'readable')
      input.write(`${line}\n`)
    }
    return chosen
  }
  assert.equal(await choose('9', '2'), 1)
  assert.equal(await choose(''), 0)
})
