import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openGuard } from '../../../src/base/process/guardian.ts'
import { MarkerFiles } from '../../../src/base/process/marker.ts'
import { rawStartTime } from '../../../src/base/process/process-table.ts'
import { commandEnvironment, type ProjectCommandRun, runCommand } from '../../../src/workspace/command/run-command.ts'
import { tempDir } from '../../support/world.ts'

const guard = openGuard()
const PATH = process.env['PATH']

/** Marker isolation: process ids are the same inside and outside, so that a test can look for them. */
function run(t: TestContext, command: string, more: Partial<ProjectCommandRun> = {}) {
  const directory = more.directory ?? tempDir(t)
  const env = commandEnvironment({ PATH, HOME: directory })
  const whole = { command, directory, env, timeoutMs: 60_000, signal: new AbortController().signal, ...more }
  return runCommand(whole, { guard, isolation: 'marker' })
}

/** The process id that a command wrote to a file. */
function pidIn(directory: string): number {
  return Number(readFileSync(join(directory, 'pid'), 'utf8'))
}

test('a command that exits tells its code and what it printed on both streams', async t => {
  const done = await run(t, 'echo out; echo err >&2; exit 3')
  assert.equal(done.end, 'exited')
  assert.equal(done.exit, 3)
  assert.match(done.output, /out\n/)
  assert.match(done.output, /err\n/)
})

test('a command that a signal kills did not exit', async t => {
  const done = await run(t, 'kill -SEGV $$')
  assert.deepEqual([done.end, done.exit, done.killedBy], ['killed', null, 'SIGSEGV'])
})

test('a command that cannot be started is an outcome', async t => {
  const done = await run(t, 'true', { directory: join(tempDir(t), 'nowhere') })
  assert.equal(done.end, 'not_started')
  assert.match(done.output, /ENOENT/)
})

test('a command finds nothing to read and does not wait for it', async t => {
  const done = await run(t, 'cat; echo over')
  assert.deepEqual([done.exit, done.output], [0, 'over\n'])
})

test('a daemon that a command forks is dead when the command is over', async t => {
  const directory = tempDir(t)
  const done = await run(t, "setsid sh -c 'echo $$ >pid; exec sleep 600' & while [ ! -s pid ]; do sleep 0.01; done", {
    directory,
  })
  assert.equal(done.exit, 0)
  assert.equal(rawStartTime(pidIn(directory)), undefined)
})

test('a command that ignores SIGTERM is over soon after its time, and all it started with it', async t => {
  const directory = tempDir(t)
  const command = "trap '' TERM; echo $$ >pid; echo begun; while :; do sleep 600; done"
  const done = await run(t, command, { directory, timeoutMs: 300 })
  assert.equal(done.end, 'timed_out')
  assert.match(done.output, /begun/)
  assert.equal(rawStartTime(pidIn(directory)), undefined)
})

test('a command that is told to end may tidy up first', async t => {
  const directory = tempDir(t)
  const command = "trap 'echo tidy >tidied; exit 0' TERM; echo ready; while :; do sleep 0.05; done"
  const done = await run(t, command, { directory, timeoutMs: 300 })
  assert.equal(done.end, 'timed_out')
  assert.equal(done.exit, null, 'an exit after its time is up says nothing')
  assert.ok(existsSync(join(directory, 'tidied')))
})

test('an abort ends a command and leaves no process', async t => {
  const directory = tempDir(t)
  const abort = new AbortController()
  const running = run(t, 'echo $$ >pid; sleep 600 & echo begun; wait', {
    directory,
    signal: abort.signal,
    onLine: line => line === 'begun' && abort.abort(),
  })
  assert.equal((await running).end, 'aborted')
  assert.equal(rawStartTime(pidIn(directory)), undefined)
})

test('what was told to stop before it began never begins', async t => {
  const directory = tempDir(t)
  const done = await run(t, 'echo $$ >pid', { directory, signal: AbortSignal.abort() })
  assert.equal(done.end, 'aborted')
  assert.ok(!existsSync(join(directory, 'pid')))
})

