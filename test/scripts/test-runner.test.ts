import assert from 'node:assert/strict'
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, watch, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startTimeOf } from '../../src/base/process/process-table.ts'
import { bareEnv, makeRepository, tempDir } from '../support/world.ts'

const RUNNER = fileURLToPath(new URL('../../scripts/test.ts', import.meta.url))

const GREEN = "import { test } from 'node:test'; test('is green', () => {})"
const RED = "import { test } from 'node:test'; test('is red', () => { throw new Error('the reason') })"

test('a green run is one line per file, the total and the count of processes left behind', async t => {
  const { code, output } = await run(t, { 'a.test.ts': GREEN, 'deep/b.test.ts': GREEN })
  const lines = output.split('\n')
  assert.deepEqual(filesOf(lines.slice(0, 2)), ['test/a.test.ts', 'test/deep/b.test.ts'])
  assert.match(lines.slice(2).join('\n'), /^2 of 2 tests passed .*\n0 processes left behind\n$/)
  assert.equal(code, 0)
})

test('a failure is printed in full, and the run fails', async t => {
  const { code, output } = await run(t, { 'a.test.ts': GREEN, 'b.test.ts': RED })
  assert.match(output, /✖ is red/)
  assert.match(output, /the reason/)
  assert.match(output, /1 of 2 tests passed .*\(1 failed\)/)
  assert.equal(code, 1)
})

test('a file that dies before its tests ran fails the run', async t => {
  const { code, output } = await run(t, { 'a.test.ts': 'process.exit(3)' })
  assert.match(output, /✖ test\/a\.test\.ts/)
  assert.equal(code, 1)
})

test('a file that exits with 0 before its tests are over fails the run', async t => {
  const { code, output } = await run(t, { 'a.test.ts': `${GREEN}\ntest('leaves', () => process.exit(0))` })
  assert.match(output, /✖ test\/a\.test\.ts ended before its tests were over \(exit 0\)/)
  assert.match(output, /0 of 1 tests passed .*\(1 failed\)/)
  assert.equal(code, 1)
})

test('the output of a file is shown when it fails', async t => {
  const printing = `${RED}\nconsole.log('seen on the way')`
  const { output } = await run(t, { 'a.test.ts': printing, 'b.test.ts': `${GREEN}\nconsole.log('not worth a word')` })
  assert.match(output, /seen on the way/)
  assert.doesNotMatch(output, /not worth a word/)
})

test('processes that tests leave running fail the run, are listed with their file and are ended', async t => {
  const leaks = {
    plain: "spawn('sleep', ['600.1'], options)",
    'no-environment': "spawn('sleep', ['600.2'], { ...options, env: {} })",
    'double-fork': "spawn('/bin/sh', ['-c', '(env -i setsid sleep 600.3 &)'], options)",
    // An agent with its own marker and environment is recognised only by its home.
    'home-in-folder': `spawn('/bin/sh', ['-c', '{ ulimit -S -w 1 || ulimit -S -x 1; } 2>/dev/null;'
      + ' exec env -i HOME=' + tmpdir() + '/home sleep 600.4'], options)`,
  }
  const leaking = (start: string) => `
    import { spawn } from 'node:child_process'
    import { tmpdir } from 'node:os'
    import { test } from 'node:test'
    const options = { detached: true, stdio: 'ignore' as const }
    test('leaks', () => ${start}.unref())`
  const files = Object.entries(leaks).map(([name, start]) => [`${name}.test.ts`, leaking(start)])
  const { code, output } = await run(t, Object.fromEntries(files))
  const left = [...output.matchAll(/✖ test\/(\S+)\.test\.ts left running, now ended: (\d+) (sleep 600\.\d)/g)]
  assert.match(output, /4 of 4 tests passed/)
  assert.match(output, /4 processes left behind/)
  assert.deepEqual(left.map(([, file, , command]) => `${file}: ${command}`).sort(), [
    'double-fork: sleep 600.3',
    'home-in-folder: sleep 600.4',
    'no-environment: sleep 600.2',
    'plain: sleep 600.1',
  ])
  for (const [, , pid] of left) assert.equal(await startTimeOf(Number(pid)), undefined)
  assert.equal(code, 1)
})

