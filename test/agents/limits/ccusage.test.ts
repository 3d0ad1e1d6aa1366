import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openCcusage } from '../../../src/agents/limits/ccusage.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { startTimeOf } from '../../../src/base/process/process-table.ts'
import { bareEnv, tempDir } from '../../support/world.ts'

const REAL = fileURLToPath(new URL('../../../node_modules/.bin/ccusage', import.meta.url))
const HOUR = 3_600_000

/** A stand-in for the program: a script that prints the given text. */
function fake(t: TestContext, script: string): { program: string; dir: string } {
  const dir = tempDir(t)
  const program = join(dir, 'ccusage')
  writeFileSync(program, `#!/bin/sh\n${script}\n`)
  chmodSync(program, 0o755)
  return { program, dir }
}

function placeIn(home: string) {
  const { PATH } = bareEnv(home)
  return { HOME: home, PATH: `${dirname(process.execPath)}:${PATH}`, CLAUDE_CONFIG_DIR: join(home, '.claude') }
}

test('the real ccusage reads what the agent wrote, as a share of the limit that was set', async t => {
  const home = tempDir(t)
  mkdirSync(join(home, '.claude/projects/p'), { recursive: true })
  const usage = {
    input_tokens: 100,
    output_tokens: 400,
    cache_creation_input_tokens: 500,
    cache_read_input_tokens: 1000,
  }
  const line = {
    timestamp: new Date().toISOString(),
    sessionId: 's1',
    requestId: 'r1',
    version: '2.0.0',
    message: { id: 'm1', model: 'claude-sonnet-4-5', usage },
  }
  writeFileSync(join(home, '.claude/projects/p/s1.jsonl'), `${JSON.stringify(line)}\n`)
  const reading = await openCcusage(systemClock)({ program: REAL, place: placeIn(home), tokenLimit: 8000 })
  assert.ok('window' in reading && reading.window, JSON.stringify(reading))
  assert.equal(reading.window.utilization, 0.25)
  assert.equal(reading.window.source, 'ccusage')
  const left = (reading.window.resets_at ?? 0) - Date.now()
  assert.ok(left > 3.9 * HOUR && left <= 5 * HOUR, `resets in ${left / HOUR} h`)
})

test('the real ccusage says so when nothing was used of late', async t => {
  const home = tempDir(t)
  mkdirSync(join(home, '.claude/projects'), { recursive: true })
  const reading = await openCcusage(systemClock)({ program: REAL, place: placeIn(home), tokenLimit: 8000 })
  assert.deepEqual(reading, { window: undefined })
})

test('a ccusage that is not there, fails or prints garbage is a reason and no error', async t => {
  const call = (program: string, home: string) =>
    openCcusage(systemClock)({ program, place: placeIn(home), tokenLimit: 1 })
  const empty = tempDir(t)
  assert.deepEqual(await call('ccusage-that-nobody-has', empty), {
    problem: 'ccusage-that-nobody-has is not installed',
  })
  assert.deepEqual(await call('./ccusage', empty), {
    problem: 'quota.ccusage must be a name or a whole path: ./ccusage',
  })
  const failing = fake(t, 'echo "{}"; exit 3')
  assert.deepEqual(await call(failing.program, empty), { problem: `${failing.program} ended with code 3` })
  for (const said of ['not json', '[]', '{"blocks": 3}', '{"blocks": [{"isActive": true, "endTime": "soon"}]}']) {
    const { program } = fake(t, `echo '${said}'`)
    assert.deepEqual(await call(program, empty), { problem: `${program} printed something that is not its report` })
  }
})

test('one that hangs is given up after two seconds, with everything it started, and not asked again', async t => {
  const { program, dir } = fake(t, 'echo once >> "$HOME/asked"; setsid sleep 300 & echo $! > "$HOME/child"; sleep 300')
  const ccusage = openCcusage(systemClock)
  const call = { program, place: placeIn(dir), tokenLimit: 1 }
  const expected = { problem: `${program} did not answer within 2 s` }
  assert.deepEqual(await Promise.all([ccusage(call), ccusage(call)]), [expected, expected])
  assert.deepEqual(await ccusage(call), expected)
  assert.equal(readFileSync(join(dir, 'asked'), 'utf8'), 'once\n')
  const child = Number(readFileSync(join(dir, 'child'), 'utf8'))
  assert.equal(await startTimeOf(child), undefined, 'its child is gone')
})

test('one that floods is cut off', async t => {
  const { program, dir } = fake(t, 'exec yes 0123456789012345678901234567890123456789')
  const reading = await openCcusage(systemClock)({ program, place: placeIn(dir), tokenLimit: 1 })
  assert.deepEqual(reading, { problem: `${program} printed more than 8 MB` })
})

test('it is asked once in five minutes, and sees only where the agent keeps its files', async t => {
  const { program, dir } = fake(t, 'env > "$HOME/env"; echo once >> "$HOME/asked"; echo \'{"blocks": []}\'')
  let now = 1_000_000
  const ccusage = openCcusage({ now: () => now })
  const call = { program, place: placeIn(dir), tokenLimit: 1 }
  await ccusage(call)
  now += 299_999
  await ccusage(call)
  assert.equal(readFileSync(join(dir, 'asked'), 'utf8'), 'once\n')
  now += 1
  await ccusage(call)
  assert.equal(readFileSync(join(dir, 'asked'), 'utf8'), 'once\nonce\n')
  const names = readFileSync(join(dir, 'env'), 'utf8').match(/^\w+(?==)/gm) ?? []
  const allowed = ['CLAUDE_CONFIG_DIR', 'HOME', 'PATH', 'PCC_QUOTA_MARK', 'PWD', 'OLDPWD', 'SHLVL', '_']
  assert.deepEqual(
    names.filter(name => !allowed.includes(name)),
    [],
  )
})

test('its real version is the one that was pinned', async () => {
  assert.ok(existsSync(REAL))
  const version = await new Promise<string>(resolve =>
    execFile(process.execPath, [REAL, '--version'], { env: bareEnv('/nonexistent') }, (_error, out) => resolve(out)),
  )
  assert.match(version, /20\.0\.24/)
})