test('a command that closes its streams is waited for all the same', async t => {
  const directory = tempDir(t)
  const done = await run(t, 'echo said; exec >&- 2>&-; sleep 0.2; touch late; exit 4', { directory })
  assert.deepEqual([done.exit, done.output], [4, 'said\n'])
  assert.ok(existsSync(join(directory, 'late')))
})

test('of a gigabyte of output the beginning and the end are kept, and memory stays bounded', async t => {
  const before = process.memoryUsage().rss
  const done = await run(t, 'echo begin; head -c 1000000000 /dev/zero | tr "\\0" x; echo; echo end')
  assert.equal(done.exit, 0)
  assert.equal(done.printed, 1_000_000_011)
  assert.ok(done.output.length < 20_000)
  assert.match(done.output, /^begin\n/)
  assert.match(done.output, /bytes left out/)
  assert.match(done.output, /end\n$/)
  assert.ok(process.memoryUsage().rss - before < 300_000_000)
})

test('lines are told whole and without colours, also the last one that has no end', async t => {
  const lines: string[] = []
  await run(t, "printf 'a\\033[31mb\\033[0m\\nc'; sleep 0.1; printf 'd'", { onLine: line => lines.push(line) })
  assert.deepEqual(lines, ['ab', 'cd'])
})

test('lines are no longer told once there are too many of them', async t => {
  let told = 0
  const done = await run(t, 'head -c 100000000 /dev/zero | tr "\\0" "\\n"', { onLine: () => told++ })
  assert.ok(done.isTooLong)
  assert.ok(told < 70_000_000)
})

test('secrets are not in the output that is kept', async t => {
  const env = { ...commandEnvironment({ PATH, DEPLOY_PASS: 'correct-horse-battery' }, ['DEPLOY_PASS']) }
  const done = await run(t, 'echo "$DEPLOY_PASS"; echo MY_TOKEN=abcdefgh123; echo sk-abcdefgh12345678', { env })
  assert.doesNotMatch(done.output, /correct-horse|abcdefgh/)
})

test('the marker is noted while the command runs, and forgotten afterwards', async t => {
  const [directory, noted] = [tempDir(t), tempDir(t)]
  const markers = new MarkerFiles(noted)
  const seen: string[][] = []
  const whole = {
    ...{ command: 'echo x', directory, env: commandEnvironment({ PATH }), timeoutMs: 60_000 },
    ...{ signal: new AbortController().signal, onLine: () => seen.push(markers.all()) },
  }
  await runCommand(whole, { guard, isolation: 'marker', markers })
  assert.equal(seen[0]?.length, 1)
  assert.deepEqual(markers.all(), [])
})

test('in a namespace, where there is one, the ends are told the same way', async t => {
  const directory = tempDir(t)
  writeFileSync(join(directory, 'x'), '')
  const whole = { directory, env: commandEnvironment({ PATH }), timeoutMs: 400, signal: new AbortController().signal }
  const ends = []
  for (const command of ['exit 7', 'kill -KILL $$', 'sleep 600']) {
    const { end, exit } = await runCommand({ ...whole, command }, { guard, isolation: 'auto' })
    ends.push([end, exit])
  }
  assert.deepEqual(ends, [
    ['exited', 7],
    ['killed', null],
    ['timed_out', null],
  ])
})

test('a command sees the usual variables and those that were named, and never a key of a vendor', () => {
  const env = {
    ...{ PATH: '/bin', HOME: '/h', LC_ALL: 'C', SECRET: 's', DATABASE_URL: 'd', NODE_OPTIONS: '--require x' },
    ...{ ANTHROPIC_API_KEY: 'k', OPENAI_API_KEY: 'k', PCC_HOME: '/p', CLAUDE_CODE_OAUTH_TOKEN: 'k' },
  }
  const named = ['DATABASE_URL', 'ANTHROPIC_API_KEY', 'NODE_OPTIONS', 'PCC_HOME']
  const seen = { PATH: '/bin', HOME: '/h', LC_ALL: 'C', DATABASE_URL: 'd', CI: '1', NO_COLOR: '1' }
  assert.deepEqual(commandEnvironment(env, named), seen)
})