test('words choose files by folder, by name and by a part of the path; flags go to node', async t => {
  const files = { 'one/a.test.ts': RED, 'two/b.test.ts': GREEN, 'two/c.test.ts': GREEN }
  const folder = await run(t, files, ['test/two'])
  assert.deepEqual(filesOf(folder.output.split('\n').slice(0, 2)), ['test/two/b.test.ts', 'test/two/c.test.ts'])
  assert.match(folder.output, /\n2 of 2/)
  const name = await run(t, files, ['test/two/c.test.ts'])
  assert.match(name.output, /^✓ test\/two\/c.*\n1 of 1/)
  const flag = await run(t, files, ['one/', '--test-name-pattern=nothing'])
  assert.equal(flag.code, 0)
  assert.match(flag.output, /one\/a\.test\.ts 0 in/)
})

test('pure files of a folder share a process and a line; a failing one is printed in full', async t => {
  const { code, output } = await run(t, { 'policy/words/a.test.ts': GREEN, 'policy/words/b.test.ts': GREEN })
  assert.match(output, /^✓ test\/policy\/ 2 in .*\n2 of 2 tests passed/)
  assert.equal(code, 0)
  const failing = await run(t, { 'policy/words/a.test.ts': GREEN, 'policy/words/b.test.ts': RED })
  assert.match(failing.output, /✖ is red[\s\S]*the reason[\s\S]*policy\/words\/b\.test\.ts/)
  assert.match(failing.output, /1 of 2 tests passed .*\(1 failed\)/)
  assert.equal(failing.code, 1)
})

test('files that share a process are separate: hooks apply to their own file, and a file that leaves something behind fails', async t => {
  const hooked = `
    import assert from 'node:assert/strict'
    import { after, afterEach, test } from 'node:test'
    let tests = 0
    afterEach(() => { tests++ })
    after(() => assert.equal(tests, 1, 'the hook ran for tests of another file'))
    test('is green', () => {})`
  const { code, output } = await run(t, {
    'policy/words/a.test.ts': hooked,
    'policy/words/b.test.ts': hooked,
    'policy/words/leaves.test.ts': `${GREEN}\ntest('leaves', () => { process.env['LEFT'] = 'secret' })`,
  })
  assert.doesNotMatch(output, /of another file/)
  assert.match(output, /✖ test\/policy\/words\/leaves\.test\.ts[\s\S]*left other variables[\s\S]*'LEFT'/)
  assert.doesNotMatch(output, /secret/)
  assert.equal(code, 1)
})

test('a file that exits a shared process early, cannot be loaded or fails after its end fails the run', async t => {
  const red = {
    leaves: "test('leaves', () => process.exit(0))",
    'not-loaded': "import './nowhere.ts'",
    late: "test('is late', () => void setTimeout(() => Promise.reject(new Error('too late')), 1))",
  }
  const slow = `${GREEN}\ntest('is slow', () => new Promise(resolve => setTimeout(resolve, 50)))`
  const folders = ['policy/words', 'tasks', 'human']
  const files = Object.entries(red).flatMap(([name, text], at) => [
    [`${folders[at]}/${name}.test.ts`, `${GREEN}\n${text}`],
    [`${folders[at]}/slow.test.ts`, slow],
  ])
  const { code, output } = await run(t, Object.fromEntries(files))
  assert.match(output, /✖ test\/policy\/ ended before its tests were over \(exit 0\)/)
  assert.match(output, /nowhere\.ts[\s\S]*✖ test\/tasks\/\n/)
  assert.match(output, /too late[\s\S]*✖ test\/human\/\n/)
  assert.doesNotMatch(output, /✓/)
  assert.equal(code, 1)
})

test('--profile shows where the time went, by folder and by file', async t => {
  const { output } = await run(t, { 'one/a.test.ts': GREEN }, ['--profile'])
  assert.match(
    output,
    /processor +wall\n +\S+ s +\S+ s {2}test\/one\/ \(1\)\n\n +\S+ s +\S+ s {2}test\/one\/a\.test\.ts\n/,
  )
})

const ONCE = `
  import { existsSync, writeFileSync } from 'node:fs'
  import { test } from 'node:test'
  test('is red once', () => {
    if (existsSync('was-here')) return
    writeFileSync('was-here', '')
    throw new Error('the reason')
  })`

test('--again-alone runs a failed file once more alone; if it passes then, it is reported as unsteady with its failure', async t => {
  const strict = await run(t, { 'a.test.ts': ONCE, 'b.test.ts': GREEN })
  assert.equal(strict.code, 1, 'nobody asked')
  const { code, output } = await run(t, { 'a.test.ts': ONCE, 'b.test.ts': GREEN }, ['--again-alone'])
  assert.match(
    output,
    /the reason[\s\S]*! test\/a\.test\.ts is unsteady: it failed beside others[\s\S]*2 of 2 tests passed .*\(1 unsteady\)/,
  )
  assert.equal(code, 0)
  const shared = { 'policy/words/a.test.ts': ONCE, 'policy/words/b.test.ts': GREEN }
  const one = await run(t, shared, ['--again-alone'])
  assert.match(one.output, /! test\/policy\/words\/a\.test\.ts is unsteady[\s\S]*2 of 2 tests passed .*\(1 unsteady\)/)
  assert.equal(one.code, 0)
})

test('a file that also fails alone fails the run, and so do many failures and leftover processes', async t => {
  const twice = await run(t, { 'a.test.ts': RED, 'b.test.ts': GREEN }, ['--again-alone'])
  assert.equal(twice.code, 1)
  assert.match(twice.output, /1 of 2 tests passed .*\(1 failed\)/)
  const names = ['a', 'b', 'c', 'd'].map(name => [`${name}.test.ts`, ONCE.replaceAll('was-here', `was-${name}`)])
  const many = await run(t, Object.fromEntries(names), ['--again-alone'])
  assert.equal(many.code, 1)
  const leaking = `${ONCE}
    import { spawn } from 'node:child_process'
    spawn('sleep', ['600.5'], { detached: true, stdio: 'ignore' }).unref()`
  assert.equal((await run(t, { 'a.test.ts': leaking }, ['--again-alone'])).code, 1)
})

test('--changed prints which tests it chose and why, and runs them, nearest first', async t => {
  const dir = project(t, { 'a.test.ts': GREEN, 'b.test.ts': RED })
  makeRepository(dir)
  writeFileSync(join(dir, 'test/c.test.ts'), GREEN)
  const { code, output } = await outcomeOf(start(t, dir, ['--changed', 'HEAD', 'test']))
  assert.match(
    output,
    /^1 file changed since HEAD, which can touch 1 of 3 test files: 1 stand beside it\n✓ test\/c\.test\.ts .*\n1 of 1 tests/,
  )
  assert.equal(code, 0)
})

test('words that match nothing are a usage error', async t => {
  const { code, output } = await run(t, { 'a.test.ts': RED }, ['nowhere'])
  assert.match(output, /No test file matches/)
  assert.equal(code, 2)
})

test('Ctrl+C ends the tests and what they started', async t => {
  const dir = project(t, {
    'a.test.ts': `
      import { spawn } from 'node:child_process'
      import { writeFileSync } from 'node:fs'
      import { test } from 'node:test'
      test('waits', () => new Promise(() => {
        const child = spawn('/bin/sh', ['-c', 'setsid sleep 600 & wait'])
        writeFileSync('started', String(child.pid))
      }))`,
  })
  const runner = start(t, dir)
  const ended = outcomeOf(runner)
  await untilExists(join(dir, 'started'))
  const pid = Number(readFileSync(join(dir, 'started'), 'utf8'))
  assert.ok(await startTimeOf(pid))
  runner.kill('SIGINT')
  assert.equal((await ended).code, 130)
  assert.equal(await startTimeOf(pid), undefined)
})

type Runner = ChildProcessByStdio<null, Readable, Readable>

interface Outcome {
  code: number | null
  output: string
}

function run(t: TestContext, files: Record<string, string>, words: string[] = []): Promise<Outcome> {
  return outcomeOf(start(t, project(t, files), words))
}

/** The names of the files that passed, in the order in which they ended. */
function filesOf(lines: string[]): string[] {
  return lines.map(line => /^✓ (\S+) /.exec(line)?.[1] ?? line).sort()
}

function project(t: TestContext, files: Record<string, string>): string {
  const dir = tempDir(t, 'pcc-runner-')
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, 'test', path)), { recursive: true })
    writeFileSync(join(dir, 'test', path), content)
  }
  return dir
}

function start(t: TestContext, cwd: string, words: string[] = []): Runner {
  const env = { ...bareEnv(cwd), NO_COLOR: '1', NODE_TEST_CONTEXT: 'child-v8' }
  const runner = spawn(process.execPath, [RUNNER, ...words], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  t.after(() => runner.kill('SIGKILL'))
  return runner
}

async function outcomeOf(runner: Runner): Promise<Outcome> {
  const [output, errors, [code]] = await Promise.all([text(runner.stdout), text(runner.stderr), once(runner, 'exit')])
  return { code, output: output + errors }
}

/** Writes a file atomically, so that the watcher sees it only with its content. */
async function untilExists(path: string): Promise<void> {
  const signal = AbortSignal.timeout(30_000)
  const watcher = watch(dirname(path))
  try {
    while (!existsSync(path) || readFileSync(path, 'utf8') === '') await once(watcher, 'change', { signal })
  } finally {
    watcher.close()
  }
}
